/** Open requests within a viewport, compared with a plain filter for every viewport. */
import { beforeAll, expect, inject, test } from 'vitest';
import { rideRequests, type Bounds } from '../../../../projections/ride-market/queries.ts';
import { rideMarket } from '../../../../projections/ride-market/ride-market.ts';
import { openReader, type ReaderPool } from '../../../../services/runtime/postgres/pool.ts';
import { ChainByHand, named } from '../../../support/chain-by-hand.ts';
import { freshDatabase } from '../../../support/database.ts';
import { silentLog } from '../../../support/kafka.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { HANG_MS } from '../../../support/limits.ts';

const LATITUDES = ['-90', '-0.0000001', '0', '52.520000000000003', '90'];
const LONGITUDES = ['-180', '-179.9999999', '-10', '0.1', '13.405', '179.9999999', '180'];
const PICKUPS = LATITUDES.flatMap((lat) => LONGITUDES.map((lng) => ({ lat, lng })));

let reader: ReaderPool;

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  const pool = await openTables(urls.writer_url, rideMarket);
  const chain = new ChainByHand();
  chain.append({
    transactions: PICKUPS.map(({ lat, lng }) => ({
      from: named('alice'),
      to: Buffer.alloc(20),
      function_call_type: 'RideRequest',
      arguments: {
        pickup_lat: lat,
        pickup_lng: lng,
        dropoff_lat: '0',
        dropoff_lng: '0',
        fare: '1',
        referrer: null,
      },
    })),
  });
  await applyStretch(pool, rideMarket, {
    topic: 'chain.blocks',
    partition: 0,
    from: 0,
    events: chain.log,
  });
  await pool.end();
  const settings = {
    postgres_reader_url: urls.reader_url,
    statement_timeout_ms: HANG_MS,
    connections_max: 1,
  };
  reader = openReader(settings, 'test', silentLog());
  return () => reader.close();
});

async function found(bounds: Bounds): Promise<readonly string[]> {
  const rows = await reader.rows(rideRequests(bounds, 1_000));
  return rows.map(([, lat, lng]) => `${lat} ${lng}`);
}

/** The one meridian has two names. */
function namesOf(longitude: number): readonly number[] {
  return Math.abs(longitude) === 180 ? [-180, 180] : [longitude];
}

function isWithin(
  { lat, lng }: (typeof PICKUPS)[number],
  { min_lat, max_lat, min_lng, max_lng }: Bounds,
): boolean {
  if (Number(lat) < min_lat || Number(lat) > max_lat) return false;
  return namesOf(Number(lng)).some((at) =>
    min_lng <= max_lng ? at >= min_lng && at <= max_lng : at >= min_lng || at <= max_lng,
  );
}

const EDGES = LONGITUDES.map(Number);

test('every viewport, also across the antimeridian, returns the pickups within its inclusive bounds once', async () => {
  let across = 0;
  for (const min_lng of EDGES) {
    for (const max_lng of EDGES) {
      for (const [min_lat, max_lat] of [
        [-90, 90],
        [-0.0000001, 0],
        [52.52, 52.521],
      ] as const) {
        const bounds = { min_lat, max_lat, min_lng, max_lng };
        const wanted = PICKUPS.filter((pickup) => isWithin(pickup, bounds)).map(
          ({ lat, lng }) => `${lat} ${lng}`,
        );
        expect([bounds, await found(bounds)]).toEqual([bounds, wanted.toReversed()]);
        if (min_lng > max_lng && wanted.length > 0) across++;
      }
    }
  }
  expect(across).toBeGreaterThan(30);
});

test('a viewport that misses a pickup by one float step excludes it', async () => {
  const below = 13.405 - 2 ** -49;
  expect(Number('13.405')).toBeGreaterThan(below);
  expect(await found({ min_lat: 0, max_lat: 0, min_lng: 13, max_lng: 13.405 })).toEqual([
    '0 13.405',
  ]);
  expect(await found({ min_lat: 0, max_lat: 0, min_lng: 13, max_lng: below })).toEqual([]);
});
