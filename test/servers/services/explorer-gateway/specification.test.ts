/**
 * The explorer as specified, row by row: endpoints, filters of transactions, paging, stats. Whole
 * bodies are compared with those of a plain list of blocks. The other rows: fields of resources in
 * `test/schemas/explorer-api`, the reserve in `test/services/explorer-gateway/reserve`, search and
 * errors beside this file.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import {
  plainAccount,
  plainActivity,
  plainBlock,
  plainBlocks,
  plainStats,
  plainTransaction,
  plainTransactions,
  plainValidators,
  type PlainFilter,
} from '../../../projections/explorer/plain-answers.ts';
import { ODD_KIND, POOL } from '../../../projections/explorer/seeded-effects.ts';
import {
  mostFrequent,
  producedBy,
  seededBlocks,
  TYPES,
} from '../../../projections/explorer/seeded-rows.ts';
import {
  openIndexed,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';

const FIRST = 5;
const ordinary = seededBlocks({
  seed: 41,
  blocks: 260,
  transactions_max: 9,
  first_height: FIRST,
  addresses: 40,
  producers: 30,
});
// the last of them rest for more than the newest 100 blocks
const awake = new Set(ordinary.slice(0, 20).map(({ producer }) => toHex(producer)));
const someone = ordinary[0]?.producer ?? POOL;
const CHAIN = producedBy(
  someone,
  ordinary,
  ({ producer }, at) => at >= 150 && !awake.has(toHex(producer)),
);
const TRANSACTIONS = CHAIN.flatMap(({ transactions }) => transactions);
const newest = FIRST + CHAIN.length - 1;
const hot = mostFrequent(CHAIN);
const nobody = Buffer.alloc(20, 1);
const everyone = [
  ...new Map(
    CHAIN.flatMap(({ effects }) => effects.map(({ address }) => [toHex(address), address])),
  ).values(),
];
/** Offsets and heights beyond what a double or Postgres holds. */
const FAR = [2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 10n ** 40n];
const LISTS = [
  '/api/v1/blocks',
  '/api/v1/transactions',
  `/api/v1/accounts/${toHex(hot)}/activity`,
  '/api/v1/validators',
];

let explorer: ExplorerServer;
beforeAll(async () => {
  explorer = await openIndexed(CHAIN);
});
afterAll(() => explorer.close());

async function answers(path: string, wanted: string): Promise<void> {
  const { status, text, headers } = await explorer.get(path);
  const type = headers.get('content-type');
  expect({ path, status, text, type }).toEqual({
    path,
    status: 200,
    text: wanted,
    type: 'application/json; charset=utf-8',
  });
}

async function isNotFound(path: string, subject: string): Promise<void> {
  const { status, text } = await explorer.get(path);
  const body = `{"code":"not_found","message":"no such ${subject} is indexed"}`;
  expect([path, status, text]).toEqual([path, 404, body]);
}

/** Around the ends of a list of so many items. */
function offsetsOf(count: number): readonly bigint[] {
  const last = BigInt(count);
  return [0n, 1n, 25n, last - 7n, last - 1n, last, last + 1n, ...FAR].filter((at) => at >= 0n);
}

/** With and without 0x, in lower and upper case. */
function notations(bytes: Buffer | undefined): readonly string[] {
  const digits = bytes?.toString('hex') ?? '';
  return [digits, digits.toUpperCase()].flatMap((each) => [each, `0x${each}`, `0X${each}`]);
}

function counted(holds: readonly boolean[]): number {
  return holds.filter(Boolean).length;
}

test('the chain of these tests has the cases that they need', () => {
  const effects = CHAIN.flatMap((block) => block.effects);
  expect(counted(TRANSACTIONS.map(({ amount }) => amount > 2n ** 53n))).toBeGreaterThan(50);
  expect(counted(TRANSACTIONS.map(({ from, to }) => from.equals(to)))).toBeGreaterThan(50);
  expect(counted(CHAIN.map(({ transactions }) => transactions.length === 0))).toBeGreaterThan(20);
  expect(counted(CHAIN.map((block) => block.block_reward > 2n ** 53n))).toBeGreaterThan(20);
  expect(counted(effects.map(({ delta }) => delta > 2n ** 53n))).toBeGreaterThan(50);
  expect(counted(effects.map(({ delta }) => delta === 0n))).toBeGreaterThan(10);
  expect(effects.some(({ kind }) => kind === ODD_KIND)).toBe(true);
  // a block's own effects name no counterparty, even if the chain does
  const own = effects.filter(({ tx_index: txIndex }) => txIndex === null);
  expect(counted(own.map(({ counterparty }) => counterparty !== null))).toBeGreaterThan(50);
  const validators = plainValidators(CHAIN, 100);
  for (const isActive of ['true', 'false']) expect(validators).toContain(`"is_active":${isActive}`);
  expect(plainAccount(CHAIN, POOL)).toContain('"is_contract":true');
  expect(everyone.length).toBeGreaterThan(30);
});

describe('endpoints: GET', () => {
  test('/health: {status: ok}', () => answers('/health', '{"status":"ok"}'));

  test('/ready: {status: ready}', () => answers('/ready', '{"status":"ready"}'));

  test('/api/v1/blocks with limit and offset: a page of blocks, newest first', async () => {
    await answers('/api/v1/blocks', plainBlocks(CHAIN));
    for (const limit of [1, 7, 100])
      for (const offset of offsetsOf(CHAIN.length))
        await answers(
          `/api/v1/blocks?limit=${limit}&offset=${offset}`,
          plainBlocks(CHAIN, limit, offset),
        );
  });

  test('/api/v1/blocks/:id by a block index or a hash: the block detail', async () => {
    for (const block of [CHAIN[0], CHAIN[4], CHAIN[200], CHAIN.at(-1)].flatMap((at) => at ?? []))
      for (const id of [block.height, `00${block.height}`, ...notations(block.hash)])
        await answers(`/api/v1/blocks/${id}`, plainBlock(block));
    for (const id of [FIRST - 1, newest + 1, ...FAR, '0'.repeat(64), `0x${'ab'.repeat(32)}`])
      await isNotFound(`/api/v1/blocks/${id}`, 'block');
  });

  test('/api/v1/transactions with limit and offset: a page of transactions, newest first', async () => {
    await answers('/api/v1/transactions', plainTransactions(CHAIN, {}));
    for (const limit of [7, 100])
      for (const offset of offsetsOf(TRANSACTIONS.length))
        await answers(
          `/api/v1/transactions?limit=${limit}&offset=${offset}`,
          plainTransactions(CHAIN, {}, limit, offset),
        );
  });

  test('/api/v1/transactions/:hash: the transaction detail', async () => {
    const some = [TRANSACTIONS[0], TRANSACTIONS[77], TRANSACTIONS.at(-1)];
    for (const transaction of some.flatMap((at) => at ?? []))
      for (const id of notations(transaction.hash))
        await answers(`/api/v1/transactions/${id}`, plainTransaction(transaction));
    for (const hash of ['0'.repeat(64), toHex(CHAIN[0]?.hash ?? nobody)])
      await isNotFound(`/api/v1/transactions/${hash}`, 'transaction');
  });

  test('/api/v1/accounts/:address: the account', async () => {
    for (const address of everyone)
      await answers(`/api/v1/accounts/${toHex(address)}`, plainAccount(CHAIN, address));
    for (const text of notations(hot))
      await answers(`/api/v1/accounts/${text}`, plainAccount(CHAIN, hot));
    await isNotFound(`/api/v1/accounts/${toHex(nobody)}`, 'account');
  });

  test('/api/v1/accounts/:address/activity with limit and offset: a page of activity items, newest first', async () => {
    for (const address of [hot, POOL, nobody, ...everyone.slice(2, 5)]) {
      const path = `/api/v1/accounts/${toHex(address)}/activity`;
      await answers(path, plainActivity(CHAIN, address, activityLabel));
      const { activity_count: activityCount } = JSON.parse(plainAccount(CHAIN, address));
      for (const limit of [1, 7, 100])
        for (const offset of offsetsOf(activityCount))
          await answers(
            `${path}?limit=${limit}&offset=${offset}`,
            plainActivity(CHAIN, address, activityLabel, limit, offset),
          );
    }
    for (const text of notations(hot))
      await answers(`/api/v1/accounts/${text}/activity`, plainActivity(CHAIN, hot, activityLabel));
  });

  test('/api/v1/validators with limit and offset: a page of validators, newest first', async () => {
    await answers('/api/v1/validators', plainValidators(CHAIN));
    for (const limit of [1, 7, 100])
      for (const offset of offsetsOf(30))
        await answers(
          `/api/v1/validators?limit=${limit}&offset=${offset}`,
          plainValidators(CHAIN, limit, offset),
        );
  });

  test('/api/v1/reserve: the reserve', () =>
    answers(
      '/api/v1/reserve',
      '{"configured":false,"available":false,"cache_age_seconds":0,"last_run":null}',
    ));

  test.each([0, 1, 2])('an index of %i blocks is served like any other', async (count) => {
    const few = seededBlocks({ seed: 5, blocks: count, transactions_max: 3 });
    const small = await openIndexed(few);
    const someBody = async (path: string): Promise<string> => (await small.get(path)).text;
    expect(await someBody('/api/v1/blocks')).toBe(plainBlocks(few));
    expect(await someBody('/api/v1/transactions')).toBe(plainTransactions(few, {}));
    expect(await someBody('/api/v1/validators')).toBe(plainValidators(few));
    expect(await someBody(`/api/v1/accounts/${toHex(nobody)}/activity`)).toBe(
      plainActivity(few, nobody, activityLabel),
    );
    const stats = await someBody('/api/v1/stats');
    expect(JSON.parse(stats)).toEqual(plainStats(few));
    // both are 0.0 until two blocks are indexed
    const idle = /"tx_per_second":0\.0,.*"avg_block_time_seconds":0\.0/;
    expect(idle.test(stats)).toBe(count < 2);
    await small.close();
  });
});

function queryOf({ address, type, block }: PlainFilter): string {
  return new URLSearchParams({
    ...(address && { address: toHex(address) }),
    ...(type !== undefined && { type }),
    ...(block !== undefined && { block: String(block) }),
  }).toString();
}

function filterOf(
  address: Buffer | undefined,
  type: string | undefined,
  block: number | undefined,
): PlainFilter {
  return {
    ...(address && { address }),
    ...(type !== undefined && { type }),
    ...(block !== undefined && { block }),
  };
}

function pathOfType(type: string): string {
  return `/api/v1/transactions?limit=100&type=${encodeURIComponent(type)}`;
}

describe('filters of transactions', () => {
  const addresses = [...everyone.slice(0, 2), nobody];
  const busy = CHAIN.find(({ transactions }) => transactions.length >= 8)?.height;
  const empty = CHAIN.find(({ transactions }) => transactions.length === 0)?.height;
  const filters: readonly PlainFilter[] = [undefined, hot, ...addresses].flatMap((address) =>
    [undefined, ...TYPES.slice(-2), 'Unseen'].flatMap((type) =>
      [undefined, busy, empty, newest + 1].map((block) => filterOf(address, type, block)),
    ),
  );

  test.each([0n, 1n, 3n, 50n])('any of them together, from offset %s', async (offset) => {
    for (const filter of filters)
      await answers(
        `/api/v1/transactions?limit=4&offset=${offset}&${queryOf(filter)}`,
        plainTransactions(CHAIN, filter, 4, offset),
      );
  });

  test('address: matches either from or to; case-insensitive; with or without the 0x prefix', async () => {
    const own = TRANSACTIONS.find(({ from, to }) => from.equals(to))?.from ?? hot;
    const found = plainTransactions(CHAIN, { address: own }, 100);
    for (const field of ['from', 'to']) expect(found).toContain(`"${field}":"${toHex(own)}"`);
    for (const text of notations(own))
      await answers(`/api/v1/transactions?limit=100&address=${text}`, found);
  });

  test('block: only transactions in the block at this height', async () => {
    await answers(
      `/api/v1/transactions?block=${busy}`,
      plainTransactions(CHAIN, { block: busy ?? 0 }),
    );
    for (const block of FAR)
      await answers(`/api/v1/transactions?block=${block}`, plainTransactions([], {}));
  });

  test.each(TYPES)('type: exact match on function_call_type, such as %j', async (type) => {
    await answers(pathOfType(type), plainTransactions(CHAIN, { type }, 100));
    for (const other of [type.slice(0, -1), type.toLowerCase(), `${type} `, '%'])
      await answers(pathOfType(other), plainTransactions([], {}, 100));
  });

  test('status: exact match; only confirmed is ever stored, so it narrows nothing', async () => {
    await answers('/api/v1/transactions?status=confirmed', plainTransactions(CHAIN, {}));
    for (const status of ['pending', 'Confirmed', 'confirmed%20', '%00'])
      await answers(
        `/api/v1/transactions?status=${status}&offset=7`,
        plainTransactions([], {}, 20, 7n),
      );
  });
});

describe('paging', () => {
  /** A list of six. */
  const small = seededBlocks({ seed: 62, blocks: 6, transactions_max: 2 });

  test.each([
    ['limit=2', 2, 0, 2, true],
    ['limit=2&offset=3', 2, 3, 5, true],
    ['limit=4&offset=3', 4, 3, 6, false],
    ['limit=4&offset=9', 4, 9, 9, false],
    // the next page is empty
    ['limit=6', 6, 0, 6, true],
    ['limit=3&offset=3', 3, 3, 6, true],
    ['limit=7', 7, 0, 6, false],
    ['limit=1&offset=6', 1, 6, 6, false],
  ])(
    'total is the offset plus the items of the page, has_more whether it is full: %s of six',
    async (query, limit, offset, total, hasMore) => {
      const few = await openIndexed(small);
      const { items, paging, ...rest } = JSON.parse(
        (await few.get(`/api/v1/blocks?${query}`)).text,
      );
      await few.close();
      expect([paging, rest]).toEqual([{ limit, offset, total, has_more: hasMore }, {}]);
      expect(items).toHaveLength(total - offset);
    },
  );

  test.each(LISTS)('limit is 20 and at most 100, offset 0: %s', async (list) => {
    const pageOf = async (query: string): Promise<unknown> =>
      JSON.parse((await explorer.get(list + query)).text).paging;
    expect(await pageOf('')).toMatchObject({ limit: 20, offset: 0, total: 20, has_more: true });
    expect(await pageOf('?limit=100')).toMatchObject({ limit: 100 });
    for (const limit of ['101', '0', '-1', 'all']) {
      const { status, text } = await explorer.get(`${list}?limit=${limit}`);
      const message = 'limit must be a decimal integer from 1 to 100';
      expect([status, text]).toEqual([400, JSON.stringify({ code: 'invalid_request', message })]);
    }
  });
});

describe('/api/v1/stats', () => {
  const recent = CHAIN.slice(-100);
  const seconds = ((recent.at(-1)?.timestamp ?? 0) - (recent[0]?.timestamp ?? 0)) / 1_000;

  test('every figure is that of a plain list of blocks', async () => {
    expect(JSON.parse((await explorer.get('/api/v1/stats')).text)).toEqual(plainStats(CHAIN));
  });

  test.each<readonly [string, string, number]>([
    [
      'avg_block_time_seconds',
      'the time between the first and last of the newest 100 blocks divided by the number of gaps',
      seconds / 99,
    ],
    [
      'tx_per_second',
      'the transactions those blocks carry divided by that time',
      recent.flatMap(({ transactions }) => transactions).length / seconds,
    ],
    [
      'active_validators',
      'how many produced one of them',
      new Set(recent.map(({ producer }) => toHex(producer))).size,
    ],
  ])('%s is %s', async (field, _, wanted) => {
    const stats = await explorer.get('/api/v1/stats');
    expect(JSON.parse(stats.text)[field]).toBe(wanted);
  });
});
