import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { rideMarket } from '../../../projections/ride-market/ride-market.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { chainEvents } from '../../support/chain.ts';
import { differences, digestOf } from '../../support/plain-fold.ts';
import { batches, BATCHINGS, disturbed, DISTURBANCES, project } from '../explorer/batches.ts';
import { FoldedTables } from '../folded-tables.ts';
import { specify } from '../specify.ts';
import { plainMarket, textsOf, withoutJournal } from './plain-market.ts';
import { rideChain, type RideChainOptions } from './ride-chain.ts';

const CHAINS: fc.Arbitrary<RideChainOptions> = fc.record({
  seed: fc.nat(),
  blocks: fc.integer({ min: 1, max: 30 }),
  transactions_per_block: fc.constantFrom(1, 5, 10),
  reorg_probability: fc.constantFrom(0, 0.15, 0.5),
  final_depth: fc.constantFrom(1, 3, 100),
});

/** One chain with all that can happen on it, several times over. */
const LONG: RideChainOptions = {
  seed: 10,
  blocks: 150,
  transactions_per_block: 12,
  reorg_probability: 0.2,
  final_depth: 6,
};

type MarketRow = Readonly<Record<string, unknown>>;

function hex(value: unknown): string | null {
  return Buffer.isBuffer(value) ? `0x${value.toString('hex')}` : null;
}

function amount(value: unknown): bigint {
  return BigInt(String(value));
}

function farePaid(row: MarketRow): bigint {
  return amount(row['fare_paid']);
}

/** The tables are those of a plain reading of the log. */
function expectPlain(tables: FoldedTables<ChainEvent>, log: readonly ChainEvent[]): void {
  const plain = plainMarket(log);
  expect(differences(withoutJournal(tables.texts()), textsOf(plain))).toEqual([]);
  expect(tables.rows('journal').map(({ height }) => Number(height))).toEqual(plain.journal_heights);
}

test('for any batches the tables of the devnet’s chain equal a plain fold', () => {
  fc.assert(
    fc.property(CHAINS, BATCHINGS, fc.nat({ max: 5 }), (options, sizes, back) => {
      const { log } = rideChain(options);
      const { tables } = project(rideMarket, log, sizes, back);
      expectPlain(tables, log);
      expect(digestOf(tables.texts())).toBe(digestOf(project(rideMarket, log, [1]).tables.texts()));
    }),
    { numRuns: 4 },
  );
});

test('redelivered and stray records do not change the tables', () => {
  fc.assert(
    fc.property(CHAINS, BATCHINGS, DISTURBANCES, (options, sizes, disturbances) => {
      const log = disturbed(rideChain(options).log, disturbances);
      const { tables } = project(rideMarket, log, sizes);
      expectPlain(tables, log);
    }),
    { numRuns: 4 },
  );
});

test('on a chain without rules, calls that name no open row have no effect', () => {
  fc.assert(
    fc.property(fc.nat(), BATCHINGS, (seed, sizes) => {
      const log = [
        ...chainEvents({ seed, blocks: 25, transactions_per_block: 20, reorg_probability: 0.3 }),
      ];
      const { tables } = project(rideMarket, log, sizes);
      expectPlain(tables, log);
      expect(tables.rows('offers')).toEqual([]);
    }),
    { numRuns: 3 },
  );
});

const long = rideChain(LONG);

test("open requests, offers and trips equal the chain's own state", () => {
  const { tables } = project(rideMarket, long.log, [9, 1, 4]);
  const { requests, offers, trips } = long.rows;
  const openRequests = tables.rows('open_requests');
  expect(
    new Map(
      openRequests.map((row) => [
        hex(row['hash']),
        [hex(row['passenger']), amount(row['fare']), hex(row['referrer'])],
      ]),
    ),
  ).toEqual(
    new Map(
      [...requests].map(([hash, { passenger, fare, referrer }]) => [
        hash,
        [passenger, fare, referrer],
      ]),
    ),
  );
  const open = new Set(openRequests.map((row) => hex(row['hash'])));
  const openOffers = tables.rows('offers').filter((row) => open.has(hex(row['request_hash'])));
  expect(
    new Map(
      openOffers.map((row) => [
        hex(row['hash']),
        [hex(row['request_hash']), hex(row['driver']), amount(row['fare']), hex(row['referrer'])],
      ]),
    ),
  ).toEqual(
    new Map(
      [...offers].map(([hash, { request_hash, driver, fare, referrer }]) => [
        hash,
        [request_hash, driver, fare, referrer],
      ]),
    ),
  );
  expect(
    new Map(
      tables
        .rows('active_trips')
        .map((row) => [
          hex(row['hash']),
          [
            hex(row['passenger']),
            hex(row['driver']),
            amount(row['fare']),
            amount(row['fare_paid']),
          ],
        ]),
    ),
  ).toEqual(
    new Map(
      [...trips].map(([hash, { passenger, driver, fare, paid }]) => [
        hash,
        [passenger, driver, fare, paid],
      ]),
    ),
  );
  expect([requests.size, offers.size, trips.size].every((size) => size > 0)).toBe(true);
});

test('the test chain covers every ride outcome', () => {
  const { tables } = project(rideMarket, long.log, [50]);
  expectPlain(tables, long.log);
  const ended = tables.rows('ended_trips');
  expect(ended.filter((row) => row['trip_status'] === 'completed').length).toBeGreaterThan(20);
  expect(
    ended.filter((row) => row['trip_status'] === 'cancelled' && farePaid(row) > 0n).length,
  ).toBeGreaterThan(0);
  expect(
    ended.filter((row) => row['trip_status'] === 'cancelled' && farePaid(row) === 0n).length,
  ).toBeGreaterThan(0);
  expect(tables.rows('active_trips').filter((row) => farePaid(row) > 0n).length).toBeGreaterThan(0);
  expect(
    tables.rows('closed_requests').filter((row) => row['offer_hash'] === null).length,
  ).toBeGreaterThan(0);
  const within = ended.filter((row) => row['height'] === row['ended_height']);
  expect(within.length).toBeGreaterThan(0);
  expect(long.log.filter(({ type }) => type === 'BlockReverted').length).toBeGreaterThan(30);
});

test('a completed trip is paid exactly its fare, every other one less', () => {
  const { tables } = project(rideMarket, long.log, [50]);
  const [active, ended] = [tables.rows('active_trips'), tables.rows('ended_trips')];
  for (const row of [...active, ...ended]) {
    const fare = amount(row['fare']);
    if (row['trip_status'] === 'completed') expect(farePaid(row)).toBe(fare);
    else expect(farePaid(row) < fare).toBe(true);
  }
});

test('after every batch the tables equal the log so far, also right after a reorganisation', () => {
  const { log } = rideChain({
    seed: 11,
    blocks: 60,
    transactions_per_block: 8,
    reorg_probability: 0.4,
    final_depth: 4,
  });
  const tables = new FoldedTables(rideMarket);
  for (const batch of batches(log, [1, 3, 2])) {
    tables.apply(batch);
    expectPlain(tables, log.slice(0, batch.end));
  }
});

test('applied records count as replayed, records at another offset as ignored', () => {
  const { log } = rideChain({
    seed: 3,
    blocks: 5,
    transactions_per_block: 3,
    reorg_probability: 0,
    final_depth: 9,
  });
  const tables = new FoldedTables(rideMarket);
  expect(tables.fold({ events: log })).toMatchObject({
    outcomes: { applied: log.length, replayed: 0, ignored: 0 },
  });
  const before = tables.texts();
  expect(tables.fold({ events: log })).toMatchObject({
    outcomes: { applied: 0, replayed: log.length, ignored: 0 },
    announced: [],
  });
  expect(tables.fold({ events: log, from: log.length })).toMatchObject({
    outcomes: { applied: 0, replayed: 0, ignored: log.length },
    announced: [],
  });
  expect(tables.texts()).toEqual(before);
});

test('an inconsistent log is broken and changes no row', () => {
  const log = rideChain({
    seed: 3,
    blocks: 5,
    transactions_per_block: 3,
    reorg_probability: 0,
    final_depth: 3,
  }).log;
  const [first] = log;
  if (first === undefined) throw new Error('the log is empty');
  specify(rideMarket)
    .given(log.slice(0, 3))
    .when([{ ...first, sequence: 3 }])
    .thenFolded({ broken: { at: 0 } });
});
