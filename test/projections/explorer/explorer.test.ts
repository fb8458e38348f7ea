import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { explorer } from '../../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { ChainByHand, named } from '../../support/chain-by-hand.ts';
import { chainEvents, TestChain, type ChainOptions } from '../../support/chain.ts';
import { differences, digestOf, plainFold } from '../../support/plain-fold.ts';
import { raceOfWriters } from '../chain/writers.ts';
import {
  batches,
  BATCHINGS,
  disturbed,
  DISTURBANCES,
  foldedRows,
  project,
  type TextRow,
} from './batches.ts';
import { FoldedTables } from '../folded-tables.ts';
import { specify } from '../specify.ts';
import { WILD_CHAINS } from './wild-chain.ts';

const CHAINS: fc.Arbitrary<ChainOptions> = fc.record({
  seed: fc.nat(),
  blocks: fc.integer({ min: 1, max: 40 }),
  transactions_per_block: fc.constantFrom(0, 1, 5, 20),
  reorg_probability: fc.constantFrom(0, 0.1, 0.5),
  final_depth: fc.integer({ min: 1, max: 8 }),
  accounts: fc.constantFrom(8, 12, 100),
});

const ALL_TABLES = explorer.tables.map(({ name }) => name);

test('for any batches, redeliveries and stray records the tables equal a plain fold of the log', () => {
  fc.assert(
    fc.property(
      CHAINS,
      BATCHINGS,
      DISTURBANCES,
      fc.nat({ max: 9 }),
      (options, sizes, disturbances, back) => {
        const log = disturbed([...chainEvents(options)], disturbances);
        const { tables } = project(explorer, log, sizes, back);
        expect(differences(tables.texts(), plainFold(log))).toEqual([]);
      },
    ),
    { numRuns: 20 },
  );
});

test('distinct and shared buffers for equal addresses give the same rows', () => {
  fc.assert(
    fc.property(WILD_CHAINS, BATCHINGS, ({ log }, sizes) => {
      const apart = log.map((event) => copyOf(event));
      expect(project(explorer, apart, sizes).tables.texts()).toEqual(
        project(explorer, log, sizes).tables.texts(),
      );
    }),
  );
});

/** All the way down, each buffer in it another. */
function copyOf<Of>(value: Of): Of;
function copyOf(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return Buffer.from(value);
  if (Array.isArray(value)) return value.map((each: unknown) => copyOf(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf(each)]));
}

test('for any effects, types and reorganisations the tables equal a plain fold after every batch', () => {
  fc.assert(
    fc.property(
      WILD_CHAINS,
      BATCHINGS,
      DISTURBANCES,
      fc.nat({ max: 9 }),
      ({ log: sound }, sizes, disturbances, back) => {
        const log = disturbed(sound, disturbances);
        const tables = new FoldedTables(explorer);
        for (const batch of batches(log, sizes, back)) {
          tables.apply(batch);
          expect(differences(tables.texts(), plainFold(log.slice(0, batch.end)))).toEqual([]);
        }
        expect(tables.fold({ events: log })).toMatchObject({
          announced: [],
          outcomes: { applied: 0 },
        });
        expect(differences(tables.texts(), plainFold(log))).toEqual([]);
      },
    ),
    { numRuns: 40 },
  );
});

test('a deep reorganisation may be split between batches at any record', () => {
  const chain = new TestChain({ seed: 6, accounts: 12 });
  const log = Array.from({ length: 6 }, (_, at) => chain.append(at === 0 ? 0 : 15));
  const deep = [
    ...log,
    ...Array.from({ length: 4 }, () => chain.revert()),
    ...Array.from({ length: 6 }, () => chain.append(10)),
  ];
  for (let cut = 1; cut < deep.length; cut++) {
    const { tables } = project(explorer, deep, [cut, deep.length]);
    expect(differences(tables.texts(), plainFold(deep))).toEqual([]);
  }
});

test('every batch size gives the same bytes', () => {
  fc.assert(
    fc.property(CHAINS, (options) => {
      const log = [...chainEvents(options)];
      const digests = [1, 7, log.length].map((size) =>
        digestOf(project(explorer, log, [size]).tables.texts()),
      );
      expect(new Set([...digests, digestOf(plainFold(log))]).size).toBe(1);
    }),
    { numRuns: 20 },
  );
});

test('a log from racing writers is folded without error', () => {
  fc.assert(
    fc.property(raceOfWriters(), BATCHINGS, ({ log }, sizes) => {
      const { tables } = project(explorer, log, sizes);
      expect(differences(tables.texts(), plainFold(log))).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

test.each([1, 3, 100])(
  'accounts and types of reverted blocks alone have no rows, in batches of %i',
  (size) => {
    const chain = new TestChain({ seed: 4, accounts: 8 });
    const log: ChainEvent[] = [chain.append(0)];
    for (let at = 0; at < 5; at++) log.push(chain.append(12));
    for (let at = 0; at < 5; at++) log.push(chain.revert());
    const rows = foldedRows(log, size);
    const counts = ALL_TABLES.map((table) => [table, rows(table).length]);
    expect(Object.fromEntries(counts)).toEqual({
      head: 1,
      blocks: 1,
      transactions: 0,
      transaction_types: 0,
      accounts: 9,
      account_transactions: 0,
      activity: 9,
      validators: 1,
    });
  },
);

test('seqs and ordinals are dense after any reorganisation', () => {
  const log = [
    ...chainEvents({
      seed: 11,
      blocks: 200,
      transactions_per_block: 8,
      reorg_probability: 0.15,
      accounts: 20,
    }),
  ];
  const rows = foldedRows(log, 9);
  expect(rows('transactions').length).toBeGreaterThan(200);
  expectDense(() => '', 'seq', rows('transactions'));
  expectDense((row) => String(row['function_call_type']), 'type_ordinal', rows('transactions'));
  expectDense((row) => String(row['address']), 'ordinal', rows('account_transactions'));
  expectDense((row) => String(row['address']), 'ordinal', rows('activity'));
  expectDense(() => '', 'ordinal', rows('validators'));
});

function expectDense(
  group: (row: TextRow) => string,
  ordinal: string,
  rows: readonly TextRow[],
): void {
  for (const [, members] of Map.groupBy(rows, group)) {
    const ordinals = members
      .map((row) => Number(row[ordinal]))
      .toSorted((one, other) => one - other);
    expect(ordinals).toEqual(ordinals.map((_, at) => at));
  }
}

test('folding the same batch twice gives the same changes', () => {
  const log = [...chainEvents({ seed: 5, blocks: 30, reorg_probability: 0.3 })];
  const folds = [0, 1].map(() => project(explorer, log, [6]).folded);
  expect(folds[0]).toEqual(folds[1]);
});

test('every changed height is announced once; finality is not announced', () => {
  const chain = new TestChain({ seed: 1 });
  const log = [
    chain.append(1),
    chain.append(1),
    chain.finalize(0),
    chain.revert(),
    chain.append(2),
    chain.append(0),
  ];
  const tables = new FoldedTables(explorer);
  expect(tables.fold({ events: log })).toMatchObject({
    announced: ['0', '1', '2'],
    outcomes: { applied: 6, replayed: 0, ignored: 0 },
  });
  expect(tables.fold({ events: log })).toMatchObject({
    announced: [],
    outcomes: { applied: 0, replayed: 6, ignored: 0 },
  });
  expect(tables.fold({ events: log, from: log.length })).toMatchObject({
    announced: [],
    outcomes: { applied: 0, replayed: 0, ignored: 6 },
  });
});

test('an inconsistent log is broken at its first wrong record and changes no row', () => {
  const chain = new TestChain({ seed: 2 });
  const blocks = [0, 1, 2].map(() => chain.append(1));
  const astray = { ...chain.append(1), sequence: 2 };
  specify(explorer)
    .when(blocks.with(2, astray))
    .thenFolded({
      broken: {
        at: 2,
        reason: expect.stringMatching(
          /^BlockAppended 2 at height 3: the newest block is 1 [0-9a-f]{64}, to which it does not link$/,
        ),
      },
    });
});

test('loads cover the touched rows, and stored blocks only when reverted', () => {
  const chain = new TestChain({ seed: 3 });
  const recorded = [chain.append(3), chain.append(0), chain.revert()].map((event, at) => ({
    event,
    partition: 0,
    offset: BigInt(at),
    timestamp: 0,
  }));
  const loadNames = (batch: typeof recorded): string[] =>
    explorer.loads(batch).map(({ name }) => name);
  expect(loadNames(recorded)).toEqual(['head', 'types', 'accounts']);
  expect(loadNames(recorded.slice(2)).toSorted()).toEqual([
    'accounts',
    'head',
    'reverted_accounts',
    'reverted_activity',
    'reverted_blocks',
    'reverted_transactions',
    'reverted_types',
    'types',
  ]);
});

test('loads name each account of the batch once and no other', () => {
  const [alice, bob, carol] = [named('alice'), named('bob'), named('carol')];
  const chain = new ChainByHand();
  chain.append({
    producer: carol,
    transactions: [{ from: alice, to: bob, referrer: named('dave') }],
    effects: [{ address: alice, delta: 5n, counterparty: named('erin') }],
  });
  chain.append({ producer: alice, effects: [{ address: named('frank'), delta: 1n }] });
  const batch = chain.log.map((event, at) => ({
    event,
    partition: 0,
    offset: BigInt(at),
    timestamp: 0,
  }));
  const accounts = explorer.loads(batch).find(({ name }) => name === 'accounts');
  if (accounts === undefined || !('keys' in accounts))
    throw new Error('the accounts are not loaded by their addresses');
  expect(accounts.keys.map(String).toSorted((one, other) => one.localeCompare(other))).toEqual(
    ['alice', 'bob', 'carol', 'frank'].map((name) => String(named(name))),
  );
});

test('isEvent accepts the events of its topic only', () => {
  expect(
    ['BlockAppended', 'BlockReverted', 'BlocksFinalized', 'MintIntended', 'toString'].map((type) =>
      explorer.isEvent({ type }),
    ),
  ).toEqual([true, true, true, false, false]);
});
