/** The ride market's tables in Postgres: what the fold writes there, and what the queries find. */
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  activeTrips,
  completedTrips,
  marketHead,
  offerByHash,
  recentTrips,
  requestByHash,
  rideOffers,
  rideRequests,
  tripByHash,
  type Parties,
} from '../../../../projections/ride-market/queries.ts';
import { rideMarket } from '../../../../projections/ride-market/ride-market.ts';
import { openReader, type ReaderPool } from '../../../../services/runtime/postgres/pool.ts';
import { freshDatabase } from '../../../support/database.ts';
import { silentLog } from '../../../support/kafka.ts';
import { differences, readTables } from '../../../support/plain-fold.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { batches } from '../../../projections/explorer/batches.ts';
import {
  plainMarket,
  textsOf,
  withoutJournal,
  type PlainRow,
} from '../../../projections/ride-market/plain-market.ts';
import { rideChain } from '../../../projections/ride-market/ride-chain.ts';
import { HANG_MS } from '../../../support/limits.ts';

const { log } = rideChain({
  seed: 5,
  blocks: 100,
  transactions_per_block: 12,
  reorg_probability: 0.15,
  final_depth: 6,
});
const plain = plainMarket(log);
const NOBODY = Buffer.alloc(20, 0xee);
const UNKNOWN = Buffer.alloc(32, 0xee);

let pool: Pool;
let reader: ReaderPool;

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  pool = await openTables(urls.writer_url, rideMarket);
  for (const { from, events } of batches(log, [1, 4, 20, 2])) {
    await applyStretch(pool, rideMarket, { topic: 'chain.blocks', partition: 0, from, events });
  }
  const settings = {
    postgres_reader_url: urls.reader_url,
    statement_timeout_ms: HANG_MS,
    connections_max: 2,
  };
  reader = openReader(settings, 'test', silentLog());
});
afterAll(async () => {
  await reader.close();
  await pool.end();
});

/** As Postgres writes it. */
function cell(value: PlainRow[string] | undefined): string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
}

function cells(row: PlainRow, columns: readonly string[]): (string | null)[] {
  return columns.map((column) => cell(row[column]));
}

function newestFirst(
  rows: readonly PlainRow[],
  height = 'height',
  index = 'tx_index',
): readonly PlainRow[] {
  return rows.toSorted(
    (one, other) =>
      Number(other[height]) - Number(one[height]) || Number(other[index]) - Number(one[index]),
  );
}

function bytesIn(row: PlainRow | undefined, column: string): Buffer {
  const value = row?.[column];
  if (!Buffer.isBuffer(value)) throw new Error(`there is no ${column}`);
  return value;
}

const REQUEST = [
  'hash',
  'pickup_lat',
  'pickup_lng',
  'dropoff_lat',
  'dropoff_lng',
  'fare',
  'passenger',
  'referrer',
];
const OFFER = ['hash', 'request_hash', 'fare', 'driver', 'referrer'];
const ROUTE = ['pickup_lat', 'pickup_lng', 'dropoff_lat', 'dropoff_lng'];
const TRIP = [
  'hash',
  'offer_hash',
  'request_hash',
  ...ROUTE,
  'fare',
  'fare_paid',
  'driver',
  'passenger',
];

test('after random batches the tables equal a plain fold, and the journal holds the unfinalized blocks', async () => {
  expect(plain.ended_trips.length).toBeGreaterThan(50);
  const tables = await readTables(pool, 'ride_market');
  expect(differences(withoutJournal(tables), textsOf(plain))).toEqual([]);
  const { rows } = await pool.query<{ height: string }>(
    'SELECT height FROM journal ORDER BY height',
  );
  expect(rows.map(({ height }) => Number(height))).toEqual(plain.journal_heights);
  expect(rows.length).toBeGreaterThan(2);
  expect(await reader.rows(marketHead())).toEqual([
    [
      ...cells(plain.head ?? {}, ['sequence', 'height', 'hash', 'finalized_height']),
      expect.stringMatching(/^\d{4}-/),
    ],
  ]);
});

test('open requests are listed newest first, up to the limit', async () => {
  const all = newestFirst(plain.open_requests).map((row) => cells(row, REQUEST));
  expect(all.length).toBeGreaterThan(5);
  expect(await reader.rows(rideRequests(undefined, 1_000))).toEqual(all);
  expect(await reader.rows(rideRequests(undefined, 3))).toEqual(all.slice(0, 3));
});

test('offers are listed newest first, for an open request only', async () => {
  let listed = 0;
  for (const request of plain.open_requests) {
    const hash = bytesIn(request, 'hash');
    const offers = newestFirst(
      plain.offers.filter((offer) => bytesIn(offer, 'request_hash').equals(hash)),
    );
    expect(await reader.rows(rideOffers(hash, 100))).toEqual(
      offers.map((row) => cells(row, OFFER)),
    );
    if (offers.length > 1)
      expect(await reader.rows(rideOffers(hash, 1))).toEqual([cells(offers[0] ?? {}, OFFER)]);
    listed += offers.length;
  }
  expect(listed).toBeGreaterThan(5);
  const closed = plain.closed_requests.find(({ hash }) =>
    plain.offers.some((offer) => cell(offer['request_hash']) === cell(hash)),
  );
  expect(await reader.rows(rideOffers(bytesIn(closed, 'hash'), 100))).toEqual([]);
  expect(await reader.rows(rideOffers(UNKNOWN, 100))).toEqual([]);
});

/** All of them would take their time; the last ones are those that are open. */
function some(rows: readonly PlainRow[]): readonly PlainRow[] {
  return rows.filter((_, at) => at % 5 === 0 || at >= rows.length - 40);
}

/** Everybody who has a trip, alone and together. */
function partiesOf(rows: readonly PlainRow[]): readonly Parties[] {
  const parties = new Map<string, Parties>();
  for (const row of rows) {
    const [driver, passenger] = [bytesIn(row, 'driver'), bytesIn(row, 'passenger')];
    parties.set(`d ${driver.toString('hex')}`, { driver, passenger: undefined });
    parties.set(`p ${passenger.toString('hex')}`, { driver: undefined, passenger });
    parties.set(`${driver.toString('hex')} ${passenger.toString('hex')}`, { driver, passenger });
  }
  return [
    { driver: undefined, passenger: undefined },
    { driver: NOBODY, passenger: undefined },
    ...parties.values(),
  ];
}

function isOf(row: PlainRow, { driver, passenger }: Parties): boolean {
  const isDriver = driver === undefined || driver.equals(bytesIn(row, 'driver'));
  return isDriver && (passenger === undefined || passenger.equals(bytesIn(row, 'passenger')));
}

test('active trips of the given parties are listed newest first', async () => {
  for (const parties of partiesOf(plain.active_trips)) {
    const wanted = newestFirst(plain.active_trips.filter((row) => isOf(row, parties))).map((row) =>
      cells(row, TRIP),
    );
    expect(await reader.rows(activeTrips(parties, 200))).toEqual(wanted);
    expect(await reader.rows(activeTrips(parties, 1))).toEqual(wanted.slice(0, 1));
  }
});

test('completed and recent trips of the given parties are listed by their end, newest first', async () => {
  const trips = newestFirst(plain.ended_trips, 'ended_height', 'ended_index');
  for (const parties of partiesOf(trips).slice(0, 30)) {
    const theirs = trips.filter((row) => isOf(row, parties));
    const completed = theirs
      .filter((row) => row['trip_status'] === 'completed')
      .map((row) => cells(row, TRIP));
    const recent = theirs.map((row) => cells(row, [...TRIP, 'trip_status']));
    for (const limit of [3, 200]) {
      expect(await reader.rows(completedTrips(parties, limit))).toEqual(completed.slice(0, limit));
      expect(await reader.rows(recentTrips(parties, limit))).toEqual(recent.slice(0, limit));
    }
  }
  expect(trips.some((row) => row['trip_status'] === 'cancelled')).toBe(true);
});

function requestStatus(row: PlainRow): string {
  if (row['offer_hash'] === undefined) return 'open';
  return row['offer_hash'] === null ? 'cancelled' : 'accepted';
}

test('a request is open, accepted or cancelled and names its passenger', async () => {
  const statuses = new Set<string>();
  for (const row of some([...plain.open_requests, ...plain.closed_requests])) {
    statuses.add(requestStatus(row));
    expect(await reader.rows(requestByHash(bytesIn(row, 'hash')))).toEqual([
      [requestStatus(row), ...cells(row, ['passenger', 'fare'])],
    ]);
  }
  expect(statuses.size).toBe(3);
  expect(await reader.rows(requestByHash(UNKNOWN))).toEqual([]);
});

test('an offer is open with its request, then the accepted one or lapsed', async () => {
  const open = new Map(plain.open_requests.map((row) => [cell(row['hash']), row]));
  const closed = new Map(plain.closed_requests.map((row) => [cell(row['hash']), row]));
  const statuses = new Set<string>();
  for (const offer of some(plain.offers)) {
    const request =
      open.get(cell(offer['request_hash'])) ?? closed.get(cell(offer['request_hash'])) ?? {};
    const accepted = cell(request['offer_hash']) === cell(offer['hash']);
    const status = open.has(cell(offer['request_hash']))
      ? 'open'
      : accepted
        ? 'accepted'
        : 'lapsed';
    statuses.add(status);
    const wanted = [
      status,
      ...cells(offer, ['driver', 'fare', 'request_hash']),
      cell(request['passenger']),
    ];
    expect(await reader.rows(offerByHash(bytesIn(offer, 'hash')))).toEqual([wanted]);
  }
  expect(statuses.size).toBe(3);
  expect(await reader.rows(offerByHash(UNKNOWN))).toEqual([]);
});

test('a trip is active, completed or cancelled', async () => {
  for (const row of some([...plain.active_trips, ...plain.ended_trips])) {
    const wanted = [
      cell(row['trip_status']) ?? 'active',
      ...cells(row, ['driver', 'passenger', 'fare', 'fare_paid']),
    ];
    expect(await reader.rows(tripByHash(bytesIn(row, 'hash')))).toEqual([wanted]);
  }
  expect(await reader.rows(tripByHash(UNKNOWN))).toEqual([]);
});
