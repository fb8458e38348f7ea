import { int8, named, topOf, valuesOf, type Page, type Query } from '../../contract/page.ts';
import { FINAL_HEIGHT } from './chain.ts';

/** At most one row. Columns: balance, nonce, transactions, activities, whether it is a contract. */
export function accountByAddress(address: Buffer): Query {
  return {
    name: 'explorer_account',
    text: `SELECT balance, nonce, transactions, activities, unsigned_debits > 0 FROM explorer.accounts WHERE address = $1::bytea`,
    values: [address],
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

/**
 * Columns: kind, delta, block_height, hash, tx_index and function_call_type of its transaction
 * (null: an effect of the block itself), counterparty, timestamp, cursor. OFFSET 0 keeps the
 * planner from joining with the whole table instead of looking up each row.
 */
export function activityPage(address: Buffer, page: Page): Query {
  return {
    name: named('explorer_activity', page),
    text: `SELECT a.kind, a.delta, a.block_height, t.hash, t.tx_index, t.function_call_type, a.counterparty,
                  coalesce(t.timestamp, (SELECT timestamp FROM explorer.blocks b WHERE b.height = a.block_height)), a.ordinal FROM
             (SELECT ordinal, kind, delta, block_height, seq, counterparty FROM explorer.activity
               WHERE address = $3::bytea
                 AND ordinal < ${topOf(page, 'SELECT activities FROM explorer.accounts WHERE address = $3::bytea')}
               ORDER BY ordinal DESC LIMIT $1::bigint) a
             LEFT JOIN LATERAL
               (SELECT hash, tx_index, function_call_type, timestamp FROM explorer.transactions t WHERE t.seq = a.seq OFFSET 0) t ON true
            ORDER BY a.ordinal DESC`,
    values: [...valuesOf(page), address],
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
