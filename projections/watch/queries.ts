/** The watcher's queries: addresses to check next, logged transfers. Times: Unix milliseconds. */
import type { Query } from '../contract/page.ts';

/**
 * Columns: deposit_address, partition, clt_address, derivation_index, hot_until, checked_at (0:
 * never), checked_until (0: unknown). Hot addresses of these partitions, least recently checked
 * first. An address leaves the list with the first check after its hot window, so that a window
 * that ended during an outage is still checked early.
 */
export function nextHot(partitions: readonly number[], limit: number): Query {
  return next('watch_next_hot', true, partitions, limit);
}

/** Columns of `nextHot`. The other addresses of these partitions, least recently checked first. */
export function nextCold(partitions: readonly number[], limit: number): Query {
  return next('watch_next_cold', false, partitions, limit);
}

/** Merges the first rows of each partition: reads at most `limit` rows per partition. */
function next(name: string, hot: boolean, partitions: readonly number[], limit: number): Query {
  return {
    name,
    text: `SELECT q.deposit_address, q.partition, a.clt_address, a.derivation_index,
                  q.hot_until, q.checked_at, q.checked_until FROM
             (SELECT q.* FROM unnest($1::integer[]) p (partition) CROSS JOIN LATERAL
               (SELECT * FROM watch.queue q WHERE q.requested AND q.partition = p.partition AND q.hot = ${hot}
                 ORDER BY q.checked_at, q.deposit_address LIMIT $2::bigint) q
               ORDER BY q.checked_at, q.deposit_address LIMIT $2::bigint) q
             CROSS JOIN LATERAL
               (SELECT clt_address, derivation_index FROM watch.addresses a
                 WHERE a.deposit_address = q.deposit_address OFFSET 0) a
            ORDER BY q.checked_at, q.deposit_address`,
    values: [`{${partitions.join(',')}}`, limit],
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

function arrayOf(values: readonly Buffer[]): string {
  return `{${values.map((value) => `"\\\\x${value.toString('hex')}"`).join(',')}}`;
}
