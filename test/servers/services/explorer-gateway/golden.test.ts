/** Whole answers, byte by byte, as clients have come to know them; they may have new fields. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { freshDatabase } from '../../../support/database.ts';
import { fillExplorer } from '../../../projections/explorer/seeded-rows.ts';
import type { PlainBlock } from '../../../projections/explorer/plain-block.ts';
import { exactJson } from '../../../projections/explorer/plain-answers.ts';
import { encodeCursor } from '../../../../services/explorer-gateway/routes/responses.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { exact, type Exact } from './specified.ts';

const bytes = (digit: string, count: number): Buffer => Buffer.from(digit.repeat(2 * count), 'hex');

const BLOCKS: readonly PlainBlock[] = [
  {
    height: 0,
    hash: bytes('a', 32),
    parent_hash: bytes('0', 32),
    producer: bytes('1', 20),
    reward_recipient: bytes('2', 20),
    block_reward: 0n,
    total_fees: 0n,
    timestamp: Date.parse('2026-11-21T07:28:00.000Z'),
    transactions: [],
    effects: [
      {
        address: bytes('3', 20),
        kind: 'mint',
        delta: 2n ** 256n + 1_006n,
        tx_index: null,
        counterparty: null,
      },
    ],
  },
  {
    height: 1,
    hash: bytes('b', 32),
    parent_hash: bytes('a', 32),
    producer: bytes('1', 20),
    reward_recipient: bytes('1', 20),
    block_reward: 9_007_199_254_740_993n,
    total_fees: 1_000n,
    timestamp: Date.parse('2026-11-21T07:28:02.500Z'),
    transactions: [
      {
        hash: bytes('c', 32),
        block_height: 1,
        tx_index: 0,
        from: bytes('3', 20),
        to: bytes('4', 20),
        nonce: 7,
        amount: 2n ** 256n - 1n,
        fee: 1_000n,
        type: 'Transfer',
        timestamp: Date.parse('2026-11-21T07:28:02.500Z'),
        referrer: null,
        request_referrer: null,
        offer_referrer: null,
        request_referrer_fee: 0n,
        offer_referrer_fee: 0n,
      },
      {
        hash: bytes('d', 32),
        block_height: 1,
        tx_index: 1,
        from: bytes('1', 20),
        to: bytes('1', 20),
        nonce: 0,
        amount: 25n,
        fee: 0n,
        type: 'RidePay',
        timestamp: Date.parse('2026-11-21T07:28:02.500Z'),
        referrer: bytes('5', 20),
        request_referrer: bytes('6', 20),
        offer_referrer: null,
        request_referrer_fee: 3n,
        offer_referrer_fee: 0n,
      },
    ],
    effects: [
      {
        address: bytes('3', 20),
        kind: 'transfer_out',
        delta: 1n - 2n ** 256n,
        tx_index: 0,
        counterparty: bytes('4', 20),
      },
      {
        address: bytes('4', 20),
        kind: 'transfer_in',
        delta: 2n ** 256n - 1n,
        tx_index: 0,
        counterparty: bytes('3', 20),
      },
      {
        address: bytes('3', 20),
        kind: 'tx_fee_paid',
        delta: -1_000n,
        tx_index: 0,
        counterparty: bytes('1', 20),
      },
      {
        address: bytes('1', 20),
        kind: 'tx_fee_earned',
        delta: 1_000n,
        tx_index: null,
        counterparty: null,
      },
      {
        address: bytes('2', 20),
        kind: 'block_reward',
        delta: 0n,
        tx_index: null,
        counterparty: null,
      },
      {
        address: bytes('1', 20),
        kind: 'block_reward',
        delta: 9_007_199_254_740_993n,
        tx_index: null,
        counterparty: bytes('2', 20),
      },
    ],
  },
];

const hex = (digit: string, count: number): string => `"0x${digit.repeat(2 * count)}"`;
const BLOCK_1 =
  `"height":1,"hash":${hex('b', 32)},"tx_count":2,"producer":${hex('1', 20)},"reward_recipient":${hex('1', 20)},` +
  '"block_reward":9007199254740993,"timestamp":"2026-11-21T07:28:02.500Z"';
const BLOCK_0 =
  `"height":0,"hash":${hex('a', 32)},"tx_count":0,"producer":${hex('1', 20)},"reward_recipient":${hex('2', 20)},` +
  '"block_reward":0,"timestamp":"2026-11-21T07:28:00.000Z"';
const PAID =
  `"hash":${hex('d', 32)},"block_height":1,"from":${hex('1', 20)},"to":${hex('1', 20)},"amount":25,"fee":0,"status":"confirmed",` +
  '"function_call_type":"RidePay","is_ride_related":true,"timestamp":"2026-11-21T07:28:02.500Z",' +
  `"referrer":${hex('5', 20)},"request_referrer_fee":3,"offer_referrer_fee":0`;
const TRANSFERRED =
  `"hash":${hex('c', 32)},"block_height":1,"from":${hex('3', 20)},"to":${hex('4', 20)},` +
  '"amount":115792089237316195423570985008687907853269984665640564039457584007913129639935,"fee":1000,"status":"confirmed",' +
  '"function_call_type":"Transfer","is_ride_related":false,"timestamp":"2026-11-21T07:28:02.500Z",' +
  '"referrer":null,"request_referrer_fee":0,"offer_referrer_fee":0';

const SENT =
  `{"address":${hex('3', 20)},"kind":"transfer_out","label":"Transfer sent",` +
  '"delta":-115792089237316195423570985008687907853269984665640564039457584007913129639935,"direction":"debit",' +
  '"amount":115792089237316195423570985008687907853269984665640564039457584007913129639935,' +
  `"tx_hash":${hex('c', 32)},"block_height":1,"tx_index":0,"function_call_type":"Transfer","counterparty":${hex('4', 20)},` +
  '"timestamp":"2026-11-21T07:28:02.500Z"}';
const FEE_PAID =
  `{"address":${hex('3', 20)},"kind":"tx_fee_paid","label":"Transaction fee paid","delta":-1000,"direction":"debit","amount":1000,` +
  `"tx_hash":${hex('c', 32)},"block_height":1,"tx_index":0,"function_call_type":"Transfer","counterparty":${hex('1', 20)},` +
  '"timestamp":"2026-11-21T07:28:02.500Z"}';
const OF_THE_BLOCK =
  '"block_height":1,"tx_index":null,"function_call_type":null,"counterparty":null,"timestamp":"2026-11-21T07:28:02.500Z"';
const EARNED =
  `{"address":${hex('1', 20)},"kind":"tx_fee_earned","label":"Transaction fees earned","delta":1000,"direction":"credit","amount":1000,` +
  `"tx_hash":null,${OF_THE_BLOCK}}`;
const REWARDED =
  `{"address":${hex('1', 20)},"kind":"block_reward","label":"Block reward received","delta":9007199254740993,"direction":"credit",` +
  `"amount":9007199254740993,"tx_hash":null,${OF_THE_BLOCK}}`;

const PRODUCED = `produced by 0x${'1'.repeat(40)} at 2026-11-21T07:28:02.500Z`;
const MOVED = `from 0x${'3'.repeat(40)} to 0x${'4'.repeat(40)} in block 1 at 2026-11-21T07:28:02.500Z`;

let explorer: ExplorerServer;
beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, BLOCKS);
  explorer = await openExplorer({ postgres_reader_url: urls.reader_url });
});
afterAll(() => explorer.close());

test.each([
  ['/health', '{"status":"ok"}'],
  ['/ready', '{"status":"ready"}'],
  [
    '/api/v1/blocks',
    `{"items":[{${BLOCK_1}},{${BLOCK_0}}],"paging":{"limit":20,"offset":0,"total":2,"has_more":false}}`,
  ],
  [
    '/api/v1/blocks?limit=1',
    `{"items":[{${BLOCK_1}}],"paging":{"limit":1,"offset":0,"total":1,"has_more":true}}`,
  ],
  [
    '/api/v1/blocks?limit=1&offset=1',
    `{"items":[{${BLOCK_0}}],"paging":{"limit":1,"offset":1,"total":2,"has_more":true}}`,
  ],
  [
    '/api/v1/blocks?limit=1&offset=2',
    '{"items":[],"paging":{"limit":1,"offset":2,"total":2,"has_more":false}}',
  ],
  ['/api/v1/blocks/1', `{${BLOCK_1},"parent_hash":${hex('a', 32)},"total_fees":1000}`],
  [`/api/v1/blocks/${'a'.repeat(64)}`, `{${BLOCK_0},"parent_hash":${hex('0', 32)},"total_fees":0}`],
  [
    '/api/v1/transactions',
    `{"items":[{${PAID}},{${TRANSFERRED}}],"paging":{"limit":20,"offset":0,"total":2,"has_more":false}}`,
  ],
  [
    `/api/v1/transactions?address=${'4'.repeat(40)}&type=Transfer&block=1&status=confirmed&limit=1`,
    `{"items":[{${TRANSFERRED}}],"paging":{"limit":1,"offset":0,"total":1,"has_more":true}}`,
  ],
  [
    `/api/v1/transactions/0x${'c'.repeat(64)}`,
    `{${TRANSFERRED},"nonce":7,"tx_index":0,"request_referrer":null,"offer_referrer":null}`,
  ],
  [
    `/api/v1/transactions/${'D'.repeat(64)}`,
    `{${PAID},"nonce":0,"tx_index":1,"request_referrer":${hex('6', 20)},"offer_referrer":null}`,
  ],
  [
    `/api/v1/accounts/${'3'.repeat(40)}`,
    `{"address":${hex('3', 20)},"balance":7,"nonce":8,"tx_count":1,"activity_count":3,"is_contract":false}`,
  ],
  [
    `/api/v1/accounts/0x${'1'.repeat(40)}`,
    `{"address":${hex('1', 20)},"balance":9007199254741993,"nonce":1,"tx_count":1,"activity_count":2,"is_contract":false}`,
  ],
  [
    `/api/v1/accounts/0X${'3'.repeat(40)}/activity?limit=2`,
    `{"items":[${FEE_PAID},${SENT}],"paging":{"limit":2,"offset":0,"total":2,"has_more":true}}`,
  ],
  [
    `/api/v1/accounts/${'1'.repeat(40)}/activity`,
    `{"items":[${REWARDED},${EARNED}],"paging":{"limit":20,"offset":0,"total":2,"has_more":false}}`,
  ],
  [
    `/api/v1/accounts/${'2'.repeat(40)}/activity`,
    '{"items":[],"paging":{"limit":20,"offset":0,"total":0,"has_more":false}}',
  ],
  [
    `/api/v1/accounts/${'3'.repeat(40)}/balance-at?height=0`,
    `{"address":${hex('3', 20)},"height":0,"block_hash":${hex('a', 32)},"balance":${2n ** 256n + 1_006n}}`,
  ],
  [
    `/api/v1/accounts/${'4'.repeat(40)}/balance-at?height=00`,
    `{"address":${hex('4', 20)},"height":0,"block_hash":${hex('a', 32)},"balance":0}`,
  ],
  [
    '/api/v1/validators',
    `{"items":[{"address":${hex('1', 20)},"is_active":true,"blocks_produced":2,"peer_id":""}],"paging":{"limit":20,"offset":0,"total":1,"has_more":false}}`,
  ],
  [
    '/api/v1/search?q=1',
    `{"items":[{"kind":"block","identifier":"1","summary":"block 1, 0x${'b'.repeat(64)}: 2 transactions, ${PRODUCED}"}]}`,
  ],
  [
    `/api/v1/search?q=${'C'.repeat(64)}`,
    `{"items":[{"kind":"transaction","identifier":${hex('c', 32)},"summary":"Transfer of ${2n ** 256n - 1n} ${MOVED}"}]}`,
  ],
  [
    `/api/v1/search?q=0x${'4'.repeat(40)}`,
    `{"items":[{"kind":"account","identifier":${hex('4', 20)},"summary":"address with 1 transaction and 1 activity"}]}`,
  ],
  [
    `/api/v1/search?q=${'f'.repeat(40)}`,
    `{"items":[{"kind":"account","identifier":${hex('f', 20)},"summary":"address with no indexed activity"}]}`,
  ],
  ['/api/v1/search?q=nothing', '{"items":[]}'],
  [
    `/api/v1/blocks?limit=1&cursor=${encodeCursor('blocks', 1n)}`,
    `{"items":[{${BLOCK_0}}],"paging":{"limit":1,"offset":0,"total":1,"has_more":true}}`,
  ],
  [
    `/api/v1/blocks?limit=1&cursor=${encodeCursor('blocks', 0n)}`,
    '{"items":[],"paging":{"limit":1,"offset":0,"total":0,"has_more":false}}',
  ],
  [
    '/api/v1/reserve',
    '{"configured":false,"available":false,"cache_age_seconds":0,"last_run":null}',
  ],
  [
    '/api/v1/stats',
    '{"latest_height":1,"tx_per_second":0.8,"total_transactions":2,"active_validators":1,"avg_block_time_seconds":2.5}',
  ],
])('%s', async (path, body) => {
  const { status, text, headers } = await explorer.get(path);
  expect({
    status,
    text: exactJson(known(exact(text), exact(body))),
    type: headers.get('content-type'),
    length: headers.get('content-length'),
  }).toEqual({
    status: 200,
    text: body,
    type: 'application/json; charset=utf-8',
    length: String(text.length),
  });
});

/** The value with those fields alone that `like` has. */
function known(value: Exact, like: Exact | undefined): Exact {
  if (typeof value !== 'object' || value === null) return value;
  const fields = new Map<string, Exact>(Object.entries(Object(like)));
  if (Array.isArray(value))
    return value.map((item: Exact, at) => known(item, fields.get(String(at))));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      fields.has(name) ? [[name, known(inner, fields.get(name))]] : [],
    ),
  );
}

async function link(path: string): Promise<string | null> {
  return (await explorer.get(path)).headers.get('link');
}

test('a full page links to the page below it', async () => {
  expect(await link('/api/v1/blocks?limit=1')).toBe(
    '</api/v1/blocks?limit=1&cursor=AAAAAAAAAAEI40ao>; rel="next"',
  );
  expect(await link('/api/v1/blocks?limit=3')).toBeNull();
  expect(
    await link(`/api/v1/transactions?limit=1&offset=1&type=Transfer&address=${'4'.repeat(40)}`),
  ).toBeNull();
  expect(
    await link(`/api/v1/transactions?limit=1&type=Transfer&address=${'4'.repeat(40)}`),
  ).toMatch(
    /^<\/api\/v1\/transactions\?type=Transfer&address=4{40}&limit=1&cursor=AAAAAAAAAAA[\w-]{5}>; rel="next"$/,
  );
});

test('amounts are text on request, everywhere and in links, and nothing else changes', async () => {
  for (const path of [
    '/api/v1/blocks?limit=1',
    '/api/v1/blocks/1',
    '/api/v1/transactions?limit=1&type=Transfer',
    `/api/v1/transactions/${'c'.repeat(64)}`,
    `/api/v1/accounts/${'4'.repeat(40)}`,
    `/api/v1/accounts/${'3'.repeat(40)}/activity`,
    `/api/v1/accounts/${'4'.repeat(40)}/balance-at?height=1`,
    '/api/v1/validators',
    '/api/v1/reserve',
    '/api/v1/reserve/runs',
    '/api/v1/export/transactions.ndjson',
    '/api/v1/export/transactions.csv',
    '/api/v1/export/activity.ndjson',
    '/api/v1/export/activity.csv',
  ]) {
    const plain = await explorer.get(path);
    const join = path.includes('?') ? '&' : '?';
    const asked = await explorer.get(`${path}${join}amounts=string`);
    expect([path, asked.status]).toEqual([path, 200]);
    expect(asked.text.replaceAll(/"(-?\d+)"/g, '$1')).toBe(plain.text);
    if (!path.endsWith('.csv')) expect(asked.text).not.toMatch(/:-?\d{16}/);
    const next = plain.headers.get('link');
    expect(asked.headers.get('link')).toBe(next?.replace('?', '?amounts=string&') ?? null);
    for (const wrong of ['amounts=number', 'amounts=', 'amounts=string&amounts=string'])
      expect((await explorer.get(path + join + wrong)).status).toBe(400);
  }
});
