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

/** At most `limit` blocks with a hash in this range, inclusive. Columns of `blockByHeight`. */
export function blocksByHash(from: Buffer, to: Buffer, limit: number): Query {
  return {
    name: 'explorer_blocks_by_hash',
    text: `SELECT ${DETAIL_COLUMNS} FROM explorer.blocks WHERE hash >= $1::bytea AND hash <= $2::bytea ORDER BY hash LIMIT $3::bigint`,
    values: [from, to, limit],
  };
}

/** A block, by its height or its hash. */
export type BlockId = { readonly height: bigint } | { readonly hash: Buffer };

/** SQL that is true for the block, with its value as $`place`. */
export function isBlock(id: BlockId, place: number): string {
  return 'hash' in id ? `b.hash = $${place}::bytea` : `b.height = $${place}::bigint`;
}

export function blockValue(id: BlockId): bigint | Buffer {
  return 'hash' in id ? id.hash : int8(id.height);
}

/** At most one row. Columns: height, hash, offset of its record in the log, whether it is final. */
export function blockRecord(id: BlockId): Query {
  return {
    name: `explorer_block_record_by_${'hash' in id ? 'hash' : 'height'}`,
    text: `SELECT b.height, b.hash, b.log_offset, b.height <= (${FINAL_HEIGHT}) FROM explorer.blocks b WHERE ${isBlock(id, 1)}`,
    values: [blockValue(id)],
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
