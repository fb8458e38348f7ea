/**
 * Errors as specified: `{code, message}` with one of the codes not_found, invalid_request,
 * upstream_error and storage_error; and limits of the gateway's own.
 */
import { Client } from 'pg';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { freshDatabase } from '../../../support/database.ts';
import { EXPLORER_API } from '../../../../schemas/explorer-api/document.ts';
import type { DocumentedParameter } from '../../../../schemas/http-api/document.ts';
import { EXPLORER_ERRORS } from '../../../../services/explorer-gateway/errors.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { fillExplorer, seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import {
  openExplorer,
  openIndexed,
  type ExplorerServer,
  type ExplorerServerOptions,
  type IndexedExplorer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { anyCharacter } from '../../../support/any-character.ts';
import { gettable, type Gettable } from '../../../support/openapi.ts';

const blocks = seededBlocks({ seed: 9, blocks: 30, transactions_max: 5 });
let explorer: IndexedExplorer;
beforeAll(async () => {
  explorer = await openIndexed(blocks);
});
afterAll(() => explorer.close());

const others: ExplorerServer[] = [];
afterEach(async () => {
  await Promise.all(others.splice(0).map((each) => each.close()));
});
async function another(options: Partial<ExplorerServerOptions>): Promise<ExplorerServer> {
  const opened = await openExplorer({
    postgres_reader_url: explorer.urls.reader_url,
    ...options,
  });
  others.push(opened);
  return opened;
}

const SOMEBODY = '7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const LISTS = [
  '/api/v1/blocks',
  '/api/v1/transactions',
  '/api/v1/validators',
  `/api/v1/accounts/${SOMEBODY}/activity`,
];

/** Answered 400, in the shape of errors, without a repetition of what was asked. */
async function isRefused(path: string): Promise<void> {
  const { status, text } = await explorer.get(path);
  const { code, message, ...rest } = JSON.parse(text);
  expect({ path, status, code, rest }).toEqual({
    path,
    status: 400,
    code: 'invalid_request',
    rest: {},
  });
  expect(String(message).length).toBeLessThan(150);
  expect(text).not.toContain('a1a1');
}

/** Longer than any parameter may be. */
const LONG = 'a1'.repeat(5_120);

/** Values that a parameter does not have; a search for a text that is too long finds nothing. */
function wrongValues({ name, schema }: DocumentedParameter): readonly string[] {
  const { type, pattern, enum: words } = schema;
  const isText = type === 'string' && pattern === undefined && words === undefined;
  return [...(name === 'q' ? [] : [LONG]), ...(isText ? [] : ['%27', '%00', '%F0%9F%98%80'])];
}

/** Requests in which this parameter alone is wrong: one of its values, empty, twice, a list. */
function wrongRequests(
  { path, query }: Gettable,
  parameter: DocumentedParameter,
): readonly string[] {
  const { name, in: where, example } = parameter;
  const values = wrongValues(parameter);
  if (where === 'path')
    return values.map((value) => `${path.replace(String(example), value)}?${query}`);
  const isNeeded = query.startsWith(`${name}=`);
  const before = isNeeded || query === '' ? '' : `${query}&`;
  const forms = [...values, '', `1&${name}=1`].map((value) => `${name}=${value}`);
  const requests = [...forms, `${name}[]=1`].map((form) => `${path}?${before}${form}`);
  return isNeeded ? [path, ...requests] : requests;
}

describe('malformed input is answered 400 invalid_request', () => {
  test.each(gettable(EXPLORER_API).filter(({ parameters }) => parameters.length > 0))(
    'every parameter of $path has its form, is not empty, and is given once',
    async (operation) => {
      for (const parameter of operation.parameters)
        for (const path of wrongRequests(operation, parameter)) await isRefused(path);
    },
  );

  test.each([
    ...LISTS.flatMap((list) => [
      `${list}?limit=101`,
      `${list}?offset=-1`,
      `${list}?cursor=AAAAAAAABLAKqwxH`,
      `${list}?cursor=AAAAAAAABLAKqwxG&offset=0`,
    ]),
    '/api/v1/transactions/5',
    '/api/v1/accounts/5',
    '/api/v1/blocks/latest',
    '/api/v1/blocks/..%2f..',
    '/api/v1/transactions?type=%00',
    '/api/v1/search?Q=1',
    '/api/v1/search?q=%ZZ',
    '/api/v1/stats?%ZZ',
    '/api/v1/blocks/%ZZ',
    '/api/v1/blocks?limit=%ZZ',
  ])('%s', isRefused);
});

test('any request is answered 200, 400 or 404, with JSON of the documented shape', async () => {
  const piece = fc.oneof(
    fc.webQueryParameters(),
    fc.string({ unit: anyCharacter, maxLength: 40 }).map(encodeURIComponentSafely),
    fc.stringMatching(/^(0x)?[0-9a-fA-F]*$/),
  );
  const path = fc.constantFrom(
    '/api/v1/blocks',
    '/api/v1/transactions',
    '/api/v1/search',
    '/api/v1/stats',
    '/api/v1/reserve',
    '/api/v1/blocks/',
    '/api/v1/transactions/',
    '/api/v1/validators',
    '/api/v1/accounts/',
    `/api/v1/accounts/${SOMEBODY}/activity`,
    `/api/v1/accounts/${blocks[0]?.producer.toString('hex')}/balance-at`,
    '/elsewhere',
    '/api/v2/blocks',
  );
  const query = fc.array(
    fc.tuple(
      fc.constantFrom(
        'limit',
        'offset',
        'cursor',
        'address',
        'block',
        'type',
        'status',
        'q',
        'height',
      ),
      piece,
    ),
    {
      maxLength: 3,
    },
  );
  await fc.assert(
    fc.asyncProperty(path, piece, query, async (before, last, parameters) => {
      const url = `${before}${before.endsWith('/') ? last : ''}?${parameters.map(([name, value]) => `${name}=${value}`).join('&')}`;
      const { status, text } = await explorer.get(url);
      expect([200, 400, 404]).toContain(status);
      const body: object = JSON.parse(text);
      if (status !== 200) expect(Object.keys(body)).toEqual(['code', 'message']);
    }),
    { numRuns: 1_000 },
  );
  expect(explorer.lines.filter(({ level }) => level === 'error')).toEqual([]);
});

function encodeURIComponentSafely(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

test('an unknown path is 404 not_found, another method 405 with the allowed ones', async () => {
  for (const path of [
    '/elsewhere',
    '/api',
    '/api/v1',
    '/api/v1/block',
    '/api/v1/blocks/1/transactions',
    '/API/v1/blocks',
    '/api/v1/__proto__',
  ]) {
    const { status, text } = await explorer.get(path);
    expect([path, status, text]).toEqual([
      path,
      404,
      '{"code":"not_found","message":"there is nothing at this path"}',
    ]);
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const answer = await explorer.ask(method, '/api/v1/blocks');
    expect([answer.status, answer.headers.get('allow'), answer.text]).toEqual([
      405,
      'GET, HEAD',
      '{"code":"invalid_request","message":"this path answers GET, HEAD only"}',
    ]);
  }
});

test('any web page may read responses, errors included', async () => {
  for (const path of ['/api/v1/blocks', '/api/v1/blocks/zz', '/nowhere']) {
    expect(
      (await explorer.get(path, { origin: 'https://example.org' })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBe('*');
  }
  const head = await explorer.ask('HEAD', '/api/v1/blocks?limit=1');
  expect(head.headers.get('access-control-expose-headers')).toBe(
    'date, etag, link, retry-after, x-request-id, x-clt-to-height, x-clt-to-hash, x-clt-chain-id, x-clt-mint-authority',
  );
  expect([head.status, head.text, head.headers.get('link')]).toEqual([
    200,
    '',
    expect.stringContaining('rel="next"'),
  ]);
  const preflight = await explorer.ask('OPTIONS', '/api/v1/blocks', {
    origin: 'https://example.org',
    'access-control-request-method': 'GET',
  });
  expect([
    preflight.status,
    preflight.text,
    preflight.headers.get('access-control-allow-methods'),
  ]).toEqual([204, '', 'GET, HEAD']);
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
});

test('requests are answered 503 storage_error until the projector has made its tables', async () => {
  const own = await freshDatabase(inject('stack'));
  const early = await another({ postgres_reader_url: own.reader_url });
  const hash = '0'.repeat(64);
  const lists = [
    '/api/v1/blocks',
    '/api/v1/transactions',
    '/api/v1/search?q=5',
    `/api/v1/search?q=${hash}`,
  ];
  const account = `/api/v1/accounts/${SOMEBODY}`;
  const accounts = [
    account,
    `${account}/activity`,
    `${account}/balance-at?height=0`,
    '/api/v1/validators',
    `/api/v1/search?q=${SOMEBODY}`,
  ];
  const paths = [
    ...lists,
    ...accounts,
    '/api/v1/stats',
    '/api/v1/status',
    '/api/v1/blocks/0',
    `/api/v1/transactions/${hash}`,
  ];
  for (const path of paths) {
    const { status, text } = await early.get(path);
    expect([path, status, text]).toEqual([
      path,
      503,
      '{"code":"storage_error","message":"the index cannot be read at the moment: try again shortly"}',
    ]);
  }
  expect(await early.get('/ready')).toMatchObject({
    status: 503,
    text: '{"code":"storage_error","message":"index: storage_missing"}',
  });
  await fillExplorer(own.writer_url, blocks);
  const seen = [
    '/api/v1/blocks',
    '/api/v1/transactions',
    '/api/v1/validators',
    `${account}/activity`,
    '/api/v1/stats',
    '/api/v1/blocks/0',
    '/ready',
  ];
  for (const path of seen) {
    expect([path, (await early.get(path)).status]).toEqual([path, 200]);
  }
});

test('upstream_error: 502 when a server behind this one does not answer, without its address', () => {
  for (const code of ['chain_node', 'kafka', 'redis']) {
    const failure = EXPLORER_ERRORS.fault(
      new Fault(code, 'connect ECONNREFUSED 10.0.0.7:17545', { retry: true }),
    );
    expect(failure.status).toBe(502);
    expect(JSON.parse(EXPLORER_ERRORS.body(failure))).toEqual({
      code: 'upstream_error',
      message: expect.not.stringContaining('10.0.0.7'),
    });
  }
});

test('a slow query is answered 503 storage_error with advice, and the next one is fast again', async () => {
  // limit under test
  const impatient = await another({ statement_timeout_ms: 1_000 });
  const holder = new Client({ connectionString: explorer.urls.writer_url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE explorer.transactions IN ACCESS EXCLUSIVE MODE');
  const { status, text } = await impatient.get('/api/v1/transactions');
  expect([status, text]).toEqual([
    503,
    '{"code":"storage_error","message":"the query took too long: narrow it with other filters, for example a block, or a smaller offset"}',
  ]);
  expect(impatient.lines.filter(({ level }) => level === 'error')).toMatchObject([
    { route: '/api/v1/transactions', status: 503, err: { code: 'storage_timeout' } },
  ]);
  await holder.query('ROLLBACK');
  await holder.end();
  await expect.poll(async () => (await impatient.get('/api/v1/transactions')).status).toBe(200);
});

test('the gateway is ready while Postgres answers and the index is near the head, and while the node is away', async () => {
  const newest = blocks.length - 1;
  const states = [];
  for (const head of [newest, newest + 20, newest + 21, undefined]) {
    const one = await another({});
    one.head = head;
    const { status, text } = await one.get('/ready');
    states.push([status, text]);
  }
  const behind =
    'index: 21 blocks behind the node, more than 20: see /ready of chain-ingester and projector';
  expect(states).toEqual([
    [200, '{"status":"ready"}'],
    [200, '{"status":"ready"}'],
    [503, JSON.stringify({ code: 'storage_error', message: behind })],
    [200, '{"status":"ready"}'],
  ]);
  const without = await another({
    postgres_reader_url: 'postgres://clt_reader:hunter2@127.0.0.1:1/clt',
  });
  expect(await without.get('/ready')).toMatchObject({
    status: 503,
    text: '{"code":"storage_error","message":"index: storage_unreachable"}',
  });
  expect((await without.get('/health')).status).toBe(200);
  expect(JSON.stringify(without.lines)).not.toContain('hunter2');
});

function forwarded(client: string): Record<string, string> {
  return { 'x-forwarded-for': client };
}

test('a client beyond the rate limit gets Retry-After, by its own address or the one of a trusted proxy', async () => {
  const plain = await another({ rate_per_second: 0.001, rate_burst: 2 });
  const statuses: number[] = [];
  for (const client of ['10.0.0.1', '10.0.0.2', '10.0.0.3'])
    statuses.push((await plain.get('/api/v1/stats', forwarded(client))).status);
  expect(statuses).toEqual([200, 200, 429]);
  const refused = await plain.get('/api/v1/blocks/zz');
  expect(refused.status).toBe(429);
  const seconds = Number(refused.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(1_000);
  expect(refused.text).toBe(
    `{"code":"rate_limited","message":"too many requests: try again in ${seconds} s"}`,
  );
  expect((await plain.get('/health')).status).toBe(429);

  const behindProxy = await another({ rate_per_second: 0.001, rate_burst: 1, trust_proxy_hops: 1 });
  const through: number[] = [];
  for (const client of ['10.0.0.1', '10.0.0.2', '1.1.1.1, 10.0.0.1'])
    through.push((await behindProxy.get('/api/v1/stats', forwarded(client))).status);
  expect(through).toEqual([200, 200, 429]);
});
