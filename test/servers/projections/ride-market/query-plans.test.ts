/** At 100,000 open requests: how Postgres goes about each question. */
import { readFileSync } from 'node:fs';
import { beforeAll, expect, inject, test } from 'vitest';
import type { Query } from '../../../../projections/contract/page.ts';
import {
  activeTrips,
  completedTrips,
  marketHead,
  offerByHash,
  recentTrips,
  requestByHash,
  rideOffers,
  rideByHash,
  rideRequests,
  tripByHash,
  type Parties,
} from '../../../../projections/ride-market/queries.ts';
import { rideMarket } from '../../../../projections/ride-market/ride-market.ts';
import { prepareDatabase } from '../../../../services/projector/tables/migrations.ts';
import { openReader, openWriter } from '../../../../services/runtime/postgres/pool.ts';
import { freshDatabase } from '../../../support/database.ts';
import { silentLog } from '../../../support/kafka.ts';
import { explained, PLAN_CACHES } from '../../../projections/explorer/explained.ts';
import { HANG_MS } from '../../../support/limits.ts';

const COUNT = 100_000;
/** of everything else */
const OTHERS = 20_000;
const LIMIT = 50;

/** Request n is in block n; every 500th has 120 offers; driver n % 50, passenger n % 20. */
const hash = (n: string): string => `sha256(int8send(${n}))`;
const person = (n: string): string => `substring(${hash(n)} FOR 20)`;
const ROUTE = `(-90 + (n * 104729 % 180000) / 1000.0)::text, (-180 + (n * 7919 % 360000) / 1000.0)::text, '0', '0'`;
const DRIVER = person('n % 50');
const PASSENGER = person('1000 + n % 20');
const TRIP = `${hash('n')}, ${hash('-n')}, ${hash('-1000000 - n')}, ${ROUTE}, 10, 5, ${DRIVER}, ${PASSENGER}, n, 0`;
const FILL = [
  `CREATE TEMPORARY TABLE n AS SELECT n::bigint FROM generate_series(0, ${COUNT - 1}) n`,
  "INSERT INTO head VALUES (true, 1, 1, '\\x00', 0, 1)",
  `INSERT INTO open_requests SELECT ${hash('n')}, ${PASSENGER}, ${ROUTE}, 10, NULL, n, 0 FROM n`,
  `INSERT INTO closed_requests SELECT ${hash('1000000 + n')}, ${PASSENGER}, ${ROUTE}, 10, NULL, n, 0, CASE WHEN n % 10 < 9 THEN ${hash('n')} END, n, 1, ${hash('4000000 + n')} FROM n WHERE n < ${OTHERS}`,
  `INSERT INTO offers SELECT ${hash('n * 1000 + m')}, ${hash('n')}, ${DRIVER}, 10, NULL, n + m, 0 FROM n, generate_series(1, 120) m WHERE n % 500 = 0`,
  `INSERT INTO active_trips SELECT ${TRIP} FROM n WHERE n < ${OTHERS}`,
  `INSERT INTO ended_trips SELECT ${TRIP}, CASE WHEN n < ${OTHERS / 2} THEN 'cancelled' ELSE 'completed' END, 1000000 + n, 0, ${hash('2000000 + n')} FROM n WHERE n < ${OTHERS}`,
  `INSERT INTO payments SELECT ${hash('3000000 + n')}, ${hash('n % 200')}, 5, n, 0 FROM n WHERE n < ${OTHERS}`,
  readFileSync(rideMarket.index_sql, 'utf8'),
  'ANALYZE',
];

let readerUrl: string;
/** By name, an address or a hash of the tables. */
let known: Readonly<
  Record<
    | 'driver'
    | 'passenger'
    | 'open'
    | 'closed'
    | 'offer'
    | 'trip'
    | 'payment'
    | 'cancellation'
    | 'withdrawal',
    Buffer
  >
>;

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  readerUrl = urls.reader_url;
  await prepareDatabase(urls.writer_url, rideMarket);
  const pool = openWriter(
    { postgres_url: urls.writer_url, application_name: 'test', schema: rideMarket.name },
    silentLog(),
  );
  const client = await pool.connect();
  for (const statement of FILL) await client.query(statement);
  const { rows } = await client.query<typeof known>(
    `SELECT ${person('7::bigint')} AS driver, ${person('1007::bigint')} AS passenger, ${hash('500::bigint')} AS open,
            ${hash('1000500::bigint')} AS closed, ${hash('500003::bigint')} AS offer, ${hash('77::bigint')} AS trip,
            ${hash('3000077::bigint')} AS payment, ${hash('2000077::bigint')} AS cancellation, ${hash('4000079::bigint')} AS withdrawal`,
  );
  client.release();
  await pool.end();
  if (rows[0] === undefined) throw new Error('nothing is known');
  known = rows[0];
});

interface Expected {
  readonly query: Query;
  /** rows read at most */
  readonly most: number;
  readonly sorted?: boolean;
  /** rows found by their key and left out at most */
  readonly discarded?: number;
}

function partiesOf(): Readonly<Record<string, Parties>> {
  const { driver, passenger } = known;
  return {
    everybody: { driver: undefined, passenger: undefined },
    'a driver': { driver, passenger: undefined },
    'a passenger': { driver: undefined, passenger },
    both: { driver, passenger },
  };
}

/** With its steps, of which an ended ride has no cancellation. */
function rideOf(txHash: Buffer): Expected {
  return { query: rideByHash(txHash, LIMIT), most: 2 * LIMIT + 10, sorted: true, discarded: 1 };
}

function questions(): Readonly<Record<string, Expected>> {
  const trips = Object.entries(partiesOf()).flatMap(([whose, parties]): [string, Expected][] => [
    [`active trips of ${whose}`, { query: activeTrips(parties, LIMIT), most: LIMIT }],
    [`completed trips of ${whose}`, { query: completedTrips(parties, LIMIT), most: LIMIT }],
    [
      `recent trips of ${whose}`,
      { query: recentTrips(parties, LIMIT), most: 2 * LIMIT, sorted: true },
    ],
  ]);
  return {
    'the newest requests': { query: rideRequests(undefined, LIMIT), most: LIMIT },
    'offers of a request': { query: rideOffers(known.open, LIMIT), most: LIMIT + 1 },
    'offers of a closed request': { query: rideOffers(known.closed, LIMIT), most: 0 },
    'an open request': { query: requestByHash(known.open), most: 1 },
    'a closed request': { query: requestByHash(known.closed), most: 1 },
    'an offer': { query: offerByHash(known.offer), most: 2 },
    'a trip': { query: tripByHash(known.trip), most: 2 },
    // hashes of the filled tables repeat
    'an open ride': rideOf(known.open),
    'a closed ride': rideOf(known.closed),
    'a ride by its offer': rideOf(known.offer),
    'a ride by a payment': rideOf(known.payment),
    'a ride by its cancellation': rideOf(known.cancellation),
    'a ride by the withdrawal of its request': rideOf(known.withdrawal),
    ...Object.fromEntries(trips),
  };
}

test('each query reads an index range no longer than its result and discards no row', async () => {
  for (const [what, { query, most, sorted = false, discarded = 0 }] of Object.entries(
    questions(),
  )) {
    for (const planCache of PLAN_CACHES) {
      const { scans, removed, nodes } = await explained(readerUrl, query, planCache);
      const others = scans.filter(({ how }) => !how.startsWith('Index'));
      expect({ what, planCache, others, removed: Math.max(0, removed - discarded) }).toEqual({
        what,
        planCache,
        others: [],
        removed: 0,
      });
      if (!sorted)
        expect({ what, sorted: nodes.includes('Sort') }).toEqual({ what, sorted: false });
      const read = scans.reduce((sum, { rows }) => sum + rows, 0);
      expect(read, what).toBeLessThanOrEqual(most);
      if (most > 0) expect(read, what).toBeGreaterThan(0);
    }
  }
});

const VIEWPORTS = {
  'a city': rideRequests({ min_lat: 52, max_lat: 53, min_lng: 13, max_lng: 14 }, 1_000),
  'a country': rideRequests({ min_lat: 47, max_lat: 55, min_lng: 6, max_lng: 15 }, 1_000),
  'islands across the antimeridian': rideRequests(
    { min_lat: -20, max_lat: -15, min_lng: 176, max_lng: -178 },
    1_000,
  ),
  'the antimeridian from the west': rideRequests(
    { min_lat: -20, max_lat: -15, min_lng: 176, max_lng: 180 },
    1_000,
  ),
} as const;

test('the spatial index reads exactly the requests within bounds', async () => {
  for (const [what, query] of Object.entries(VIEWPORTS)) {
    for (const planCache of PLAN_CACHES) {
      const { scans, removed, nodes } = await explained(readerUrl, query, planCache);
      expect({ what, planCache, removed, whole: nodes.includes('Seq Scan') }).toEqual({
        what,
        planCache,
        removed: 0,
        whole: false,
      });
      const read = scans
        .filter(({ table }) => table === 'open_requests')
        .reduce((sum, { rows }) => sum + rows, 0);
      expect(read, what).toBeGreaterThan(0);
      expect(read, what).toBeLessThan(COUNT / 100);
    }
  }
});

test('a dense viewport is answered by a scan from the newest request', async () => {
  const viewports = [
    { min_lat: -90, max_lat: 90, min_lng: -180, max_lng: 180 },
    { min_lat: -90, max_lat: 90, min_lng: 10, max_lng: -10 },
  ];
  for (const planCache of PLAN_CACHES) {
    for (const viewport of viewports) {
      const { scans, nodes } = await explained(readerUrl, rideRequests(viewport, LIMIT), planCache);
      const others = scans.filter(
        ({ how, table }) => table === 'open_requests' && how !== 'Index Scan',
      );
      expect({
        planCache,
        others,
        parallel: nodes.filter((how) => how.startsWith('Gather')),
      }).toEqual({
        planCache,
        others: [],
        parallel: [],
      });
      const read = scans.reduce((sum, { rows }) => sum + rows, 0);
      expect(read).toBeLessThanOrEqual(5_000 + 2 * LIMIT);
      expect(read).toBeGreaterThan(LIMIT);
    }
  }
});

test('both plans return the newest requests of a viewport', async () => {
  const settings = {
    postgres_reader_url: readerUrl,
    statement_timeout_ms: HANG_MS,
    connections_max: 1,
  };
  const reader = openReader(settings, 'test', silentLog());
  try {
    // some 47,000, 5,100, 4,900 and 4,900 of them
    for (const [max_lat, min_lng, max_lng] of [
      [90, 10, -10],
      [9.8, 10, -10],
      [9.4, 10, -10],
      [8.9, -180, 180],
    ] as const) {
      const isInside =
        min_lng <= max_lng
          ? `lng BETWEEN ${min_lng} AND ${max_lng}`
          : `(lng >= ${min_lng} OR lng <= ${max_lng})`;
      const plain = await reader.rows({
        name: `plain_${max_lat}`,
        text: `SELECT hash FROM (SELECT hash, height, pickup_lat::numeric AS lat, pickup_lng::numeric AS lng FROM ride_market.open_requests) r
                WHERE lat BETWEEN 0 AND ${max_lat} AND ${isInside} ORDER BY height DESC LIMIT 300`,
        values: [],
      });
      const rows = await reader.rows(rideRequests({ min_lat: 0, max_lat, min_lng, max_lng }, 300));
      expect(rows.map(([found]) => found)).toEqual(plain.map(([found]) => found));
      expect(rows.length).toBe(300);
    }
  } finally {
    await reader.close();
  }
});

test('a statement name belongs to one text', () => {
  const queries = [
    ...Object.values(questions()).map(({ query }) => query),
    ...Object.values(VIEWPORTS),
    marketHead(),
  ];
  const texts = new Map<string, string>();
  for (const { name, text } of queries) {
    expect(texts.get(name) ?? text).toBe(text);
    texts.set(name, text);
  }
  expect(new Set(texts.values()).size).toBe(texts.size);
});
