import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import type { PlainFilter } from '../../../projections/explorer/plain-answers.ts';
import {
  fieldsOf,
  plainExportedActivity,
  plainExportedTransactions,
  readCsv,
  type PlainSpan,
} from '../../../projections/explorer/plain-exports.ts';
import { POOL } from '../../../projections/explorer/seeded-effects.ts';
import { mostFrequent, seededBlocks, TYPES } from '../../../projections/explorer/seeded-rows.ts';
import type { Answered } from '../../../support/openapi.ts';
import {
  openIndexed,
  type IndexedExplorer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { openExports } from './export-server.ts';

const FIRST = 5;
const blocks = seededBlocks({ seed: 3, blocks: 500, transactions_max: 12, first_height: FIRST });
const all = blocks.flatMap(({ transactions }) => transactions);
const newest = blocks.at(-1);
const head = newest?.height ?? 0;
const hot = mostFrequent(blocks);
const rare = all.findLast(({ from }) => !from.equals(hot))?.from ?? POOL;
const busy = blocks.find(({ transactions }) => transactions.length > 10)?.height ?? 0;
const empty = blocks.find(({ transactions }) => transactions.length === 0)?.height ?? 0;

const SPANS: readonly PlainSpan[] = [
  {},
  { from: 200 },
  { to: 300 },
  { from: 100, to: 400 },
  { from: busy, to: busy },
  { from: empty, to: empty },
  { from: head, to: head },
  { from: 0, to: FIRST },
];

let explorer: IndexedExplorer;
beforeAll(async () => {
  explorer = await openIndexed(blocks);
});
afterAll(() => explorer.close());

function queryOf({ address, type, block, from, to }: PlainFilter & PlainSpan): string {
  const query = new URLSearchParams();
  if (address !== undefined) query.set('address', address.toString('hex'));
  if (type !== undefined) query.set('type', type);
  if (block !== undefined) query.set('block', String(block));
  if (from !== undefined) query.set('from_height', String(from));
  if (to !== undefined) query.set('to_height', String(to));
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/** Both formats hold exactly these items. `fields` are the names of the columns. */
async function holds(
  name: string,
  query: string,
  items: readonly string[],
  fields: readonly string[],
): Promise<void> {
  const [ndjson, csv] = [
    await explorer.get(`/api/v1/export/${name}.ndjson${query}`),
    await explorer.get(`/api/v1/export/${name}.csv${query}`),
  ];
  expect({ query, status: ndjson.status, text: ndjson.text }).toEqual({
    query,
    status: 200,
    text: items.map((item) => `${item}\n`).join(''),
  });
  expect({ query, status: csv.status, records: readCsv(csv.text) }).toEqual({
    query,
    status: 200,
    records: [fields, ...items.map((item) => [...fieldsOf(item).values()])],
  });
}

const TRANSACTION_FIELDS = [...fieldsOf(plainExportedTransactions(blocks, {})[0] ?? '').keys()];
const ACTIVITY_FIELDS = [
  ...fieldsOf(plainExportedActivity(blocks, {}, activityLabel)[0] ?? '').keys(),
];

test('the chain of these tests has the cases that they need', () => {
  expect(all.length).toBeGreaterThan(2_000);
  expect(all.filter(({ amount }) => amount > 2n ** 53n).length).toBeGreaterThan(500);
  expect(plainExportedTransactions(blocks, { address: hot }).length).toBeGreaterThan(600);
  expect(TRANSACTION_FIELDS).toHaveLength(17);
  expect(ACTIVITY_FIELDS).toHaveLength(12);
});

describe.each(SPANS)('over the blocks %o', (span) => {
  test.each([undefined, busy, empty, head + 1])(
    'transactions come oldest first under every combination of filters, block %s among them',
    async (block) => {
      for (const address of [undefined, hot, rare, Buffer.alloc(20)]) {
        for (const type of [undefined, TYPES[1], TYPES[4], 'Unseen']) {
          const filter = {
            ...span,
            ...(block !== undefined && { block }),
            ...(address && { address }),
            ...(type !== undefined && { type }),
          };
          await holds(
            'transactions',
            queryOf(filter),
            plainExportedTransactions(blocks, filter),
            TRANSACTION_FIELDS,
          );
        }
      }
    },
  );

  test('activity of an address and of all is oldest first', async () => {
    for (const address of [undefined, hot, rare, POOL, Buffer.alloc(20)]) {
      const filter = { ...span, ...(address && { address }) };
      await holds(
        'activity',
        queryOf(filter),
        plainExportedActivity(blocks, filter, activityLabel),
        ACTIVITY_FIELDS,
      );
    }
  });
});

test('status confirmed exports all transactions, any other status none', async () => {
  await holds(
    'transactions',
    '?status=confirmed',
    plainExportedTransactions(blocks, {}),
    TRANSACTION_FIELDS,
  );
  await holds('transactions', '?status=pending', [], TRANSACTION_FIELDS);
  await holds('transactions', '?status=pending&to_height=9', [], TRANSACTION_FIELDS);
});

function endOf({ headers }: Answered): readonly (string | null)[] {
  return [headers.get('x-clt-to-height'), headers.get('x-clt-to-hash')];
}

test('the headers name the last block, the type and a file name', async () => {
  const [whole, part] = [
    await explorer.get('/api/v1/export/transactions.csv'),
    await explorer.get('/api/v1/export/activity.ndjson?to_height=0077'),
  ];
  expect(endOf(whole)).toEqual([String(head), `0x${newest?.hash.toString('hex')}`]);
  expect(endOf(part)).toEqual(['77', `0x${blocks[77 - FIRST]?.hash.toString('hex')}`]);
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename="transactions.csv"',
    'transfer-encoding': 'chunked',
    'cache-control': 'no-store',
  });
  expect(Object.fromEntries(part.headers)).toMatchObject({
    'content-type': 'application/x-ndjson; charset=utf-8',
    'content-disposition': 'attachment; filename="activity.ndjson"',
  });
  expect(whole.headers.has('content-length')).toBe(false);
});

test('an address is found in any notation', async () => {
  const hex = hot.toString('hex');
  const items = plainExportedActivity(blocks, { address: hot, to: 60 }, activityLabel);
  for (const address of [`0x${hex}`, hex.toUpperCase(), `0X${hex.toUpperCase()}`]) {
    await holds('activity', `?address=${address}&to_height=60`, items, ACTIVITY_FIELDS);
  }
});

const MALFORMED: Readonly<Record<string, string>> = {
  'address=12': 'address must be 40 hex digits, with or without 0x',
  [`address=${'g'.repeat(40)}`]: 'address must be 40 hex digits, with or without 0x',
  'from_height=-1': 'from_height must be the height of a block, a decimal integer',
  'from_height=1.0': 'from_height must be the height of a block, a decimal integer',
  'to_height=0x10': 'to_height must be the height of a block, a decimal integer',
  'to_height=': 'parameter to_height is empty: leave it out or give it a value',
  'from_height=1&from_height=2': 'parameter from_height may be given only once',
  'to_height[]=1': 'parameter to_height may be given only once',
  'from_height=8&to_height=7': 'from_height must not be above to_height',
  [`to_height=${head + 1}`]: `to_height must not be above the newest indexed block, ${head}: leave it out to get all there is`,
  [`to_height=${10n ** 40n}`]: `to_height must not be above the newest indexed block, ${head}: leave it out to get all there is`,
  [`from_height=${head + 1}`]: `from_height must not be above the newest indexed block, ${head}: ask again later`,
  [`from_height=${2n ** 63n}`]: `from_height must not be above the newest indexed block, ${head}: ask again later`,
  'to_height=4': 'to_height must not be below the lowest indexed block, 5',
};

test.each(Object.entries(MALFORMED))('%s is refused with advice', async (query, message) => {
  for (const name of [
    'activity.csv',
    'activity.ndjson',
    'transactions.csv',
    'transactions.ndjson',
  ]) {
    const { status, text, headers } = await explorer.get(`/api/v1/export/${name}?${query}`);
    expect([status, JSON.parse(text)]).toEqual([400, { code: 'invalid_request', message }]);
    expect(headers.has('x-clt-to-height')).toBe(false);
  }
});

test.each(['block=-1', 'block=abc', 'type=%00', 'type=', 'status=', `type=${'x'.repeat(300)}`])(
  'transactions with %s are refused',
  async (query) => {
    for (const format of ['csv', 'ndjson'])
      expect((await explorer.get(`/api/v1/export/transactions.${format}?${query}`)).status).toBe(
        400,
      );
  },
);

test('HEAD sends the headers and reads no rows', async () => {
  const server = await openExports({
    postgres_reader_url: explorer.urls.reader_url,
    exports_max: 1,
  });
  for (let asked = 0; asked < 3; asked++) {
    const answer = await fetch(`${server.url}/api/v1/export/activity.ndjson`, { method: 'HEAD' });
    expect([answer.status, answer.headers.get('x-clt-to-height'), await answer.text()]).toEqual([
      200,
      String(head),
      '',
    ]);
  }
  expect(server.asked).toEqual([
    'explorer_export_end',
    'explorer_export_end',
    'explorer_export_end',
  ]);
});

test('an empty index exports nothing, and knows no height', async () => {
  const none = await openIndexed([]);
  const answer = await none.get('/api/v1/export/transactions.csv');
  expect([answer.status, answer.headers.get('x-clt-to-height'), readCsv(answer.text)]).toEqual([
    200,
    null,
    [TRANSACTION_FIELDS],
  ]);
  const refused = await none.get('/api/v1/export/activity.csv?to_height=0');
  const message = 'no block is indexed yet: ask again later, or without from_height and to_height';
  expect([refused.status, JSON.parse(refused.text)]).toEqual([
    400,
    { code: 'invalid_request', message },
  ]);
  await none.close();
});

test('exports that are turned off are not found', async () => {
  const server = await openExports({
    postgres_reader_url: explorer.urls.reader_url,
    exports_max: 0,
  });
  const answer = await fetch(`${server.url}/api/v1/export/transactions.csv`);
  expect([answer.status, await answer.json()]).toEqual([
    404,
    { code: 'not_found', message: 'exports are turned off here' },
  ]);
});
