/** Answers about blocks. */
import { Type } from 'typebox';
import { field, nullable, record, type Shape } from '../http-api/answer.ts';
import {
  ACCOUNT,
  ADDRESS,
  AMOUNT,
  CALL_TYPE,
  COUNT,
  HASH,
  TIME,
  TRANSACTION_HASH,
  VALIDATOR,
} from './values.ts';

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

function text(pattern: string, example: string, description: string) {
  return Type.String({ pattern, example, description });
}
const DIGITS = text('^[0-9]+$', '2000000', 'Base units.');
const RAW_CALL = text(
  '^0x([0-9a-f]{2})+$',
  '0xf8',
  'The signed bytes, of which `hash` is the keccak256. docs/wallets.md has their encoding.',
);

/** A block as the CLT node says it, with all that the log has of it. Amounts are text. */
export type ChainBlock = Shape<typeof CHAIN_BLOCK>;
export const CHAIN_BLOCK = record('ChainBlock', {
  height: field(COUNT, 1200),
  hash: HASH,
  parent_hash: field(HASH, '0x9a8b7c6d5e4f30211203f4e5d6c7b8a99a8b7c6d5e4f30211203f4e5d6c7b8a9'),
  timestamp: field(COUNT, 1_795_246_082_500, 'Unix milliseconds.'),
  producer: field(ADDRESS, VALIDATOR),
  reward_recipient: field(ADDRESS, VALIDATOR),
  block_reward: DIGITS,
  transactions: Type.Array(
    record('ChainTransaction', {
      hash: field(HASH, TRANSACTION_HASH),
      index: field(COUNT, 0, 'In the block.'),
      from: field(ADDRESS, ACCOUNT),
      to: ADDRESS,
      nonce: field(COUNT, 7),
      amount: DIGITS,
      function_call_type: CALL_TYPE,
      arguments: Type.Unsafe<Readonly<Record<string, string | null>>>({
        type: 'object',
        additionalProperties: { type: ['string', 'null'] },
        description: 'By name, as they are signed; amounts are decimal text.',
        example: { acceptance_hash: TRANSACTION_HASH, fare: '2000000' },
      }),
      referrer: nullable(ADDRESS, null),
      request_referrer: nullable(ADDRESS, null),
      offer_referrer: nullable(ADDRESS, null),
      request_referrer_fee: DIGITS,
      offer_referrer_fee: DIGITS,
      raw: RAW_CALL,
    }),
  ),
  balance_effects: Type.Array(
    record(
      'ChainEffect',
      {
        address: field(ADDRESS, ACCOUNT),
        kind: Type.String({ example: 'ride_pay' }),
        delta: text('^-?[0-9]+$', '-2000000', 'Base units.'),
        tx_index: nullable(COUNT, 0, 'null: an effect of the block itself.'),
        counterparty: nullable(ADDRESS, null),
      },
      'All effects of the chain up to a block add up to the supply after it.',
    ),
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
