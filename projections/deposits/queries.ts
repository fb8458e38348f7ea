/**
 * Queries of the deposits' tables. Each list is one index range, newest first. The owner is part of
 * the statement: another owner's deposit does not exist. Amounts are micro-USDT, addresses and
 * hashes bytes.
 */
import { int8, type Query } from '../contract/page.ts';

/** Rows of an account's list at most. */
export const LISTED_MAX = 20;

/**
 * One row once anything of `deposit.addresses` is folded. Columns: log_end, head, addresses (how
 * many there are), deposit_address, derivation_index (null: the account has none).
 */
export function addressOf(owner: Buffer): Query {
  return {
    name: 'deposits_address',
    text: `SELECT b.log_end, b.head, b.addresses, a.deposit_address, a.derivation_index
             FROM deposits.book b LEFT JOIN deposits.addresses a ON a.clt_address = $1::bytea`,
    values: [owner],
  };
}

/**
 * Columns: id, status, gross, tx_id, created_at. The account's newest by block time, at most 20.
 * OFFSET 0 keeps each look-up an index look-up.
 */
export function depositsOf(owner: Buffer): Query {
  return {
    name: 'deposits_list',
    text: `SELECT d.id, s.status, d.gross, d.tx_id, d.created_at FROM
             (SELECT id, gross, tx_id, created_at, ordinal FROM deposits.deposits
               WHERE clt_address = $1::bytea
               ORDER BY created_at DESC, ordinal DESC LIMIT ${LISTED_MAX}) d
             CROSS JOIN LATERAL
               (SELECT status FROM deposits.standings s WHERE s.id = d.id OFFSET 0) s
            ORDER BY d.created_at DESC, d.ordinal DESC`,
    values: [owner],
  };
}

const DETAIL_COLUMNS = `d.id, d.clt_address, d.deposit_address, d.gross, d.fee, d.credit,
                  s.status, s.reason, s.approved, s.rejected, d.created_at,
                  d.tx_id, d.log_index, s.nonce, s.tx_hash`;

/**
 * One row when the owner has this deposit. Columns: id, clt_address, deposit_address, gross, fee,
 * credit, status, reason, approved, rejected, created_at, tx_id, log_index, nonce, tx_hash.
 */
export function depositOf(id: string, owner: Buffer): Query {
  return {
    name: 'deposits_deposit_of',
    text: `SELECT ${DETAIL_COLUMNS}
             FROM deposits.deposits d JOIN deposits.standings s ON s.id = d.id
            WHERE d.id = $1::text AND d.clt_address = $2::bytea`,
    values: [id, owner],
  };
}

/** `depositOf` for the operator: the deposit of any owner. */
export function depositById(id: string): Query {
  return {
    name: 'deposits_deposit',
    text: `SELECT ${DETAIL_COLUMNS}
             FROM deposits.deposits d JOIN deposits.standings s ON s.id = d.id
            WHERE d.id = $1::text`,
    values: [id],
  };
}

/** The first two ids from this text on, in their order. */
export function idsFrom(begin: string): Query {
  return {
    name: 'deposits_ids_from',
    text: 'SELECT id FROM deposits.deposits WHERE id >= $1::text ORDER BY id LIMIT 2',
    values: [begin],
  };
}

/** A deposit that goes first is among the oldest. */
const OLDEST_EXAMINED = 100;

/**
 * One row without columns when the deposit waits at this moment (Unix milliseconds) for room under
 * the rolling cap: for itself, or for a deposit ahead that goes first. The fold writes who is in
 * the queue and when a deposit goes first; this compares with the clock.
 */
export function waitsForCap(id: string, now: number): Query {
  return {
    name: 'deposits_waits_for_cap',
    text: `SELECT FROM deposits.ledger l
             JOIN deposits.policies p ON p.version = l.policy_version
             CROSS JOIN LATERAL (
               SELECT p.rolling_cap - coalesce(sum(m.amount), 0) AS room FROM deposits.mints m
                WHERE m.sequence >= l.window_sequence
                  AND m.leaves_at > greatest(l.mint_time, $2::bigint)) cap
             JOIN deposits.standings s
               ON s.id = $1::text AND s.status = 'confirmed' AND s.queue_offset IS NOT NULL
             JOIN deposits.deposits d ON d.id = s.id
            WHERE d.credit > cap.room OR EXISTS (
              SELECT FROM (SELECT id FROM deposits.by_status
                            WHERE status = 'confirmed' ORDER BY seq LIMIT ${OLDEST_EXAMINED}) oldest
                JOIN deposits.standings ahead
                  ON ahead.id = oldest.id AND ahead.queue_offset < s.queue_offset
                 AND ahead.goes_first_at <= $2::bigint
                JOIN deposits.deposits a ON a.id = oldest.id AND a.credit > cap.room)`,
    values: [id, now],
  };
}

/**
 * The policy in force; no row before the first. Columns: version, network, first_fee, later_fee,
 * minimum, single_cap, rolling_cap, decided_at (Unix milliseconds).
 */
export const POLICY_IN_FORCE: Query = {
  name: 'deposits_policy',
  text: `SELECT p.version, p.network, p.first_fee, p.later_fee, p.minimum, p.single_cap, p.rolling_cap, p.decided_at
           FROM deposits.ledger l JOIN deposits.policies p ON p.version = l.policy_version WHERE l.one`,
  values: [],
};

/** The oldest of the deposits that wait; more are not counted. */
const COUNTED_MAX = 1_000;
const QUEUED = `SELECT s.queue_offset, d.credit
                  FROM (SELECT id FROM deposits.by_status
                         WHERE status = 'confirmed' ORDER BY seq LIMIT ${COUNTED_MAX}) oldest
                  JOIN deposits.standings s ON s.id = oldest.id AND s.queue_offset IS NOT NULL
                  JOIN deposits.deposits d ON d.id = oldest.id`;

/**
 * The queue of mints at this moment (Unix milliseconds); no row before the first policy. Columns:
 * room under the rolling cap, sum and number of the deposits that wait, whether minting is stopped,
 * and as JSON when room is given back: sums by hour, each with the last moment of its mints.
 */
export function mintQueue(now: number): Query {
  return {
    name: 'deposits_mint_queue',
    text: `WITH recent AS MATERIALIZED (
             SELECT m.amount, m.leaves_at FROM deposits.ledger l JOIN deposits.mints m
                 ON m.sequence >= l.window_sequence AND m.leaves_at > greatest(l.mint_time, $1::bigint)),
           queued AS (${QUEUED}),
           leaving AS (SELECT max(leaves_at) AS at, sum(amount) AS amount FROM recent GROUP BY leaves_at / 3600000)
           SELECT greatest(0, p.rolling_cap - (SELECT coalesce(sum(amount), 0) FROM recent)),
                  (SELECT coalesce(sum(credit), 0) FROM queued), (SELECT count(*) FROM queued), l.minting_stopped,
                  (SELECT coalesce(json_agg(json_build_array(at, amount) ORDER BY at), '[]') FROM leaving)
             FROM deposits.ledger l JOIN deposits.policies p ON p.version = l.policy_version`,
    values: [now],
  };
}

/**
 * One row where the deposit waits: the credits that wait before it, null when more wait than are
 * counted.
 */
export function waitingBefore(id: string): Query {
  return {
    name: 'deposits_waiting_before',
    text: `SELECT (SELECT CASE WHEN count(*) < ${COUNTED_MAX} THEN
                           coalesce(sum(credit) FILTER (WHERE q.queue_offset < own.queue_offset), 0) END
                     FROM (${QUEUED}) q)
             FROM deposits.standings own
            WHERE own.id = $1::text AND own.status = 'confirmed' AND own.queue_offset IS NOT NULL`,
    values: [id],
  };
}

const EVENT_COLUMNS = `e.event, e.at, e.reason, e.gross, e.fee, e.credit, e.tx_hash, e.block_height,
                  e.nonce, e.topic, e.partition, e.log_offset, e.actor`;

/**
 * The timeline in order; no rows when the owner has no such deposit. Columns: event, at, reason,
 * gross, fee, credit, tx_hash, block_height, nonce, topic, partition, log_offset, actor.
 */
export function eventsOf(id: string, owner: Buffer): Query {
  return {
    name: 'deposits_events_of',
    text: `SELECT ${EVENT_COLUMNS} FROM
             (SELECT id FROM deposits.deposits WHERE id = $1::text AND clt_address = $2::bytea) d
             JOIN deposits.deposit_events e ON e.deposit_id = d.id ORDER BY e.ordinal`,
    values: [id, owner],
  };
}

/** `eventsOf` for the operator: the timeline of any owner's deposit. */
export function eventsById(id: string): Query {
  return {
    name: 'deposits_events',
    text: `SELECT ${EVENT_COLUMNS} FROM deposits.deposit_events e
            WHERE e.deposit_id = $1::text ORDER BY e.ordinal`,
    values: [id],
  };
}

/**
 * The deposits of a status, those of `needs_manual` that wait for a person, or `rejected` ones.
 * Columns: id, clt_address, gross, fee, credit, status, reason, approved, rejected, created_at,
 * approvals (so far, where one is not enough), cursor. At most `limit` rows of at least
 * so many micro-USDT, newest first; `below`: a cursor.
 */
export function byStatus(
  status: string,
  {
    limit,
    below,
    least = 0n,
  }: { readonly limit: number; readonly below: bigint | undefined; readonly least?: bigint },
): Query {
  return {
    name: 'deposits_by_status',
    text: `SELECT d.id, d.clt_address, d.gross, d.fee, d.credit, s.status, s.reason,
                  s.approved, s.rejected, d.created_at,
                  coalesce(octet_length(s.approved_by), 0) / 20 AS approvals, b.seq
             FROM deposits.by_status b
             CROSS JOIN LATERAL (SELECT * FROM deposits.deposits d
                                  WHERE d.id = b.id AND d.gross >= $4::numeric OFFSET 0) d
             CROSS JOIN LATERAL (SELECT * FROM deposits.standings s WHERE s.id = b.id OFFSET 0) s
            WHERE b.status = $1::text AND b.seq < $3::bigint
            ORDER BY b.seq DESC LIMIT $2::bigint`,
    values: [status, limit, int8(below ?? 1n << 63n), String(least)],
  };
}

/**
 * One row about the deposits that wait for a person and are of less than so many micro-USDT.
 * Columns: deposits, amount (micro-USDT that arrived for them).
 */
export function heldBelow(amount: bigint): Query {
  return {
    name: 'deposits_held_below',
    text: `SELECT count(*), coalesce(sum(d.gross), 0) FROM deposits.by_status b
             CROSS JOIN LATERAL (SELECT gross FROM deposits.deposits d
                                  WHERE d.id = b.id AND d.gross < $1::numeric OFFSET 0) d
            WHERE b.status = 'needs_manual'`,
    values: [String(amount)],
  };
}

/** The newest of the deposits that wait for a person are counted, up to so many. */
export const HELD_COUNTED_MAX = 10_000;

/** Reasons of deposits that wait for a person, most money first. Columns: reason, count, gross. */
export const HELD_BY_REASON: Query = {
  name: 'deposits_held_by_reason',
  text: `SELECT s.reason, count(*), sum(d.gross) FROM
           (SELECT id FROM deposits.by_status
             WHERE status = 'needs_manual' ORDER BY seq DESC LIMIT ${HELD_COUNTED_MAX}) b
           CROSS JOIN LATERAL (SELECT reason FROM deposits.standings s WHERE s.id = b.id OFFSET 0) s
           CROSS JOIN LATERAL (SELECT gross FROM deposits.deposits d WHERE d.id = b.id OFFSET 0) d
          GROUP BY s.reason ORDER BY sum(d.gross) DESC, s.reason`,
  values: [],
};

/** One row once the ledger has begun: the credit in micro-USDT above which two approve; 0: none. */
export const TWO_OPERATORS_ABOVE: Query = {
  name: 'deposits_two_above',
  text: 'SELECT two_above FROM deposits.ledger WHERE one',
  values: [],
};
