import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import { watch } from '../../../../projections/watch/watch.ts';
import { DEPOSIT_API } from '../../../../schemas/deposit-api/document.ts';
import { depositIdOf, invoiceIdOf } from '../../../../schemas/deposit-id.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { accountAt, depositKey } from '../../../support/deposit-log.ts';
import { confirmedEvent, depositEvents, placed } from '../../../support/deposit-events.ts';
import { freshDatabase } from '../../../support/database.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import {
  bearerOf,
  bytesOf,
  NOW,
  openDeposits,
  type DepositServer,
} from '../../../services/deposit-gateway/deposit-server.ts';

const [ALICE, BOB, CAROL] = [accountAt(1), accountAt(2), accountAt(3)];
const ADDRESS = depositKey().addressAt(0);
const MINT = Buffer.alloc(32, 0x4d);
/** An amount above 2^53, and a private note of a person. */
const LARGE = 2n ** 60n + 1n;
const SEEN = Date.parse('2026-11-21T07:28:03.050Z');

function txAt(index: number): Buffer {
  return Buffer.alloc(32, index);
}

function idAt(index: number): string {
  return depositIdOf(txAt(index), 0);
}

function confirmedAt(
  index: number,
  change: Parameters<typeof confirmedEvent>[0] = {},
): TreasuryEvent {
  return confirmedEvent({
    tx_id: txAt(index),
    clt_address: ALICE,
    deposit_address: ADDRESS,
    block_timestamp: SEEN + index,
    ...change,
  });
}

const credited = depositEvents(idAt(1));
const held = depositEvents(idAt(2));
const rejected = depositEvents(idAt(3));
const LEDGER = placed<TreasuryEvent>([
  {
    type: 'PolicySet',
    sequence: 0,
    version: 1,
    network: 'testnet',
    ...NETWORK_LIMITS.testnet,
    decided_at: NOW,
  },
  confirmedAt(1),
  credited.intended({ to: ALICE, amount: 8_000_000n, nonce: 5, tx_hash: MINT }),
  credited.credited(MINT),
  confirmedAt(2, { gross: 1_000_000n, fee: 500_000n, credit: 500_000n, address_ordinal: 1 }),
  held.held('below_minimum'),
  confirmedAt(3, {
    gross: LARGE,
    fee: 500_000n,
    credit: LARGE - 500_000n,
    address_ordinal: 2,
  }),
  rejected.held('over_single_cap'),
  { ...rejected.rejected('mallory of compliance'), reason: 'we suspect something' },
  confirmedAt(4, { gross: 3_000_000n, fee: 500_000n, credit: 2_500_000n, address_ordinal: 3 }),
  ...Array.from({ length: 25 }, (_, at) => {
    const terms = at === 0 ? {} : { fee: 500_000n, credit: 9_500_000n, address_ordinal: at };
    return confirmedAt(100 + at, { clt_address: CAROL, ...terms });
  }),
]);

let pool: Pool;
let watched: Pool;
let readerUrl: string;
let server: DepositServer;
beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  readerUrl = urls.reader_url;
  pool = await openTables(urls.writer_url, deposits);
  await applyStretch(pool, deposits, {
    topic: 'treasury.ledger',
    partition: 0,
    from: 0,
    events: LEDGER,
  });
  watched = await openTables(urls.writer_url, watch);
  server = await openDeposits({
    postgres_reader_url: readerUrl,
    addresses: { open: () => Promise.resolve(ADDRESS) },
  });
});
afterAll(async () => {
  await server?.close();
  await Promise.all([pool?.end(), watched?.end()]);
});

async function get(
  path: string,
  account: Buffer = ALICE,
): Promise<{ readonly status: number; readonly text: string }> {
  const { status, text } = await server.ask('GET', path, bearerOf(account));
  return { status, text };
}

test('the policy in force is shown without a token', async () => {
  const { text } = await server.ask('GET', '/public/policy');
  expect(JSON.parse(text)).toEqual({
    version: 1,
    network: 'testnet',
    first_fee: 2_000_000,
    later_fee: 500_000,
    minimum: 1_000_000,
    single_cap: 1_000_000_000,
    rolling_cap: 5_000_000_000,
    in_force_since: new Date(NOW).toISOString(),
  });
});

test('POST returns the address in base58 and reads no body', async () => {
  const plain = await server.ask('POST', '/api/v1/deposits', bearerOf(ALICE));
  expect([plain.status, plain.text]).toEqual([
    200,
    '{"address":"TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6"}',
  ]);
  for (const body of ['{"clt_address":"0x1111111111111111111111111111111111111111"}', '{', '']) {
    const answer = await fetch(`${server.url}/api/v1/deposits`, {
      method: 'POST',
      body,
      headers: { authorization: bearerOf(ALICE) },
    });
    expect([answer.status, await answer.text()]).toEqual([200, plain.text]);
  }
});

async function check(account?: Buffer): Promise<unknown> {
  return JSON.parse((await get('/api/v1/address-check', account)).text);
}

test('the check of an address says when it was, and for how long the next one is due', async () => {
  await watched.query(`INSERT INTO addresses VALUES ($1, 0, $2, 0, now())`, [ALICE, ADDRESS]);
  await watched.query(
    `INSERT INTO queue VALUES ($1, 0, true, true, false, 1, $2, 0, 0, $2, $2, 0)`,
    [ADDRESS, NOW * 1_000 - 700],
  );
  expect(await check()).toEqual({ checked_at: null, checked_ms_ago: null, overdue_ms: 700 });
  const at = NOW * 1_000 - 500;
  await watched.query('UPDATE queue SET checked_at = $1, due_at = $1::bigint + 600', [at]);
  const checked = { checked_at: new Date(at).toISOString(), checked_ms_ago: 500 };
  expect(await check()).toEqual({ ...checked, overdue_ms: 0 });
  await watched.query('UPDATE queue SET due_at = 1, hot = false');
  expect(await check()).toEqual({ ...checked, overdue_ms: 0 });
  expect(await check(BOB)).toEqual({ checked_at: null, checked_ms_ago: null, overdue_ms: 0 });
});

function item(index: number, status: string, amount: bigint): string {
  const txId = txAt(index).toString('hex');
  return `{"id":"${idAt(index)}","status":"${status}","amount_usdt":${amount},"tron_tx_id":"${txId}","created_at":"${new Date(SEEN + index).toISOString()}"}`;
}

/** A place in the log. */
function ledger(offset: number): object {
  return { topic: 'treasury.ledger', partition: 0, offset };
}

test('the list has the arrived amounts, newest first, with every digit', async () => {
  expect(await get('/api/v1/deposits')).toEqual({
    status: 200,
    text: `{"deposits":[${[
      item(4, 'confirmed', 3_000_000n),
      item(3, 'needs_manual', LARGE),
      item(2, 'needs_manual', 1_000_000n),
      item(1, 'credited', 10_000_000n),
    ].join(',')}]}`,
  });
});

test('the list has at most the newest 20 deposits and ignores parameters', async () => {
  const { text } = await get('/api/v1/deposits', CAROL);
  const listed: { readonly deposits: readonly { readonly id: string }[] } = JSON.parse(text);
  expect(listed.deposits.map(({ id }) => id)).toEqual(
    Array.from({ length: 20 }, (_, at) => idAt(124 - at)),
  );
  expect((await get('/api/v1/deposits?limit=50&offset=10&owner=x', CAROL)).text).toBe(text);
  expect(await get('/api/v1/deposits', BOB)).toEqual({ status: 200, text: '{"deposits":[]}' });
});

test('the detail is as specified: the amount to pay is the arrived one, the address is the invoice, nothing expires', async () => {
  expect(await get(`/api/v1/deposits/${idAt(3)}`)).toEqual({
    status: 200,
    text:
      `{"id":"${idAt(3)}","clt_address":"0x${ALICE.toString('hex')}","amount_usdt":${LARGE},"pay_amount_usdt":${LARGE},"status":"needs_manual",` +
      `"invoice_id":"${invoiceIdOf(ADDRESS)}","expires_at":null}`,
  });
  expect((await get(`/api/v1/deposits/${idAt(1).toUpperCase()}`)).text).toContain(
    '"status":"credited"',
  );
});

test('the story has each event with its amounts and its offset in the log', async () => {
  const nothing = {
    reason: null,
    gross: null,
    fee: null,
    credit: null,
    chain: null,
    tx_hash: null,
    block_height: null,
    nonce: null,
  };
  const at = new Date(NOW * 1_000).toISOString();
  const mint = { chain: 'clt', tx_hash: `0x${MINT.toString('hex')}` };
  const { text } = await get(`/api/v1/deposits/${idAt(1)}/events`);
  expect(JSON.parse(text)).toEqual({
    deposit_id: idAt(1),
    status: 'credited',
    reason: null,
    waiting_for: null,
    waiting_before: null,
    gross: 10_000_000,
    fee: 2_000_000,
    credit: 8_000_000,
    events: [
      {
        ...nothing,
        event: 'TransferObserved',
        at: new Date(SEEN + 1).toISOString(),
        gross: 10_000_000,
        chain: 'tron',
        tx_hash: txAt(1).toString('hex'),
        block_height: 70_000_000,
        topic: 'tron.transfers',
        partition: 0,
        offset: 0,
      },
      {
        ...nothing,
        event: 'DepositConfirmed',
        at,
        gross: 10_000_000,
        fee: 2_000_000,
        credit: 8_000_000,
        ...ledger(1),
      },
      {
        ...nothing,
        event: 'MintIntended',
        at,
        fee: 2_000_000,
        credit: 8_000_000,
        nonce: 5,
        ...mint,
        ...ledger(2),
      },
      { ...nothing, event: 'MintCredited', at, ...mint, block_height: 100, ...ledger(3) },
    ],
  });
});

test('the story shows why a deposit is held and that it waits for a person, but not the actor and the note of a decision', async () => {
  const waiting: unknown = JSON.parse((await get(`/api/v1/deposits/${idAt(2)}/events`)).text);
  expect(waiting).toMatchObject({
    status: 'needs_manual',
    reason: 'below_minimum',
    waiting_for: 'awaiting_approval',
    credit: 500_000,
  });
  const { text } = await get(`/api/v1/deposits/${idAt(3)}/events`);
  const over: { readonly events: readonly object[] } = JSON.parse(text);
  expect(over).toMatchObject({
    status: 'needs_manual',
    reason: 'over_single_cap',
    waiting_for: null,
  });
  expect(over.events.at(-1)).toMatchObject({ event: 'DepositRejected', reason: null });
  expect(text).toContain(`"gross":${LARGE},"fee":500000,"credit":${LARGE - 500_000n}`);
  expect(text).not.toMatch(/mallory|suspect/);
  const plain: unknown = JSON.parse((await get(`/api/v1/deposits/${idAt(4)}/events`)).text);
  expect(plain).toMatchObject({ status: 'confirmed', reason: null, waiting_for: null });
});

const STRANGE_IDS = [
  idAt(77),
  '0',
  '-1',
  '1e3',
  '9'.repeat(30),
  'null',
  '__proto__',
  'constructor',
  '..%2f..%2fetc%2fpasswd',
  "'%20OR%20'1'='1",
  '%25',
  '_',
  '%00',
  `${idAt(1)}%00`,
  `${idAt(1)}%0a`,
  `%20${idAt(1)}`,
  idAt(1).replaceAll('-', ''),
  `{${idAt(1)}}`,
  `urn:uuid:${idAt(1)}`,
  idAt(1).replace('-8', '-4'),
  '%EF%BC%91',
  '%zz',
  '%',
  '%F0%9F%92%A9',
  'x'.repeat(10 * 1024),
];

test('deposits of others, unknown and malformed ids give the same bytes, for the detail and the story', async () => {
  const expected = bytesOf(
    await server.ask('GET', `/api/v1/deposits/${idAt(100)}`, bearerOf(ALICE)),
  );
  expect(expected).toContain('[404,');
  expect(expected).toContain(JSON.stringify('{"error":"not found"}'));
  for (const id of [idAt(100), ...STRANGE_IDS]) {
    for (const path of [`/api/v1/deposits/${id}`, `/api/v1/deposits/${id}/events`])
      expect([path.slice(0, 80), bytesOf(await server.ask('GET', path, bearerOf(ALICE)))]).toEqual([
        path.slice(0, 80),
        expected,
      ]);
  }
  for (const path of [`/api/v1/deposits/${idAt(1)}`, `/api/v1/deposits/${idAt(1)}/events`])
    expect(bytesOf(await server.ask('GET', path, bearerOf(BOB)))).toBe(expected);
});

test('HEAD is served like GET, other methods are 405 with the allowed ones, other paths 404', async () => {
  const head = await server.ask('HEAD', `/api/v1/deposits/${idAt(1)}`, bearerOf(ALICE));
  expect([head.status, head.text]).toEqual([200, '']);
  for (const [method, path, allow] of [
    ['DELETE', '/api/v1/deposits', 'POST, GET, HEAD'],
    ['PUT', '/api/v1/deposits', 'POST, GET, HEAD'],
    ['POST', `/api/v1/deposits/${idAt(1)}`, 'GET, HEAD'],
    ['POST', `/api/v1/deposits/${idAt(1)}/events`, 'GET, HEAD'],
  ] as const) {
    const answer = await server.ask(method, path, bearerOf(ALICE));
    expect([method, path, answer.status, answer.headers.get('allow')]).toEqual([
      method,
      path,
      405,
      allow,
    ]);
  }
  for (const path of [
    '/api/v2/deposits',
    `/api/v1/deposits/${idAt(1)}/x`,
    '/api/v1/deposits/a/b/c',
  ])
    expect([path, await get(path)]).toEqual([path, { status: 404, text: '{"error":"not found"}' }]);
});

test('an address that is late is 503 with advice', async () => {
  const late = await openDeposits({ postgres_reader_url: readerUrl });
  const answer = await late.ask('POST', '/api/v1/deposits', bearerOf(ALICE));
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  expect(answer.text).toContain('send the same request again shortly');
  await late.close();
});

test('while Postgres is away responses are 503 without its address, and the service is not ready', async () => {
  const away = await openDeposits({
    postgres_reader_url: 'postgres://clt_reader:clt_reader@127.0.0.1:1/clt',
  });
  for (const path of [
    '/api/v1/deposits',
    `/api/v1/deposits/${idAt(1)}`,
    `/api/v1/deposits/${idAt(1)}/events`,
  ]) {
    const answer = await away.ask('GET', path, bearerOf(ALICE));
    expect([answer.status, answer.text]).toEqual([
      503,
      '{"error":"deposits cannot be read at the moment: try again shortly"}',
    ]);
  }
  const unready = await away.ask('GET', '/ready');
  expect([unready.status, unready.text]).toEqual([
    503,
    '{"error":"deposits: storage_unreachable"}',
  ]);
  // ids that cannot be are not even asked for
  expect((await away.ask('GET', '/api/v1/deposits/x', bearerOf(ALICE))).status).toBe(404);
  await away.close();
});

test('the document and its page need no token', async () => {
  expect(JSON.parse((await server.ask('GET', '/openapi.json')).text)).toEqual(
    JSON.parse(JSON.stringify(DEPOSIT_API)),
  );
  const { text, headers } = await server.ask('GET', '/docs');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  for (const [, path = ''] of text.matchAll(/(?:src|href)="([^"]*)"/g))
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, 200]);
});

test('the document and its page are answered 304 to a client that has them', async () => {
  for (const path of ['/openapi.json', '/docs']) {
    const etag = (await server.ask('GET', path)).headers.get('etag') ?? '';
    expect((await server.ask('GET', path, { 'if-none-match': etag })).status).toBe(304);
  }
});
