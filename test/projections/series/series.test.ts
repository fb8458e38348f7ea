import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { series } from '../../../projections/series/series.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { withTimes } from '../../support/block-times.ts';
import { ChainByHand, named } from '../../support/chain-by-hand.ts';
import { differences, digestOf } from '../../support/plain-fold.ts';
import { batches, BATCHINGS, disturbed, DISTURBANCES, project } from '../explorer/batches.ts';
import { WILD_CHAINS } from '../explorer/wild-chain.ts';
import { rideChain } from '../ride-market/ride-chain.ts';
import { withoutJournal } from '../ride-market/plain-market.ts';
import { FoldedTables } from '../folded-tables.ts';
import { specify } from '../specify.ts';
import { plainSeries } from './plain-series.ts';

const HOUR_MS = 3_600_000;
/** An hour before midnight in UTC. */
const BEGIN = Date.UTC(2026, 2, 1, 23);

/** Minutes from one block to the next, again and again; clocks may be set back. */
const STEPS = fc.array(fc.constantFrom(0, 1, 20, 61, 600, -30, -2_000), {
  minLength: 1,
  maxLength: 8,
});

/** The log with block times that are this far apart. */
function timed(log: readonly ChainEvent[], steps: readonly number[]): readonly ChainEvent[] {
  return withTimes(log, (_, at) => {
    const passed = Array.from({ length: at + 1 }, (__, each) => steps[each % steps.length] ?? 0);
    return BEGIN + passed.reduce((sum, step) => sum + step, 0) * 60_000;
  });
}

function expectPlain(tables: FoldedTables<ChainEvent>, log: readonly ChainEvent[]): void {
  const plain = plainSeries(log);
  expect(differences(withoutJournal(tables.texts()), plain.tables)).toEqual([]);
  expect(tables.rows('journal').map(({ height }) => Number(height))).toEqual(plain.journal_heights);
}

test('for any blocks, times, batches and reorganisations the tables equal a plain fold after every batch', () => {
  fc.assert(
    fc.property(
      WILD_CHAINS,
      STEPS,
      BATCHINGS,
      DISTURBANCES,
      fc.nat({ max: 9 }),
      ({ log: sound }, steps, sizes, disturbances, back) => {
        const log = disturbed(timed(sound, steps), disturbances);
        const tables = new FoldedTables<ChainEvent>(series);
        for (const batch of batches(log, sizes, back)) {
          tables.apply(batch);
          expectPlain(tables, log.slice(0, batch.end));
        }
        expect(tables.fold({ events: log })).toMatchObject({
          announced: [],
          outcomes: { applied: 0 },
        });
      },
    ),
    { numRuns: 60 },
  );
});

test('rides, fares, fees and supply of the devnet’s chain equal a plain fold, and every batch size gives the same bytes', () => {
  const { log: sound } = rideChain({
    seed: 12,
    blocks: 60,
    transactions_per_block: 8,
    reorg_probability: 0.2,
    final_depth: 5,
  });
  const log = timed(sound, [0, 7, 13]);
  const digests = [1, 7, log.length].map((size) => {
    const { tables } = project(series, log, [size]);
    expectPlain(tables, log);
    return digestOf(tables.texts());
  });
  expect(new Set(digests).size).toBe(1);
  const hours = plainSeries(log).tables['hours']?.join('\n') ?? '';
  expect(hours).toMatch(/"fares":"[1-9]/);
  expect(hours).toMatch(/"rides":"[1-9]/);
  expect(hours).toMatch(/"fees":"[1-9]/);
});

const ALICE = named('alice');
const BOB = named('bob');
const CAROL = named('carol');

/** A log of blocks at these hours after `BEGIN`, each with a transfer between two accounts. */
function logOf(
  blocks: readonly (readonly [hour: number, from: Buffer, to: Buffer])[],
  goOn: (chain: ChainByHand) => void = () => {},
): readonly ChainEvent[] {
  const chain = new ChainByHand();
  for (const [, from, to] of blocks) chain.append({ transactions: [{ from, to }] });
  goOn(chain);
  return withTimes(chain.log, ({ height }) => BEGIN + (blocks[height]?.[0] ?? 0) * HOUR_MS);
}

test('an account counts once in each hour and once in each day', () => {
  const log = logOf([
    [0, ALICE, BOB],
    [0, BOB, ALICE],
    [1, ALICE, CAROL],
    [2, CAROL, CAROL],
  ]);
  specify(series)
    .when(log)
    .thenRows({
      hours: [
        { last_height: 1, active_accounts: 2 },
        { last_height: 2, active_accounts: 2 },
        { last_height: 3, active_accounts: 1 },
      ],
      days: [{ active_accounts: 2 }, { active_accounts: 2 }],
    });
});

test('an account whose block is reverted counts as before, also when it comes back in another hour', () => {
  const blocks = [
    [0, ALICE, BOB],
    [1, ALICE, CAROL],
  ] as const;
  const log = logOf(blocks, (chain) => chain.revert(2));
  const first = specify(series).given(log.slice(0, 2)).when(log.slice(2, 3));
  first.thenRows({
    hours: [{ active_accounts: 2 }],
    days: [{ active_accounts: 2 }],
    accounts: [{ address: ALICE }, { address: BOB }],
  });
  first.when(log.slice(3)).thenRows({ hours: [], days: [], accounts: [] });
});

test.each([
  { way: 'later', before: [0, 0, 1], reverted: 1, after: [0, 1], ends: [2, 3] },
  { way: 'earlier', before: [0, 0, 0, 1], reverted: 2, after: [1], ends: [1, 2] },
])(
  'a reorganisation ends an hour $way, at a height where another hour ended',
  ({ before, reverted, after, ends }) => {
    const chain = new ChainByHand();
    for (const _ of before) chain.append({});
    chain.revert(reverted);
    for (const _ of after) chain.append({});
    const hours = [...before, ...Array.from({ length: reverted }, () => 0), ...after];
    const log = withTimes(chain.log, (_, at) => BEGIN + (hours[at] ?? 0) * HOUR_MS);
    specify(series)
      .given(log.slice(0, before.length))
      .when(log.slice(before.length))
      .thenRows({ hours: ends.map((last_height) => ({ last_height })) });
  },
);

test('a block that says an earlier hour than the one before it counts in the later hour', () => {
  const log = logOf([
    [3, ALICE, BOB],
    [1, ALICE, CAROL],
  ]);
  specify(series)
    .when(log)
    .thenRows({ hours: [{ blocks: 2, active_accounts: 3, last_height: 1 }] });
});

test('a revert needs no block that is final', () => {
  const blocks = [
    [0, ALICE, BOB],
    [1, ALICE, BOB],
    [1, BOB, CAROL],
  ] as const;
  const log = logOf(blocks, (chain) => {
    chain.finalize(0);
    chain.revert(2);
  });
  const final = specify(series).given(log.slice(0, 4));
  final.thenRows({ journal: [{ height: 1 }, { height: 2 }] });
  final.when(log.slice(4)).thenRows({ hours: [{ blocks: 1, active_accounts: 2 }] });
});
