import { int8, named, topOf, valuesOf, type Page, type Query } from '../../contract/page.ts';
import { FINAL_HEIGHT } from './chain.ts';

const BLOCK_COLUMNS = 'height, hash, tx_count, producer, reward_recipient, block_reward, timestamp';

const DETAIL_COLUMNS = `${BLOCK_COLUMNS}, parent_hash, total_fees, height <= (${FINAL_HEIGHT})`;

/** Columns: height, hash, tx_count, producer, reward_recipient, block_reward, timestamp, cursor. */
export function blocksPage(page: Page): Query {
  return {
    name: named('explorer_blocks', page),
    text: `SELECT ${BLOCK_COLUMNS}, height FROM explorer.blocks
            WHERE height < ${topOf(page, 'SELECT height + 1 FROM explorer.head WHERE one')} ORDER BY height DESC LIMIT $1::bigint`,
    values: valuesOf(page),
  };
}

/**
 * Columns: height, hash, tx_count, producer, reward_recipient, block_reward, timestamp,
 * parent_hash, total_fees, whether it is final.
 */
export function blockByHeight(height: bigint): Query {
  return {
    name: 'explorer_block_by_height',
    text: `SELECT ${DETAIL_COLUMNS} FROM explorer.blocks WHERE height = $1::bigint`,
    values: [int8(height)],
  };
}

/** Columns of `blockByHeight`. */
export function blockByHash(hash: Buffer): Query {
  return {
    name: 'explorer_block_by_hash',
    text: `SELECT ${DETAIL_COLUMNS} FROM explorer.blocks WHERE hash = $1::bytea`,
    values: [hash],
  };
}
