import {
  int8,
  lookedThrough,
  named,
  topOf,
  valuesOf,
  type Page,
  type Query,
} from '../../contract/page.ts';
import { FINAL_HEIGHT } from './chain.ts';

/** At most one row. Columns: balance, nonce, transactions, activities, whether it is a contract. */
export function accountByAddress(address: Buffer): Query {
  return {
    name: 'explorer_account',
    text: `SELECT balance, nonce, transactions, activities, unsigned_debits > 0 FROM explorer.accounts WHERE address = $1::bytea`,
    values: [address],
  };
}

/**
 * At most `limit` accounts with an address in this range, inclusive. Columns of `accountByAddress`,
 * address.
 */
export function accountsByAddress(from: Buffer, to: Buffer, limit: number): Query {
  return {
    name: 'explorer_accounts_by_address',
    text: `SELECT balance, nonce, transactions, activities, unsigned_debits > 0, address FROM explorer.accounts
            WHERE address >= $1::bytea AND address <= $2::bytea ORDER BY address LIMIT $3::bigint`,
    values: [from, to, limit],
  };
}

/** A row for each of the addresses that an indexed block names. Columns: address, balance. */
export function balancesOf(addresses: readonly Buffer[]): Query {
  return {
    name: 'explorer_balances',
    text: `SELECT address, balance FROM explorer.accounts WHERE address = ANY ($1::bytea[])`,
    values: [`{${addresses.map((address) => `"\\\\x${address.toString('hex')}"`).join(',')}}`],
  };
}

/** An undefined field matches every change. */
export interface ActivityFilter {
  readonly kind: string | undefined;
  readonly direction: 'credit' | 'debit' | undefined;
}

/**
 * Columns: kind, delta, hash of its transaction (null: an effect of the block itself),
 * block_height, tx_index and function_call_type of its transaction, counterparty, timestamp,
 * cursor. With a filter the changes of the address are scanned. OFFSET 0 keeps the planner from
 * joining with the whole table instead of looking up each row.
 */
export function activityPage(
  address: Buffer,
  page: Page,
  { kind, direction }: ActivityFilter = { kind: undefined, direction: undefined },
): Query {
  const columns = 'ordinal, kind, delta, block_height, seq, counterparty';
  const filters = [
    ...(kind === undefined ? [] : ['s.kind = $4::text']),
    ...(direction === undefined ? [] : [`s.delta ${direction === 'credit' ? '>' : '<'} 0`]),
  ];
  const { within, skip } = lookedThrough(page, 'ordinal');
  const rows =
    filters.length === 0
      ? `SELECT ${columns} FROM explorer.activity
               WHERE address = $3::bytea
                 AND ordinal < ${topOf(page, 'SELECT activities FROM explorer.accounts WHERE address = $3::bytea')}
               ORDER BY ordinal DESC LIMIT $1::bigint`
      : `SELECT * FROM (SELECT ${columns} FROM explorer.activity WHERE address = $3::bytea ${within} ORDER BY ordinal DESC OFFSET 0) s
               WHERE ${filters.join(' AND ')} ORDER BY ordinal DESC LIMIT $1::bigint ${skip}`;
  const filtered = `${kind === undefined ? '' : '_kind'}${direction === undefined ? '' : `_${direction}`}`;
  return {
    name: named(`explorer_activity${filtered}`, page),
    text: `SELECT a.kind, a.delta, t.hash, a.block_height, t.tx_index, t.function_call_type, a.counterparty,
                  coalesce(t.timestamp, (SELECT timestamp FROM explorer.blocks b WHERE b.height = a.block_height)), a.ordinal FROM
             (${rows}) a
             LEFT JOIN LATERAL
               (SELECT hash, tx_index, function_call_type, timestamp FROM explorer.transactions t WHERE t.seq = a.seq OFFSET 0) t ON true
            ORDER BY a.ordinal DESC`,
    values: [...valuesOf(page), address, ...(kind === undefined ? [] : [kind])],
  };
}

/**
 * The balance after at most `points` changes, 2 or more, spread evenly over all changes of the
 * address, oldest first: the first and the newest are among them. Columns: block_height, timestamp
 * of the block, balance.
 */
export function balanceHistory(address: Buffer, points: number): Query {
  return {
    name: 'explorer_balance_history',
    text: `SELECT a.block_height, b.timestamp, a.balance FROM
             (SELECT activities FROM explorer.accounts WHERE address = $1::bytea) c
             CROSS JOIN LATERAL generate_series(0, least(c.activities, $2::bigint) - 1) p (place)
             CROSS JOIN LATERAL
               (SELECT block_height, balance FROM explorer.activity
                 WHERE address = $1::bytea
                   AND ordinal = CASE WHEN c.activities <= $2::bigint THEN p.place ELSE p.place * (c.activities - 1) / ($2::bigint - 1) END
                OFFSET 0) a
             CROSS JOIN LATERAL (SELECT timestamp FROM explorer.blocks WHERE height = a.block_height OFFSET 0) b
            ORDER BY p.place`,
    values: [address, points],
  };
}

/**
 * Always one row. Columns: the lowest indexed height (null: none, or the block at `height` is
 * indexed), the highest, the hash of the block at `height` (null: not indexed), whether the address
 * is known, its balance after that block (null: it had none yet), whether the block is final. A
 * binary search finds the newest effect up to the height: heights never fall along the ordinals.
 */
export function balanceAt(address: Buffer, height: bigint): Query {
  return {
    name: 'explorer_balance_at',
    text: `WITH RECURSIVE halving (low, high) AS (
             SELECT 0::bigint, activities FROM explorer.accounts WHERE address = $1::bytea
             UNION ALL
             SELECT CASE WHEN m.block_height <= $2::bigint THEN m.ordinal + 1 ELSE h.low END,
                    CASE WHEN m.block_height <= $2::bigint THEN h.high ELSE m.ordinal END
               FROM halving h CROSS JOIN LATERAL
                 (SELECT ordinal, block_height FROM explorer.activity
                   WHERE address = $1::bytea AND ordinal = (h.low + h.high) / 2 AND h.low < h.high OFFSET 0) m
           ), found (above) AS (SELECT max(low) FROM halving)
           SELECT CASE WHEN b.hash IS NULL THEN (SELECT height FROM explorer.blocks ORDER BY height LIMIT 1) END,
                  (SELECT height FROM explorer.head WHERE one), b.hash, above IS NOT NULL,
                  (SELECT balance FROM explorer.activity WHERE address = $1::bytea AND ordinal = above - 1),
                  $2::bigint <= (${FINAL_HEIGHT})
             FROM found LEFT JOIN (SELECT hash FROM explorer.blocks WHERE height = $2::bigint OFFSET 0) b ON true`,
    values: [address, int8(height)],
  };
}
