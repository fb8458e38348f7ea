/**
 * The ride market's queries, one statement each. Lists are newest first and read no more rows than
 * they return, except requests within bounds. Hashes and addresses are bytea, amounts numeric (CLT
 * base units), coordinates text: decimal degrees as signed. `change-keys.ts` lists the
 * notifications that announce a changed list.
 */
import type { Query } from '../contract/page.ts';

/**
 * One row, or none before the first block. Columns: sequence (rises with every chain event),
 * height, hash, finalized_height, created_at of these tables. Together they are the read version of
 * every query here, also when a rebuild swaps the tables.
 */
export function marketHead(): Query {
  return {
    name: 'ride_market_head',
    text: `SELECT h.sequence, h.height, h.hash, h.finalized_height, p.created_at FROM ride_market.head h
             LEFT JOIN projector.projections p ON p.projection = 'ride_market' WHERE h.one`,
    values: [],
  };
}

/** Degrees, inclusive. min_lat <= max_lat; min_lng > max_lng crosses the antimeridian. */
export interface Bounds {
  readonly min_lat: number;
  readonly max_lat: number;
  readonly min_lng: number;
  readonly max_lng: number;
}

const REQUEST_COLUMNS =
  'r.hash, r.pickup_lat, r.pickup_lng, r.dropoff_lat, r.dropoff_lng, r.fare, r.passenger, r.referrer';
const NEWEST_REQUESTS = 'ORDER BY r.height DESC, r.tx_index DESC LIMIT $1::bigint';

/**
 * Columns: hash, pickup_lat, pickup_lng, dropoff_lat, dropoff_lng, fare, passenger, referrer (or
 * null). The newest `limit` open requests; with bounds, those whose pickup is within them.
 * Change key: requests.
 */
export function rideRequests(bounds: Bounds | undefined, limit: number): Query {
  if (bounds === undefined) {
    return {
      name: 'ride_market_requests',
      text: `SELECT ${REQUEST_COLUMNS} FROM ride_market.open_requests r ${NEWEST_REQUESTS}`,
      values: [limit],
    };
  }
  const boxes = boundingBoxes(bounds);
  const each = boxes.map((_, at) => 2 + 4 * at);
  return {
    name: boxes.length === 1 ? 'ride_market_requests_within' : 'ride_market_requests_within_two',
    text: `WITH inside AS MATERIALIZED (SELECT * FROM (${each.map(indexedRows).join(' UNION ALL ')}) b LIMIT ${DENSE_FROM})
           SELECT ${REQUEST_COLUMNS} FROM
             (SELECT * FROM inside WHERE (SELECT count(*) FROM inside) < ${DENSE_FROM}
              UNION ALL
              (SELECT * FROM ride_market.open_requests r
                WHERE (SELECT count(*) FROM inside) = ${DENSE_FROM} AND (${each.map(isInBox).join(' OR ')}) ${NEWEST_REQUESTS})) r
            ${NEWEST_REQUESTS}`,
    values: [limit, ...boxes.flat()],
  };
}

/**
 * Below this number of requests within bounds, the spatial index finds all of them, and they are
 * sorted. From it on, a scan from the newest request stops at the limit: of a hundred thousand
 * requests in one city, the newest thousand are found soon.
 */
const DENSE_FROM = 5_000;

/** Rows with a pickup in the box, by the spatial index; from $`at`: west, south, east, north. */
function indexedRows(at: number): string {
  return `SELECT * FROM ride_market.open_requests WHERE ${PICKUP} <@ ${box(at)}`;
}

/** A pickup in the box, for the scan. The function, unlike the operator, never uses the index. */
function isInBox(at: number): string {
  return `box_contain_pt(${box(at)}, ${PICKUP})`;
}

const PICKUP = 'point(pickup_lng::float8, pickup_lat::float8)';

function box(at: number): string {
  return `box(point($${at}::float8, $${at + 1}::float8), point($${at + 2}::float8, $${at + 3}::float8))`;
}

type Box = readonly [west: number, south: number, east: number, north: number];

/** One box, or two disjoint ones. 180 and -180 are the same meridian; a pickup may name either. */
function boundingBoxes({
  min_lat: minLat,
  max_lat: maxLat,
  min_lng: minLng,
  max_lng: maxLng,
}: Bounds): readonly Box[] {
  const whole: Box = [minLng, minLat, maxLng, maxLat];
  if (minLng > maxLng) {
    return [
      [minLng, minLat, 180, maxLat],
      [-180, minLat, maxLng, maxLat],
    ];
  }
  if (maxLng === 180 && minLng > -180) return [whole, [-180, minLat, -180, maxLat]];
  if (minLng === -180 && maxLng < 180) return [whole, [180, minLat, 180, maxLat]];
  return [whole];
}

/**
 * Columns: hash, request_hash, fare, driver, referrer (or null). The newest `limit` offers for a
 * request; none unless it is open. Change key: offers:<request hash>.
 */
export function rideOffers(requestHash: Buffer, limit: number): Query {
  return {
    name: 'ride_market_offers',
    text: `SELECT o.hash, o.request_hash, o.fare, o.driver, o.referrer FROM ride_market.offers o
            WHERE o.request_hash = $2::bytea AND EXISTS (SELECT 1 FROM ride_market.open_requests WHERE hash = $2::bytea)
            ORDER BY o.height DESC, o.tx_index DESC LIMIT $1::bigint`,
    values: [limit, requestHash],
  };
}

/** A filter on trips; undefined matches every trip. */
export interface Parties {
  readonly driver: Buffer | undefined;
  readonly passenger: Buffer | undefined;
}

const TRIP_COLUMNS =
  't.hash, t.offer_hash, t.request_hash, t.pickup_lat, t.pickup_lng, t.dropoff_lat, t.dropoff_lng, t.fare, t.fare_paid, t.driver, t.passenger';

/**
 * Columns: hash, offer_hash, request_hash, pickup_lat, pickup_lng, dropoff_lat, dropoff_lng, fare,
 * fare_paid, driver, passenger. The `limit` trips accepted last that are neither fully paid nor
 * cancelled. Change key: trips.
 */
export function activeTrips(parties: Parties, limit: number): Query {
  const { name, where, values } = partyFilter(parties);
  return {
    name: `ride_market_active${name}`,
    text: `SELECT ${TRIP_COLUMNS} FROM ride_market.active_trips t ${where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`}
            ORDER BY t.height DESC, t.tx_index DESC LIMIT $1::bigint`,
    values: [limit, ...values],
  };
}

/** Columns of `activeTrips`. The `limit` trips fully paid last. Change key: ended_trips. */
export function completedTrips(parties: Parties, limit: number): Query {
  const { name, where, values } = partyFilter(parties);
  return {
    name: `ride_market_completed${name}`,
    text: `SELECT ${TRIP_COLUMNS} FROM (${ended('completed', where)}) t`,
    values: [limit, ...values],
  };
}

/** Columns of `activeTrips`, then trip_status. The `limit` trips ended last. Key: ended_trips. */
export function recentTrips(parties: Parties, limit: number): Query {
  const { name, where, values } = partyFilter(parties);
  return {
    name: `ride_market_recent${name}`,
    text: `SELECT ${TRIP_COLUMNS}, t.trip_status FROM ((${ended('completed', where)}) UNION ALL (${ended('cancelled', where)})) t
            ORDER BY t.ended_height DESC, t.ended_index DESC LIMIT $1::bigint`,
    values: [limit, ...values],
  };
}

function ended(status: 'completed' | 'cancelled', where: readonly string[]): string {
  return `SELECT * FROM ride_market.ended_trips t WHERE ${[...where, `t.trip_status = '${status}'`].join(' AND ')}
           ORDER BY t.ended_height DESC, t.ended_index DESC LIMIT $1::bigint`;
}

interface PartyFilter {
  /** suffix of the query's name */
  readonly name: string;
  readonly where: readonly string[];
  /** bound from $2 on */
  readonly values: readonly Buffer[];
}

function partyFilter({ driver, passenger }: Parties): PartyFilter {
  if (driver === undefined) {
    return passenger === undefined
      ? { name: '', where: [], values: [] }
      : { name: '_passenger', where: ['t.passenger = $2::bytea'], values: [passenger] };
  }
  if (passenger === undefined)
    return { name: '_driver', where: ['t.driver = $2::bytea'], values: [driver] };
  return {
    name: '_parties',
    where: ['t.driver = $2::bytea', 't.passenger = $3::bytea'],
    values: [driver, passenger],
  };
}

/** One row, or none. Columns: status (open, accepted, cancelled), passenger, fare. */
export function requestByHash(hash: Buffer): Query {
  return {
    name: 'ride_market_request',
    text: `SELECT 'open' AS status, passenger, fare FROM ride_market.open_requests WHERE hash = $1::bytea
           UNION ALL
           SELECT CASE WHEN offer_hash IS NULL THEN 'cancelled' ELSE 'accepted' END, passenger, fare FROM ride_market.closed_requests WHERE hash = $1::bytea`,
    values: [hash],
  };
}

/**
 * One row, or none. Columns: status (open; accepted; lapsed: its request was cancelled, or accepted
 * with another offer), driver, fare, request_hash, passenger (of the request, who may accept it).
 */
export function offerByHash(hash: Buffer): Query {
  return {
    name: 'ride_market_offer',
    text: `SELECT r.status, o.driver, o.fare, o.request_hash, r.passenger FROM
             (SELECT hash, driver, fare, request_hash FROM ride_market.offers WHERE hash = $1::bytea) o
             CROSS JOIN LATERAL
               (SELECT 'open' AS status, passenger FROM ride_market.open_requests WHERE hash = o.request_hash
                UNION ALL
                SELECT CASE WHEN offer_hash = o.hash THEN 'accepted' ELSE 'lapsed' END, passenger FROM ride_market.closed_requests WHERE hash = o.request_hash) r`,
    values: [hash],
  };
}

/**
 * One row, or none. `hash` is the acceptance's. Columns: status (active, completed, cancelled),
 * driver, passenger, fare, fare_paid.
 */
export function tripByHash(hash: Buffer): Query {
  return {
    name: 'ride_market_trip',
    text: `SELECT 'active' AS status, driver, passenger, fare, fare_paid FROM ride_market.active_trips WHERE hash = $1::bytea
           UNION ALL
           SELECT trip_status, driver, passenger, fare, fare_paid FROM ride_market.ended_trips WHERE hash = $1::bytea`,
    values: [hash],
  };
}

const ROUTE_COLUMNS = 'pickup_lat, pickup_lng, dropoff_lat, dropoff_lng';

/**
 * The ride that a transaction is a step of: a row for each of its steps in the order of the
 * chain, of offers and payments the first `limit` each; no row without a ride. One statement, so
 * that ride and steps are of one moment. Columns of the ride, the same in each row: status (open,
 * withdrawn, active, completed, cancelled), request hash, hash of the acceptance (or null),
 * pickup_lat, pickup_lng, dropoff_lat, dropoff_lng, fare (of the accepted offer, else of the
 * request), fare_paid, passenger, driver (or null). Then those of the step: step (requested,
 * offered, accepted, paid, cancelled), hash of its transaction, height, amount (asked for, offered,
 * agreed, paid; null for a cancellation). Change keys: requests, offers:<..>, trips.
 */
export function rideByHash(hash: Buffer, limit: number): Query {
  return {
    name: 'ride_market_ride',
    text: `WITH ride AS
             (SELECT coalesce(t.status, r.status) AS status, r.hash AS request, t.hash AS trip, ${ROUTE_COLUMNS},
                     coalesce(t.fare, r.fare) AS fare, coalesce(t.fare_paid, 0) AS fare_paid, r.passenger, t.driver FROM
                (SELECT $1::bytea AS request
                 UNION ALL SELECT request_hash FROM ride_market.offers WHERE hash = $1::bytea
                 UNION ALL SELECT request_hash FROM ride_market.active_trips WHERE hash = $1::bytea
                 UNION ALL SELECT request_hash FROM ride_market.ended_trips WHERE hash = $1::bytea
                 UNION ALL SELECT hash FROM ride_market.closed_requests WHERE closed_hash = $1::bytea AND offer_hash IS NULL
                 UNION ALL SELECT request_hash FROM ride_market.ended_trips WHERE ended_hash = $1::bytea AND trip_status = 'cancelled'
                 UNION ALL SELECT t.request_hash FROM
                   (SELECT trip_hash FROM ride_market.payments WHERE hash = $1::bytea) p
                   CROSS JOIN LATERAL
                     (SELECT request_hash FROM ride_market.active_trips WHERE hash = p.trip_hash
                      UNION ALL SELECT request_hash FROM ride_market.ended_trips WHERE hash = p.trip_hash) t) f
                CROSS JOIN LATERAL
                  (SELECT 'open' AS status, hash, ${ROUTE_COLUMNS}, fare, passenger, NULL::bytea AS trip_hash
                     FROM ride_market.open_requests WHERE hash = f.request
                   UNION ALL
                   SELECT 'withdrawn', hash, ${ROUTE_COLUMNS}, fare, passenger, CASE WHEN offer_hash IS NOT NULL THEN closed_hash END
                     FROM ride_market.closed_requests WHERE hash = f.request) r
                LEFT JOIN LATERAL
                  (SELECT 'active' AS status, hash, fare, fare_paid, driver FROM ride_market.active_trips WHERE hash = r.trip_hash
                   UNION ALL
                   SELECT trip_status, hash, fare, fare_paid, driver FROM ride_market.ended_trips WHERE hash = r.trip_hash) t ON true
              LIMIT 1)
           SELECT ride.*, s.step, s.hash, s.height, s.amount FROM ride CROSS JOIN LATERAL
             (SELECT 'requested' AS step, hash, height, tx_index, fare AS amount FROM ride_market.open_requests WHERE hash = ride.request
              UNION ALL
              SELECT 'requested', hash, height, tx_index, fare FROM ride_market.closed_requests WHERE hash = ride.request
              UNION ALL
              SELECT 'cancelled', closed_hash, closed_height, closed_index, NULL FROM ride_market.closed_requests
               WHERE hash = ride.request AND offer_hash IS NULL
              UNION ALL
              (SELECT 'offered', hash, height, tx_index, fare FROM ride_market.offers
                WHERE request_hash = ride.request ORDER BY height, tx_index LIMIT $2::bigint)
              UNION ALL
              SELECT 'accepted', hash, height, tx_index, fare FROM ride_market.active_trips WHERE hash = ride.trip
              UNION ALL
              SELECT 'accepted', hash, height, tx_index, fare FROM ride_market.ended_trips WHERE hash = ride.trip
              UNION ALL
              (SELECT 'paid', hash, height, tx_index, amount FROM ride_market.payments
                WHERE trip_hash = ride.trip ORDER BY height, tx_index LIMIT $2::bigint)
              UNION ALL
              SELECT 'cancelled', ended_hash, ended_height, ended_index, NULL FROM ride_market.ended_trips
               WHERE hash = ride.trip AND trip_status = 'cancelled') s
            ORDER BY s.height, s.tx_index`,
    values: [hash, limit],
  };
}
