/** What the watcher asks: which addresses next, and what is in the log already. Each is an index range in each partition. Times are Unix milliseconds. */
import type { Query } from '../contract/page.ts';

/**
 * Columns: deposit_address, partition, clt_address, derivation_index, hot_until, checked_at (0: never), checked_until (0: nothing is known). Hot addresses of these
 * partitions, those asked for longest ago first. An address leaves the list with the first check after its hot window has ended, so that a window that ended while
 * nobody watched is still looked at first.
 */
export function nextHot(partitions: readonly number[], limit: number): Query {
  return next('watch_next_hot', true, partitions, limit);
}

/** Columns of `nextHot`. All other addresses of these partitions, those asked for longest ago first. No address is in both lists. */
export function nextCold(partitions: readonly number[], limit: number): Query {
  return next('watch_next_cold', false, partitions, limit);
}

/** The first of each partition, then the first of those: no more rows than limit times partitions are looked at. */
function next(name: string, hot: boolean, partitions: readonly number[], limit: number): Query {
  return {
    name,
    text: `SELECT q.deposit_address, q.partition, a.clt_address, a.derivation_index, q.hot_until, q.checked_at, q.checked_until FROM
             (SELECT q.* FROM unnest($1::integer[]) p (partition) CROSS JOIN LATERAL
               (SELECT * FROM watch.queue q WHERE q.requested AND q.partition = p.partition AND q.hot = ${hot}
                 ORDER BY q.checked_at, q.deposit_address LIMIT $2::bigint) q
               ORDER BY q.checked_at, q.deposit_address LIMIT $2::bigint) q
             CROSS JOIN LATERAL
               (SELECT clt_address, derivation_index FROM watch.addresses a WHERE a.deposit_address = q.deposit_address OFFSET 0) a
            ORDER BY q.checked_at, q.deposit_address`,
    values: [`{${partitions.join(',')}}`, limit],
  };
}

/** Columns: log_index. Which logs of a transaction are in `tron.transfers`, as far as it was folded. */
export function seenTransfers(txId: Buffer): Query {
  return {
    name: 'watch_seen_transfers',
    text: 'SELECT log_index FROM watch.transfers WHERE tx_id = $1::bytea ORDER BY log_index',
    values: [txId],
  };
}

/** One row when anything was said yet: how many addresses there are. */
export function watchedAddresses(): Query {
  return {
    name: 'watch_addresses',
    text: 'SELECT addresses FROM watch.book WHERE one',
    values: [],
  };
}

/** Columns: deposit_address, derivation_index. Which of these are deposit addresses; OFFSET 0 keeps each look-up a look-up. */
export function watchedAmong(addresses: readonly Buffer[]): Query {
  return {
    name: 'watch_watched_among',
    text: `SELECT a.deposit_address, a.derivation_index FROM unnest($1::bytea[]) w (deposit_address)
           CROSS JOIN LATERAL (SELECT deposit_address, derivation_index FROM watch.addresses a WHERE a.deposit_address = w.deposit_address OFFSET 0) a`,
    values: [arrayOf(addresses)],
  };
}

/** Columns: tx_id, log_index. Which transfers of these transactions to this address are in `tron.transfers`, as far as it was folded. */
export function seenTransfersTo(address: Buffer, txIds: readonly Buffer[]): Query {
  return {
    name: 'watch_seen_transfers_to',
    text: `SELECT w.tx_id, t.log_index FROM unnest($2::bytea[]) w (tx_id)
           CROSS JOIN LATERAL (SELECT log_index FROM watch.transfers t WHERE t.tx_id = w.tx_id AND t.deposit_address = $1::bytea OFFSET 0) t`,
    values: [address, arrayOf(txIds)],
  };
}

/** One row. Columns: value: the sum in micro-USDT of what is in the log of transfers to this address. */
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
