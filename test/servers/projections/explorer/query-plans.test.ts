/** On 50,000 transactions: how Postgres goes about each question. */
import { beforeAll, expect, inject, test } from 'vitest';
import {
  accountByAddress,
  accountsByAddress,
  activityPage,
  balanceAt,
  balanceHistory,
} from '../../../../projections/explorer/queries/accounts.ts';
import {
  blockByHash,
  blockByHeight,
  blockRecord,
  blocksByHash,
  blocksPage,
} from '../../../../projections/explorer/queries/blocks.ts';
import {
  blockEffectsPage,
  transactionEffectsPage,
} from '../../../../projections/explorer/queries/effects.ts';
import {
  indexedHead,
  stats,
  validatorsPage,
} from '../../../../projections/explorer/queries/chain.ts';
import type { Page, Query } from '../../../../projections/contract/page.ts';
import {
  transactionByHash,
  transactionsByHash,
  transactionCounts,
  transactionsPage,
  type TransactionFilter,
  type ScanBy,
} from '../../../../projections/explorer/queries/transactions.ts';
import { freshDatabase } from '../../../support/database.ts';
import { explained, PLAN_CACHES } from '../../../projections/explorer/explained.ts';
import { POOL } from '../../../projections/explorer/seeded-effects.ts';
import {
  fillExplorer,
  mostFrequent,
  seededBlocks,
  TYPES,
} from '../../../projections/explorer/seeded-rows.ts';

const blocks = seededBlocks({
  seed: 7,
  blocks: 5_000,
  transactions_max: 25,
  first_height: 3,
  addresses: 400,
  producers: 250,
});
const all = blocks.flatMap(({ transactions }) => transactions);
const hot = mostFrequent(blocks);
const [, , type] = TYPES;
const block = blocks.reduce((most, one) =>
  one.transactions.length > most.transactions.length ? one : most,
);
const page: Page = { limit: 100, offset: 1_000n };
let urls: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
});

const everything: TransactionFilter = { block: undefined, address: undefined, type: undefined };
const of = (filter: Partial<TransactionFilter>, way?: ScanBy, at: Page = page): Query =>
  transactionsPage({ ...everything, ...filter }, at, way);
const [FROM, TO] = [Buffer.alloc(20, 0x20), Buffer.alloc(20, 0xdf)];
const hash = block.transactions[0]?.hash ?? Buffer.alloc(32);

const ranges: Readonly<Record<string, Query>> = {
  'the newest blocks': blocksPage({ limit: 100, offset: 0n }),
  'blocks far down': blocksPage({ limit: 100, offset: 4_500n }),
  'a block by height': blockByHeight(BigInt(block.height)),
  'a block by hash': blockByHash(block.hash),
  'the newest transactions': of({}, undefined, { limit: 100, offset: 0n }),
  'transactions far down': of({}, undefined, { limit: 100, offset: BigInt(all.length - 150) }),
  'transactions of an address': of({ address: hot }),
  'transactions of an address far down': of({ address: hot }, undefined, {
    limit: 100,
    offset: 10_000n,
  }),
  'transactions of a type': of({ type }),
  'transactions of a type far down': of({ type }, undefined, { limit: 100, offset: 9_000n }),
  'transactions of a block': of({ block: BigInt(block.height) }, undefined, {
    limit: 100,
    offset: 3n,
  }),
  'a transaction by hash': transactionByHash(hash),
  'counts of an address and a type': transactionCounts(hot, type),
  'an account': accountByAddress(hot),
  'the indexed head': indexedHead(),
  'blocks below a place': blocksPage({ limit: 100, below: 2_000n }),
  'transactions below a place': of({}, undefined, { limit: 100, below: 30_000n }),
  'transactions of an address below a place': of({ address: hot }, undefined, {
    limit: 100,
    below: 10_000n,
  }),
  'transactions of a type below a place': of({ type }, undefined, { limit: 100, below: 9_000n }),
  'transactions of a block below a place': of({ block: BigInt(block.height) }, undefined, {
    limit: 100,
    below: BigInt(all.length),
  }),
  'activity of an account': activityPage(hot, page),
  'activity of an account far down': activityPage(hot, { limit: 100, offset: 20_000n }),
  'activity of an account below a place': activityPage(hot, { limit: 100, below: 15_000n }),
  'activity of the account that only blocks move': activityPage(POOL, page),
  'the newest validators': validatorsPage({ limit: 100, offset: 0n }),
  'validators far down': validatorsPage({ limit: 100, offset: 149n }),
  'validators below a place': validatorsPage({ limit: 100, below: 120n }),
  'a balance at a height': balanceAt(hot, 2_500n),
  'a balance at the first height': balanceAt(hot, 3n),
  'a balance at the newest height': balanceAt(POOL, 5_002n),
  'a balance of nobody': balanceAt(Buffer.alloc(20), 5n),
  stats: stats(),
  'the record of a block': blockRecord({ height: BigInt(block.height) }),
  'the record of a block by hash': blockRecord(block),
  'blocks by the beginning of a hash': blocksByHash(FROM, TO, 4),
  'transactions by the beginning of a hash': transactionsByHash(FROM, TO, 4),
  'accounts by the beginning of an address': accountsByAddress(FROM, TO, 4),
};
const filtered: Readonly<Record<string, Query>> = {
  'an address and a type': of({ address: hot, type }, 'address'),
  'a type and an address': of({ address: hot, type }, 'type'),
  'a block and an address': of({ block: BigInt(block.height), address: hot }),
  'a block and a type': of({ block: BigInt(block.height), type }),
  'a block, an address and a type': of({ block: BigInt(block.height), address: hot, type }),
  'activity of a kind': activityPage(hot, page, { kind: 'transfer_in', direction: undefined }),
  'activity in a direction': activityPage(hot, page, { kind: undefined, direction: 'debit' }),
};
const onward: Page = { limit: 100, below: 8_000n };
const filteredBelow: Readonly<Record<string, Query>> = {
  'an address and a type below a place': of({ address: hot, type }, 'address', onward),
  'a type and an address below a place': of({ address: hot, type }, 'type', onward),
  'a block and an address below a place': of(
    { block: BigInt(block.height), address: hot },
    undefined,
    onward,
  ),
  'a block and a type below a place': of({ block: BigInt(block.height), type }, undefined, onward),
};

// a page of validators reads its accounts, and the newest 100 blocks
test('each list and detail reads an index range no longer than its page and discards no row', async () => {
  for (const [what, query] of Object.entries(ranges)) {
    for (const planCache of PLAN_CACHES) {
      const { nodes, scans, removed } = await explained(urls.reader_url, query, planCache);
      const others = scans.filter(({ how }) => !how.startsWith('Index'));
      expect({ what, planCache, others, removed }).toEqual({
        what,
        planCache,
        others: [],
        removed: 0,
      });
      if (query.name !== 'explorer_stats')
        expect({ what, sorted: nodes.includes('Sort') }).toEqual({ what, sorted: false });
      const read = scans.reduce((sum, { rows }) => sum + rows, 0);
      expect(read, what).toBeLessThanOrEqual(
        (query.name.startsWith('explorer_validators') ? 3 : 2) * 100 + 3,
      );
      expect(scans.length, what).toBeGreaterThan(0);
    }
  }
});

test('a page of activity looks up at most one transaction or block for each row', async () => {
  for (const planCache of PLAN_CACHES) {
    const { scans } = await explained(urls.reader_url, activityPage(hot, page), planCache);
    const rowsOf = (table: string): number =>
      scans.filter((scan) => scan.table === table).reduce((sum, { rows }) => sum + rows, 0);
    expect([rowsOf('activity'), rowsOf('accounts')]).toEqual([100, 1]);
    expect(rowsOf('transactions') + rowsOf('blocks')).toBeLessThanOrEqual(100);
    expect(rowsOf('transactions')).toBeGreaterThan(0);
  }
});

test('a balance at a height takes log2(activities) look-ups', async () => {
  const activities = blocks
    .flatMap(({ effects }) => effects)
    .filter(({ address, delta }) => address.equals(hot) && delta !== 0n).length;
  expect(activities).toBeGreaterThan(16_384);
  for (const height of [3n, 2_500n, 5_002n]) {
    for (const planCache of PLAN_CACHES) {
      const { scans } = await explained(urls.reader_url, balanceAt(hot, height), planCache);
      const lookUps = scans
        .filter(({ table }) => table === 'activity')
        .reduce((sum, { loops }) => sum + loops, 0);
      expect(lookUps).toBeLessThanOrEqual(activities.toString(2).length + 2);
      expect(lookUps).toBeGreaterThan(12);
    }
  }
});

test('effects of a transaction and of a block read the activity of the block by its index', async () => {
  for (const query of [transactionEffectsPage(hash, page), blockEffectsPage(block, page)]) {
    for (const planCache of PLAN_CACHES) {
      const { scans } = await explained(urls.reader_url, query, planCache);
      const found = scans.filter(({ table }) => table === 'activity');
      expect(found.map(({ how }) => how)).toEqual([expect.stringMatching(/^Index/)]);
      expect(found[0]?.rows).toBe(block.effects.filter(({ delta }) => delta !== 0n).length);
    }
  }
});

test('a balance history looks up one change and one block for each point', async () => {
  for (const planCache of PLAN_CACHES) {
    const { scans } = await explained(urls.reader_url, balanceHistory(hot, 200), planCache);
    const stored = scans;
    expect(stored.map(({ how }) => how)).toEqual(stored.map(() => expect.stringMatching(/^Index/)));
    expect(stored.reduce((sum, { rows }) => sum + rows, 0)).toBe(1 + 200 + 200);
  }
});

test('combined filters scan one ordinal, never a whole table', async () => {
  for (const [what, query] of Object.entries({ ...filtered, ...filteredBelow })) {
    for (const planCache of PLAN_CACHES) {
      const { nodes } = await explained(urls.reader_url, query, planCache);
      const whole = nodes.filter(
        (how) => how === 'Seq Scan' || how.startsWith('Bitmap') || how === 'Sort',
      );
      expect({ what, planCache, whole }).toEqual({ what, planCache, whole: [] });
    }
  }
});

test('a statement name belongs to one text', () => {
  const texts = new Map<string, string>();
  for (const { name, text } of Object.values({ ...ranges, ...filtered, ...filteredBelow })) {
    expect(texts.get(name) ?? text).toBe(text);
    texts.set(name, text);
  }
  expect(new Set(texts.values()).size).toBe(texts.size);
});
