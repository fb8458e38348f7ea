/** The balance effects of one block or transaction, with the balance after each. */
import { named, topOf, valuesOf, type Page, type Query } from '../../contract/page.ts';
import { blockValue, isBlock, type BlockId } from './blocks.ts';

/**
 * The balance effects of the block itself, which no transaction causes. Columns: address, those of
 * `activityPage` except its cursor, balance after it, cursor.
 */
export function blockEffectsPage(id: BlockId, page: Page): Query {
  return effectsQuery(
    `explorer_block_effects_by_${'hash' in id ? 'hash' : 'height'}`,
    `SELECT NULL::bigint AS seq, height, NULL::bytea AS hash, NULL::integer AS tx_index, NULL::text AS function_call_type, timestamp
       FROM explorer.blocks b WHERE ${isBlock(id, 3)}`,
    page,
    blockValue(id),
  );
}

/** The balance effects of a transaction. Columns of `blockEffectsPage`. */
export function transactionEffectsPage(hash: Buffer, page: Page): Query {
  return effectsQuery(
    'explorer_transaction_effects',
    `SELECT seq, block_height AS height, hash, tx_index, function_call_type, timestamp
       FROM explorer.transactions WHERE hash = $3::bytea`,
    page,
    hash,
  );
}

/**
 * By address, then in the order of the chain. All effects of the block are read: an index on their
 * transactions would make each block dearer to write, and few ask.
 */
function effectsQuery(name: string, cause: string, page: Page, value: bigint | Buffer): Query {
  return {
    name: named(name, page),
    text: `WITH cause AS MATERIALIZED (${cause}),
                effects AS MATERIALIZED
                  (SELECT a.*, row_number() OVER (ORDER BY a.address DESC, a.ordinal DESC) - 1 AS place
                     FROM cause c CROSS JOIN LATERAL
                       (SELECT address, ordinal, kind, delta, balance, seq, counterparty FROM explorer.activity
                         WHERE block_height = c.height OFFSET 0) a
                    WHERE a.seq IS NOT DISTINCT FROM c.seq)
           SELECT e.address, e.kind, e.delta, c.hash, c.height, c.tx_index, c.function_call_type, e.counterparty,
                  c.timestamp, e.balance, e.place
             FROM effects e CROSS JOIN cause c
            WHERE e.place < ${topOf(page, 'SELECT count(*) FROM effects')} ORDER BY e.place DESC LIMIT $1::bigint`,
    values: [...valuesOf(page), value],
  };
}
