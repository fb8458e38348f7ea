/** Answers about blocks. */
import { Type } from 'typebox';
import { field, record, type Shape } from '../http-api/answer.ts';
import { ADDRESS, AMOUNT, COUNT, HASH, TIME, VALIDATOR } from './values.ts';

export type Block = Shape<typeof BLOCK>;
export const BLOCK = record('Block', {
  height: field(COUNT, 1200, 'Height in the chain.'),
  hash: HASH,
  tx_count: field(COUNT, 1, 'Number of transactions.'),
  producer: field(ADDRESS, VALIDATOR, 'The validator that produced it.'),
  reward_recipient: field(ADDRESS, VALIDATOR, 'Recipient of the block reward.'),
  block_reward: field(AMOUNT, 2_000_000),
  timestamp: TIME,
});

export type BlockDetail = Shape<typeof BLOCK_DETAIL>;
export const BLOCK_DETAIL = record('BlockDetail', {
  ...BLOCK.properties,
  parent_hash: field(HASH, '0x9a8b7c6d5e4f30211203f4e5d6c7b8a99a8b7c6d5e4f30211203f4e5d6c7b8a9'),
  total_fees: field(
    AMOUNT,
    1_000,
    'Fees earned by the producer; 0 for blocks indexed before fees were recorded.',
  ),
});

/** Where the record that appended a block stands in the log. */
export type BlockRecord = Shape<typeof BLOCK_RECORD>;
export const BLOCK_RECORD = record('BlockRecord', {
  height: field(COUNT, 1200),
  hash: HASH,
  topic: Type.Literal('chain.blocks'),
  partition: COUNT,
  offset: field(COUNT, 2407),
});
