/** The watcher's queries: addresses to check next, logged transfers. Times: Unix milliseconds. */
import type { Query } from '../contract/page.ts';
import { PAUSE_LEVEL_MAX } from './queue.ts';

/**
 * Columns: deposit_address, partition, derivation_index, hot, checked_at (0: never), checked_until
 * (0: unknown), turn_at. The hot addresses of these partitions that are due at this time: paid ones
 * first; then those without a pause, by the newest panel; then the others, by the time since their
 * check in parts of their pause. Where there are too many, all pauses grow by the same factor. An
 * address stays hot until its first check after its hot window, so that a window that ended during
 * an outage is still checked early.
 */
export function nextHot(partitions: readonly number[], limit: number, at: number): Query {
  return {
    name: 'watch_next_hot',
    text: next(
      `(${hotOf('q.pause_level = 0', "'infinity'::float8", 'DESC')} UNION ALL
        ${hotOf('q.pause_level = l.level', '($3::bigint - q.checked_at)::float8 / (q.due_at - q.checked_at)', 'ASC')}) q`,
      'q.paid DESC, q.late DESC, q.due_at DESC, q.deposit_address DESC',
    ),
    values: [arrayText(partitions), limit, at],
  };
}

/** The due hot addresses of some levels of pauses, by partition and whether they were ever paid. */
function hotOf(level: string, late: string, order: 'ASC' | 'DESC'): string {
  const levels =
    order === 'DESC' ? '' : `CROSS JOIN generate_series(1, ${PAUSE_LEVEL_MAX}) l (level)`;
  return `SELECT q.*, ${late} AS late FROM unnest($1::integer[]) p (partition)
            CROSS JOIN (VALUES (true), (false)) w (paid) ${levels} CROSS JOIN LATERAL
            (SELECT * FROM watch.queue q
              WHERE q.requested AND q.hot AND q.partition = p.partition AND q.paid = w.paid AND ${level} AND q.due_at <= $3::bigint
              ORDER BY q.due_at ${order}, q.deposit_address ${order} LIMIT $2::bigint) q`;
}

/** Columns of `nextHot`. The rotation of all addresses of these partitions, hot ones among them. */
export function nextInTurn(partitions: readonly number[], limit: number): Query {
  return {
    name: 'watch_next_in_turn',
    text: next(
      `unnest($1::integer[]) p (partition) CROSS JOIN LATERAL
       (SELECT * FROM watch.queue q WHERE q.requested AND q.partition = p.partition
         ORDER BY q.turn_at, q.deposit_address LIMIT $2::bigint) q`,
      'q.turn_at, q.deposit_address',
    ),
    values: [arrayText(partitions), limit],
  };
}

/** Merges the first rows of each partition: reads at most `limit` rows of each. */
function next(rows: string, order: string): string {
  return `SELECT q.deposit_address, q.partition, a.derivation_index, q.hot, q.checked_at, q.checked_until, q.turn_at FROM
            (SELECT q.* FROM ${rows} ORDER BY ${order} LIMIT $2::bigint) q
            CROSS JOIN LATERAL
              (SELECT derivation_index FROM watch.addresses a
                WHERE a.deposit_address = q.deposit_address OFFSET 0) a
           ORDER BY ${order}`;
}

/**
 * Columns of `nextHot`, then: the sum of the folded transfers to the address, in micro-USDT. The
 * requested addresses of these partitions after this one, in the order of their bytes.
 */
export function receivedAfter(
  partitions: readonly number[],
  address: Buffer,
  limit: number,
): Query {
  const rows = `(SELECT * FROM watch.queue q
      WHERE q.requested AND q.partition = ANY($1::integer[]) AND q.deposit_address > $3::bytea
      ORDER BY q.deposit_address LIMIT $2::bigint) q`;
  return {
    name: 'watch_received_after',
    text: `SELECT n.*, (SELECT coalesce(sum(value), 0) FROM watch.transfers t
                         WHERE t.deposit_address = n.deposit_address)
             FROM (${next(rows, 'q.deposit_address')}) n ORDER BY n.deposit_address`,
    values: [arrayText(partitions), limit, address],
  };
}

/** Columns of `nextHot`. Those of these addresses that were requested. */
export function queued(addresses: readonly Buffer[]): Query {
  return {
    name: 'watch_queued',
    text: next(
      `(SELECT * FROM watch.queue q WHERE q.requested AND q.deposit_address = ANY($1::bytea[])) q`,
      'q.deposit_address',
    ),
    values: [arrayOf(addresses), addresses.length],
  };
}

/** Columns: paid, due_at. When the hot address that waits longest became due, if there is any. */
export function longestDue(partitions: readonly number[]): Query {
  return {
    name: 'watch_longest_due',
    text: `SELECT w.paid, min(q.due_at) FROM unnest($1::integer[]) p (partition)
             CROSS JOIN (VALUES (true), (false)) w (paid)
             CROSS JOIN generate_series(0, ${PAUSE_LEVEL_MAX}) l (level) CROSS JOIN LATERAL
             (SELECT due_at FROM watch.queue q
               WHERE q.requested AND q.hot AND q.partition = p.partition AND q.paid = w.paid AND q.pause_level = l.level
               ORDER BY q.due_at LIMIT 1) q
            GROUP BY w.paid`,
    values: [arrayText(partitions)],
  };
}

/**
 * Columns: checked_at (0: never), due_at (null: it is not hot). A row for the address of this
 * account, if it has one.
 */
export function checkOf(account: Buffer): Query {
  return {
    name: 'watch_check_of',
    text: `SELECT q.checked_at, CASE WHEN q.hot THEN q.due_at END
             FROM watch.addresses a CROSS JOIN LATERAL
               (SELECT checked_at, due_at, hot FROM watch.queue q
                 WHERE q.deposit_address = a.deposit_address OFFSET 0) q
            WHERE a.clt_address = $1::bytea`,
    values: [account],
  };
}

/** Columns: deposit_address, derivation_index. The deposit addresses among these. */
export function watchedAmong(addresses: readonly Buffer[]): Query {
  return {
    name: 'watch_watched_among',
    text: `SELECT a.deposit_address, a.derivation_index FROM unnest($1::bytea[]) w (deposit_address)
           CROSS JOIN LATERAL (SELECT deposit_address, derivation_index FROM watch.addresses a
                                WHERE a.deposit_address = w.deposit_address OFFSET 0) a`,
    values: [arrayOf(addresses)],
  };
}

/** Columns: tx_id, log_index. The folded transfers of these transactions to this address. */
export function seenTransfersTo(address: Buffer, txIds: readonly Buffer[]): Query {
  return {
    name: 'watch_seen_transfers_to',
    text: `SELECT w.tx_id, t.log_index FROM unnest($2::bytea[]) w (tx_id)
           CROSS JOIN LATERAL (SELECT log_index FROM watch.transfers t
                                WHERE t.tx_id = w.tx_id AND t.deposit_address = $1::bytea OFFSET 0) t`,
    values: [address, arrayOf(txIds)],
  };
}

/** One row. Column: the sum of the folded transfers to this address, in micro-USDT. */
export function observedValue(address: Buffer): Query {
  return {
    name: 'watch_observed_value',
    text: 'SELECT coalesce(sum(value), 0) FROM watch.transfers WHERE deposit_address = $1::bytea',
    values: [address],
  };
}

function arrayText(partitions: readonly number[]): string {
  return `{${partitions.join(',')}}`;
}

function arrayOf(values: readonly Buffer[]): string {
  return `{${values.map((value) => `"\\\\x${value.toString('hex')}"`).join(',')}}`;
}
