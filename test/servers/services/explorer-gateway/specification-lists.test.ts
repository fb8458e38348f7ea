/** The specification of the explorer: filters of transactions, paging, limits. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { plainTransactions, plainValidators } from '../../../projections/explorer/plain-answers.ts';
import { mostFrequent, seededBlocks, TYPES } from '../../../projections/explorer/seeded-rows.ts';
import type { ExplorerServer } from '../../../services/explorer-gateway/explorer-server.ts';
import { asked, CHAIN, listed, openSpecified, TRANSACTIONS } from './specified.ts';

const hot = mostFrequent(CHAIN);
const own = TRANSACTIONS.find(({ from, to }) => from.equals(to))?.from ?? hot;
const busy = CHAIN.findLast(({ transactions }) => transactions.length > 4)?.height ?? 0;
const LISTS = [
  '/api/v1/blocks',
  '/api/v1/transactions',
  `/api/v1/accounts/${toHex(hot)}/activity`,
  '/api/v1/validators',
];

let explorer: ExplorerServer;
beforeAll(async () => {
  explorer = await openSpecified();
});
afterAll(() => explorer.close());

async function filtered(query: string): Promise<string> {
  const { status, text } = await explorer.get(`/api/v1/transactions?limit=100&${query}`);
  expect(status).toBe(200);
  return text;
}

describe('filters of transactions', () => {
  test('address: matches either from or to, one to itself once', async () => {
    for (const address of [hot, own]) {
      const found = await filtered(`address=${toHex(address)}`);
      expect(found).toBe(plainTransactions(CHAIN, { address }, 100));
      expect(found).toContain(`"from":"${toHex(address)}"`);
      expect(found).toContain(`"to":"${toHex(address)}"`);
    }
  });

  test('address: case-insensitive, with or without the 0x prefix', async () => {
    const digits = own.toString('hex');
    for (const text of [digits, `0x${digits}`, digits.toUpperCase(), `0x${digits.toUpperCase()}`]) {
      expect(await filtered(`address=${text}`)).toBe(
        plainTransactions(CHAIN, { address: own }, 100),
      );
    }
  });

  test('block: only transactions in the block at this height', async () => {
    const found = await listed(explorer, `/api/v1/transactions?limit=100&block=${busy}`);
    expect(new Set(found.map(({ block_height: height }) => height))).toEqual(
      new Set([BigInt(busy)]),
    );
    expect(await filtered(`block=${busy}`)).toBe(plainTransactions(CHAIN, { block: busy }, 100));
    expect(await filtered(`block=${CHAIN.length}`)).toBe(plainTransactions([], {}, 100));
  });

  test.each(TYPES)('type: exact match on function_call_type, such as %j', async (type) => {
    expect(await filtered(`type=${encodeURIComponent(type)}`)).toBe(
      plainTransactions(CHAIN, { type }, 100),
    );
    for (const other of [type.slice(0, -1), type.toLowerCase(), `${type} `]) {
      expect(await filtered(`type=${encodeURIComponent(other)}`)).toBe(
        plainTransactions([], {}, 100),
      );
    }
  });

  test('status: exact match, only confirmed is ever stored, so it narrows nothing', async () => {
    expect(await filtered('status=confirmed')).toBe(plainTransactions(CHAIN, {}, 100));
    for (const status of ['pending', 'Confirmed', 'confirmed%20', '%00']) {
      expect((await explorer.get(`/api/v1/transactions?status=${status}&offset=7`)).text).toBe(
        '{"items":[],"paging":{"limit":20,"offset":7,"total":7,"has_more":false}}',
      );
    }
  });
});

describe('paging', () => {
  const small = seededBlocks({ seed: 62, blocks: 6, transactions_max: 2 });
  let few: ExplorerServer;
  beforeAll(async () => {
    few = await openSpecified(small);
  });
  afterAll(() => few.close());

  test('total is the offset plus the number of items in the page, not a count of matching rows', async () => {
    for (const [query, total] of [
      ['limit=2', 2n],
      ['limit=2&offset=3', 5n],
      ['limit=4&offset=3', 6n],
      ['limit=4&offset=9', 9n],
      [`offset=${10n ** 30n}`, 10n ** 30n],
    ] as const) {
      const { paging } = await asked(few, `/api/v1/blocks?${query}`);
      expect({ query, paging }).toMatchObject({ query, paging: { total } });
    }
  });

  test('has_more is true whenever the page holds exactly limit items, even if the next page is empty', async () => {
    for (const [query, hasMore] of [
      ['limit=6', true],
      ['limit=7', false],
      ['limit=3&offset=3', true],
      ['limit=3&offset=4', false],
      ['limit=1&offset=6', false],
    ] as const) {
      const { paging } = await asked(few, `/api/v1/blocks?${query}`);
      expect({ query, paging }).toMatchObject({ query, paging: { has_more: hasMore } });
    }
    expect(await listed(few, '/api/v1/blocks?limit=6&offset=6')).toEqual([]);
  });

  test.each(LISTS)('pages of %s put together are the list, newest first', async (list) => {
    const whole = await listed(explorer, `${list}?limit=100`);
    const pages = [];
    for (let offset = 0; offset < 100; offset += 9)
      pages.push(...(await listed(explorer, `${list}?limit=9&offset=${offset}`)));
    expect(pages.slice(0, 100)).toEqual(whole);
    const heights = whole.map(({ height, block_height: of }) => Number(height ?? of ?? 0));
    expect(heights).toEqual(heights.toSorted((a, b) => b - a));
  });
});

describe('limits', () => {
  test.each(LISTS)('limit is 20 and offset 0 when not given: %s', async (list) => {
    const { items, paging } = await asked(explorer, list);
    const count = list.endsWith('validators') ? 4n : 20n;
    expect(paging).toEqual({ limit: 20n, offset: 0n, total: count, has_more: count === 20n });
    expect(items).toHaveLength(Number(count));
    expect(JSON.parse(plainValidators(CHAIN))).toHaveProperty('items.length', 4);
  });

  test.each(LISTS)('limit is at most 100: %s', async (list) => {
    expect(await asked(explorer, `${list}?limit=100`)).toMatchObject({ paging: { limit: 100n } });
    for (const limit of ['101', '0', '-1', 'all']) {
      const { status, text } = await explorer.get(`${list}?limit=${limit}`);
      expect([status, text]).toEqual([
        400,
        '{"code":"invalid_request","message":"limit must be a decimal integer from 1 to 100"}',
      ]);
    }
  });
});
