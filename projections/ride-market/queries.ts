/**
 * What can be asked of the ride market. Each list is newest first and reads no more rows than it shows, save for requests within bounds. Each question is one
 * statement. Hashes and addresses are bytea, amounts numeric (CLT base units), coordinates text: decimal degrees as they were signed.
 * `areas.ts` says which notifications tell that a list has changed.
 */
import type { Query } from '../contract/page.ts';

/**
 * One row when there is any block. Columns: sequence (goes up with every chain event applied), height, hash, finalized_height, when these tables were made. The
 * version of all that is asked here, also where other tables take the place of these.
 */
export function marketHead(): Query {
  return {
    name: 'ride_market_head',
    text: `SELECT h.sequence, h.height, h.hash, h.finalized_height, p.created_at FROM ride_market.head h
             LEFT JOIN projector.projections p ON p.projection = 'ride_market' WHERE h.one`,
    values: [],
  };
}

/** Degrees, borders included. min_lat <= max_lat; min_lng > max_lng is a viewport across the antimeridian. */
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
 * Columns: hash, pickup_lat, pickup_lng, dropoff_lat, dropoff_lng, fare, passenger, referrer (or null). Open requests, with bounds those whose pickup lies within, the newest `limit` of them.
 * Area: requests.
 */
export function rideRequests(bounds: Bounds | undefined, limit: number): Query {
  if (bounds === undefined) {
    return {
      name: 'ride_market_requests',
      text: `SELECT ${REQUEST_COLUMNS} FROM ride_market.open_requests r ${NEWEST_REQUESTS}`,
      values: [limit],
    };
  }
  const boxes = boxesOf(bounds);
  const each = boxes.map((_, at) => 2 + 4 * at);
  return {
    name: boxes.length === 1 ? 'ride_market_requests_within' : 'ride_market_requests_within_two',
    text: `WITH inside AS MATERIALIZED (SELECT * FROM (${each.map(found).join(' UNION ALL ')}) b LIMIT ${DENSE_FROM})
           SELECT ${REQUEST_COLUMNS} FROM
             (SELECT * FROM inside WHERE (SELECT count(*) FROM inside) < ${DENSE_FROM}
              UNION ALL
              (SELECT * FROM ride_market.open_requests r
                WHERE (SELECT count(*) FROM inside) = ${DENSE_FROM} AND (${each.map(compared).join(' OR ')}) ${NEWEST_REQUESTS})) r
            ${NEWEST_REQUESTS}`,
    values: [limit, ...boxes.flat()],
  };
}

/**
 * Fewer requests than this within bounds are all looked up by the spatial index, and then sorted. Where there are more, the newest requests of all are looked through until enough of them lie
 * there: of a hundred thousand in one city the newest thousand are soon found, and none of the others is read.
 */
const DENSE_FROM = 5_000;

/** Rows whose pickup is in the box of which $`at` and the three after it are the west, south, east and north: by the spatial index. */
function found(at: number): string {
  return `SELECT * FROM ride_market.open_requests WHERE ${PICKUP} <@ ${box(at)}`;
}

/** The same of a row that was found another way: no index has the operator's function, of which the planner believes that it is true of many. */
function compared(at: number): string {
  return `box_contain_pt(${box(at)}, ${PICKUP})`;
}

const PICKUP = 'point(pickup_lng::float8, pickup_lat::float8)';

function box(at: number): string {
  return `box(point($${at}::float8, $${at + 1}::float8), point($${at + 2}::float8, $${at + 3}::float8))`;
}

type Box = readonly [west: number, south: number, east: number, north: number];

/** One box or two without a common point. 180 and -180 are the same meridian, whichever of them a pickup names. */
function boxesOf({
  min_lat: south,
  max_lat: north,
  min_lng: west,
  max_lng: east,
}: Bounds): readonly Box[] {
  const whole: Box = [west, south, east, north];
  if (west > east) {
    return [
      [west, south, 180, north],
      [-180, south, east, north],
    ];
  }
  if (east === 180 && west > -180) return [whole, [-180, south, -180, north]];
  if (west === -180 && east < 180) return [whole, [180, south, 180, north]];
  return [whole];
}

/** Columns: hash, request_hash, fare, driver, referrer (or null). The newest `limit` offers for a request, none unless it is open. Area: offers:<request hash>. */
export function rideOffers(requestHash: Buffer, limit: number): Query {
  return {
    name: 'ride_market_offers',
    text: `SELECT o.hash, o.request_hash, o.fare, o.driver, o.referrer FROM ride_market.offers o
            WHERE o.request_hash = $2::bytea AND EXISTS (SELECT 1 FROM ride_market.open_requests WHERE hash = $2::bytea)
            ORDER BY o.height DESC, o.tx_index DESC LIMIT $1::bigint`,
    values: [limit, requestHash],
  };
}

/** Whose trips; undefined leaves them all in. */
export interface Parties {
  readonly driver: Buffer | undefined;
  readonly passenger: Buffer | undefined;
}

const TRIP_COLUMNS =
  't.hash, t.offer_hash, t.request_hash, t.pickup_lat, t.pickup_lng, t.dropoff_lat, t.dropoff_lng, t.fare, t.fare_paid, t.driver, t.passenger';

/**
 * Columns: hash, offer_hash, request_hash, pickup_lat, pickup_lng, dropoff_lat, dropoff_lng, fare, fare_paid, driver, passenger. Accepted, neither fully paid nor cancelled; the `limit` accepted
 * last. Area: trips.
 */
export function activeTrips(parties: Parties, limit: number): Query {
  const { name, where, values } = asked(parties);
  return {
    name: `ride_market_active${name}`,
    text: `SELECT ${TRIP_COLUMNS} FROM ride_market.active_trips t ${where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`}
            ORDER BY t.height DESC, t.tx_index DESC LIMIT $1::bigint`,
    values: [limit, ...values],
  };
}

/** Columns of `activeTrips`. Fully paid; the `limit` paid last. Area: ended_trips. */
export function completedTrips(parties: Parties, limit: number): Query {
  const { name, where, values } = asked(parties);
  return {
    name: `ride_market_completed${name}`,
    text: `SELECT ${TRIP_COLUMNS} FROM (${ended('completed', where)}) t`,
    values: [limit, ...values],
  };
}

/** Columns of `activeTrips`, then trip_status (completed or cancelled). The `limit` that ended last. Area: ended_trips. */
export function recentTrips(parties: Parties, limit: number): Query {
  const { name, where, values } = asked(parties);
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

interface Asked {
  /** what the query's name ends in */
  readonly name: string;
  readonly where: readonly string[];
  /** from $2 on */
  readonly values: readonly Buffer[];
}

function asked({ driver, passenger }: Parties): Asked {
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

/** One row when there is such a request. Columns: status (open, accepted, cancelled), passenger, fare. Offers and its cancellation are for an open one. */
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
 * One row when there is such an offer. Columns: status (open; accepted; lapsed: its request was cancelled, or accepted with another offer), driver, fare, request_hash, passenger (of the request:
 * who may accept it).
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

/** One row when there is a trip of this acceptance. Columns: status (active, completed, cancelled), driver, passenger, fare, fare_paid. */
export function tripByHash(hash: Buffer): Query {
  return {
    name: 'ride_market_trip',
    text: `SELECT 'active' AS status, driver, passenger, fare, fare_paid FROM ride_market.active_trips WHERE hash = $1::bytea
           UNION ALL
           SELECT trip_status, driver, passenger, fare, fare_paid FROM ride_market.ended_trips WHERE hash = $1::bytea`,
    values: [hash],
  };
}
