import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { explorer } from '../../../projections/explorer/explorer.ts';
import type { Folded } from '../../../projections/projection.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { chainEvents, TestChain, type ChainOptions } from '../../support/chain.ts';
import { differences, digestOf, plainFold } from '../../support/plain-fold.ts';
import { raceOfWriters } from '../chain/writers.ts';
import { MemoryTables } from './memory-tables.ts';

const CHAINS: fc.Arbitrary<ChainOptions> = fc.record({
  seed: fc.nat(),
  blocks: fc.integer({ min: 1, max: 40 }),
  transactions_per_block: fc.constantFrom(0, 1, 5, 20),
  reorg_probability: fc.constantFrom(0, 0.1, 0.5),
  final_depth: fc.integer({ min: 1, max: 8 }),
  accounts: fc.constantFrom(8, 12, 100),
});

/** Repeatedly, how many events the next batch has. */
const BATCHINGS = fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 5 });

interface Batch {
  readonly from: number;
  readonly events: readonly ChainEvent[];
}

/** Batches of these sizes, each reaching `back` over what the one before held. */
function* batches(log: readonly ChainEvent[], sizes: readonly number[], back: number): Generator<Batch> {
  for (let next = 0, at = 0; next < log.length; at++) {
    const from = Math.max(0, next - back);
    next += sizes[at % sizes.length] ?? 1;
    yield { from, events: log.slice(from, next) };
  }
}

function project(log: readonly ChainEvent[], sizes: readonly number[], back = 0): { tables: MemoryTables; folded: Folded[] } {
  const tables = new MemoryTables();
  const folded = [...batches(log, sizes, back)].map(({ from, events }) => tables.apply(events, from));
  return { tables, folded };
}

/** The log of a writer that sent batches twice: what follows a repetition was written for where it then stands. */
function withRepetitions(events: readonly ChainEvent[], repeated: readonly (readonly [end: number, length: number])[]): ChainEvent[] {
  const log: ChainEvent[] = [];
  for (const [at, event] of events.entries()) {
    log.push({ ...event, sequence: log.length });
    for (const [end, length] of repeated) if (end % events.length === at) log.push(...log.slice(-length));
  }
  return log;
}

test('the tables equal a plain fold of the log, whatever the batches, what they reach back over and what the log repeats', () => {
  const repetitions = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 10 })), { maxLength: 3 });
  fc.assert(
    fc.property(CHAINS, BATCHINGS, repetitions, fc.nat({ max: 9 }), (options, sizes, repeated, back) => {
      const log = withRepetitions([...chainEvents(options)], repeated);
      const { tables, folded } = project(log, sizes, back);
      expect(folded.filter((each) => 'broken' in each)).toEqual([]);
      expect(differences(tables.texts(), plainFold(log))).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

test('batches of one, of seven and of everything give the same bytes', () => {
  fc.assert(
    fc.property(CHAINS, (options) => {
      const log = [...chainEvents(options)];
      const digests = [1, 7, log.length].map((size) => digestOf(project(log, [size]).tables.texts()));
      expect(new Set([...digests, digestOf(plainFold(log))]).size).toBe(1);
    }),
    { numRuns: 60 },
  );
});

test('a log that several writers left in a race is folded without a break', () => {
  fc.assert(
    fc.property(raceOfWriters(), BATCHINGS, ({ log }, sizes) => {
      const { tables, folded } = project(log, sizes);
      expect(folded.filter((each) => 'broken' in each)).toEqual([]);
      expect(differences(tables.texts(), plainFold(log))).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

test.each([1, 3, 100])('accounts and types that only reverted blocks knew are as if they had never been seen, in batches of %i', (size) => {
  const chain = new TestChain({ seed: 4, accounts: 8 });
  const log: ChainEvent[] = [chain.append(0)];
  for (let at = 0; at < 5; at++) log.push(chain.append(12));
  for (let at = 0; at < 5; at++) log.push(chain.revert());
  const { tables } = project(log, [size]);
  const texts = tables.texts();
  expect(Object.fromEntries(Object.entries(texts).map(([table, rows]) => [table, rows.length]))).toEqual({
    head: 1,
    blocks: 1,
    transactions: 0,
    transaction_types: 0,
    accounts: 0,
    account_transactions: 0,
  });
  expect(differences(texts, plainFold(log))).toEqual([]);
});

test('ordinals are dense: every seq, type ordinal and account ordinal from 0, without a gap, after any reorganisation', () => {
  const log = [...chainEvents({ seed: 11, blocks: 200, transactions_per_block: 8, reorg_probability: 0.15, accounts: 20 })];
  const texts = project(log, [9]).tables.texts();
  const rows = (table: string): Record<string, string>[] => (texts[table] ?? []).map((text): Record<string, string> => JSON.parse(text));
  expect(rows('transactions').length).toBeGreaterThan(200);
  expectDense(() => '', 'seq', rows('transactions'));
  expectDense((row) => String(row['function_call_type']), 'type_ordinal', rows('transactions'));
  expectDense((row) => String(row['address']), 'ordinal', rows('account_transactions'));
});

function expectDense(group: (row: Record<string, string>) => string, ordinal: string, rows: readonly Record<string, string>[]): void {
  for (const [, members] of Map.groupBy(rows, group)) {
    const ordinals = members.map((row) => Number(row[ordinal])).toSorted((one, other) => one - other);
    expect(ordinals).toEqual(ordinals.map((_, at) => at));
  }
}

test('folding the same batch twice gives the same changes', () => {
  const log = [...chainEvents({ seed: 5, blocks: 30, reorg_probability: 0.3 })];
  const folds = [0, 1].map(() => project(log, [6]).folded);
  expect(folds[0]).toEqual(folds[1]);
});

test('every height that changed is announced once, and finality is not', () => {
  const chain = new TestChain({ seed: 1 });
  const log = [chain.append(1), chain.append(1), chain.finalize(0), chain.revert(), chain.append(2), chain.append(0)];
  const [folded] = project(log, [log.length]).folded;
  expect(folded).toMatchObject({ announced: ['0', '1', '2'], outcomes: { applied: 6, replayed: 0, ignored: 0 } });
  const tables = new MemoryTables();
  tables.apply(log);
  expect(tables.apply(log)).toMatchObject({ announced: [], outcomes: { applied: 0, replayed: 6, ignored: 0 } });
  expect(tables.apply(log, log.length)).toMatchObject({ announced: [], outcomes: { applied: 0, replayed: 0, ignored: 6 } });
});

test('a log that cannot be right is broken at the record that shows it, and nothing of the batch is changed', () => {
  const chain = new TestChain({ seed: 2 });
  const [first, second, , fourth] = [chain.append(1), chain.append(1), chain.append(1), chain.append(1)];
  const tables = new MemoryTables();
  const folded = tables.apply([first, second, { ...fourth, sequence: 2 }].filter((event) => event !== undefined));
  expect(folded).toEqual({
    broken: {
      at: 2,
      reason: expect.stringMatching(/^BlockAppended 2 at height 3: the newest block is 1 [0-9a-f]{64}, to which it does not link$/),
    },
  });
  expect(tables.texts()['head']).toEqual([]);
});

test('rows are loaded for what the batch touches, and those of reverted blocks only when there are any', () => {
  const chain = new TestChain({ seed: 3 });
  const first = chain.append(3);
  const recorded = [first, chain.append(0), chain.revert()].map((event, at) => ({ event, partition: 0, offset: BigInt(at), timestamp: 0 }));
  const named = (batch: typeof recorded): string[] => explorer.loads(batch).map(({ name }) => name);
  expect(named(recorded.slice(0, 2))).toEqual(['head', 'types', 'accounts']);
  expect(named(recorded)).toEqual(['head', 'types', 'accounts', 'reverted_transactions', 'reverted_accounts']);
  const [addresses] = explorer.loads(recorded).find(({ name }) => name === 'accounts')?.values ?? [];
  const touched = new Set(first.transactions.flatMap(({ from, to }) => [from.toString('hex'), to.toString('hex')]));
  expect(addresses).toHaveLength(touched.size);
});

test('only events of its topic are its events', () => {
  expect(
    ['BlockAppended', 'BlockReverted', 'BlocksFinalized', 'MintIntended', 'toString'].map((type) => explorer.isEvent({ type })),
  ).toEqual([true, true, true, false, false]);
});
