import { buildSchema } from 'graphql';
import type { Request } from 'express';
import { afterEach, expect, test } from 'vitest';
import type { Query } from '../../../../projections/contract/page.ts';
import { Callers } from '../../../../services/hub-gateway/graphql/authentication.ts';
import type { HubContext } from '../../../../services/hub-gateway/graphql/context.ts';
import { HUB_ERRORS } from '../../../../services/hub-gateway/graphql/errors.ts';
import {
  BODY_BYTES_MAX,
  cacheKeyOf,
  graphqlRoutes,
  noStreams,
} from '../../../../services/hub-gateway/http/graphql-route.ts';
import { AnswerCache } from '../../../../services/runtime/http/answer-cache.ts';
import { openHttp, type HttpServer } from '../../../../services/runtime/http/server.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { quietHub, quietPipeline } from '../quiet-hub.ts';

const QUERY: Query = { name: 'list', text: 'SELECT', values: [] };
const schema = buildSchema('type Query { a1: Int a2: Int a3: Int popular: Int other: Int }');
for (const field of Object.values(schema.getQueryType()?.getFields() ?? {}))
  field.resolve = async (_root, _args, { lists }: HubContext) =>
    (await lists.read(() => QUERY)).rows.length;

/** ends the operations that have their turn */
const ends: (() => void)[] = [];
let hub = quietHub(waiting);
/** requests that came as far as the cache */
let asked = 0;
let server: HttpServer | undefined;
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await server?.drain();
});

const soon = { interval: 5 };

async function ask(url: string, client: string, query: string): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': client };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) });
  return response.status;
}

function waiting(): Promise<readonly []> {
  return new Promise((resolve) => ends.push(() => resolve([])));
}

/** A hub with one turn, whose operations last until they are ended here. */
async function open(
  version = { known: 1, current: (): Promise<number> => Promise.resolve(1) },
): Promise<string> {
  hub = quietHub(waiting);
  asked = 0;
  const pipeline = await quietPipeline(schema, hub);
  const answers = new AnswerCache(version, { answers_kept_max: 9 });
  const keyOf = (request: Request): string | undefined => {
    asked++;
    return cacheKeyOf(request);
  };
  server = await openHttp(
    { http_host: '127.0.0.1', http_port: 0 },
    {
      log: openLog({ service: 'test', level: 'fatal' }),
      metrics: new Metrics('test'),
      routes: graphqlRoutes({
        pipeline,
        introspection: false,
        callers: new Callers({ jwt_secret: 'secret' }, () => 0),
      }),
      errors: HUB_ERRORS,
      guards: [noStreams],
      cache: { answers, keyOf },
      body_bytes_max: BODY_BYTES_MAX,
      trust_proxy_hops: 1,
    },
  );
  return `${server.url}/graphql`;
}

test('a client that asks for what another client waits for does not wait behind its other operations', async () => {
  const url = await open();
  const own = [];
  for (const [at, query] of ['{ a1 }', '{ a2 }', '{ a3 }', '{ popular }'].entries()) {
    own.push(ask(url, '203.0.113.1', query));
    await expect.poll(() => [ends.length, hub.turns.waiting], soon).toEqual([1, at]);
  }
  const popular = ask(url, '198.51.100.1', '{ popular }');
  await expect.poll(() => asked, soon).toBe(5);
  const other = ask(url, '198.51.100.1', '{ other }');
  await expect.poll(() => hub.turns.waiting, soon).toBe(4);
  // the operation that has the turn, the next one, then the one that another client joined
  for (let turn = 1; turn <= 3; turn++) {
    await expect.poll(() => ends.length).toBe(turn);
    ends.at(-1)?.();
  }
  expect(await popular).toBe(200);
  for (let turn = 4; turn <= 5; turn++) {
    await expect.poll(() => ends.length).toBe(turn);
    ends.at(-1)?.();
  }
  expect(await Promise.all([...own, other])).toEqual([200, 200, 200, 200, 200]);
});

test.each(['shared', 'with a token'])(
  'operations whose clients have left are not executed: %s',
  async (what) => {
    const url = await open();
    const left = new AbortController();
    const headers = {
      'content-type': 'application/json',
      ...(what !== 'shared' && { authorization: 'Bearer none' }),
    };
    const asking = ['{ a1 }', '{ a2 }', '{ a2 }', '{ a3 }'].map((query) =>
      fetch(url, {
        method: 'POST',
        headers,
        body: JSON.stringify({ query }),
        signal: left.signal,
      }).catch(() => undefined),
    );
    await expect.poll(() => asked, soon).toBe(4);
    await expect.poll(() => hub.turns.waiting, soon).toBe(what === 'shared' ? 2 : 3);
    left.abort();
    await Promise.all(asking);
    await expect.poll(() => hub.turns.waiting, soon).toBe(0);
    const other = ask(url, '198.51.100.1', '{ other }');
    ends[0]?.();
    await expect.poll(() => ends.length).toBe(2);
    ends[1]?.();
    expect(await other).toBe(200);
    expect(ends.length).toBe(2);
  },
);

test('nor when both asked before the hub knew the version of its read model', async () => {
  let questions = 0;
  let newest = Promise.resolve(1);
  const version = {
    known: 1,
    current: () => {
      questions++;
      return newest;
    },
  };
  const url = await open(version);
  const own = [ask(url, '203.0.113.1', '{ a1 }'), ask(url, '203.0.113.1', '{ a2 }')];
  await expect.poll(() => [ends.length, hub.turns.waiting], soon).toEqual([1, 1]);
  const next = Promise.withResolvers<number>();
  newest = next.promise;
  version.known = 2;
  questions = 0;
  own.push(ask(url, '203.0.113.1', '{ popular }'));
  await expect.poll(() => questions, soon).toBe(1);
  const popular = ask(url, '198.51.100.1', '{ popular }');
  await expect.poll(() => questions, soon).toBe(2);
  next.resolve(2);
  await expect.poll(() => hub.turns.waiting, soon).toBe(2);
  // the second operation of the first client, then the one that another client joined
  for (const turn of [1, 2, 3]) {
    await expect.poll(() => ends.length, soon).toBe(turn);
    ends[turn - 1]?.();
  }
  expect(await popular).toBe(200);
  expect(await Promise.all(own)).toEqual([200, 200, 200]);
});

/** Status, first error, and the remedy beside it. */
async function refusal(answer: Promise<Response>): Promise<readonly unknown[]> {
  const response = await answer;
  const { message, extensions } = Object(await response.json()).errors[0];
  return [response.status, extensions.code, message, extensions.remedy];
}

/** By POST and by GET. */
async function refusals(url: string, operation: object): Promise<readonly unknown[]> {
  const parameters = Object.entries(operation).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const headers = { 'content-type': 'application/json' };
  return [
    await refusal(fetch(url, { method: 'POST', headers, body: JSON.stringify(operation) })),
    await refusal(fetch(`${url}?${new URLSearchParams(parameters).toString()}`)),
  ];
}

const TEXT_NEEDED = expect.stringContaining('send the text of the operation as "query"') as unknown;

test('a hash in place of a query is refused in the words that clients know, with a remedy beside them', async () => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: 'ab'.repeat(32) } };
  const [code, message] = ['PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported'];
  const refused = [200, code, message, TEXT_NEEDED];
  expect(await refusals(await open(), { extensions })).toEqual([refused, refused]);
});

test.each<[string, object]>([
  ['documentId', { documentId: `sha256:${'ab'.repeat(32)}`, variables: {} }],
  ['doc_id', { doc_id: '1', variables: {} }],
  ['id', { id: 'MarketQuery' }],
  ['an empty query', { query: '' }],
])('an operation without a text is told to send it: %s', async (_what, operation) => {
  const refused = [400, 'BAD_USER_INPUT', TEXT_NEEDED, undefined];
  expect(await refusals(await open(), operation)).toEqual([refused, refused]);
});

test.each(['PUT', 'GET', 'POST', 'DELETE'])(
  'the path of server-sent events names that of sockets: %s',
  async (method) => {
    const url = await open();
    const where = expect.stringContaining('subscriptions are at /graphql/ws') as unknown;
    const answer = fetch(`${url}/stream?token=1`, {
      method,
      headers: { accept: 'text/event-stream', 'x-graphql-event-stream-token': '1' },
    });
    expect(await refusal(answer)).toEqual([404, 'NOT_FOUND', where, undefined]);
  },
);

test('extensions of any depth without a text are refused as an operation without one', async () => {
  const depth = 100_000;
  const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const headers = { 'content-type': 'application/json' };
  const body = `{"extensions":{"toJSON":1,"deep":${deep}}}`;
  const answer = fetch(await open(), { method: 'POST', headers, body });
  expect(await refusal(answer)).toEqual([400, 'BAD_USER_INPUT', TEXT_NEEDED, undefined]);
});
