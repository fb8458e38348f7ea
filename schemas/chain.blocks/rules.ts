/**
 * The rules of every event of `chain.blocks`. A transaction's `arguments` are the text of its call,
 * which `schemas/function-call.ts` reads. Folds that need no transactions do not decode them, so
 * all folds judge a block by its other fields (`HEADER_RULES`), and the audit by all of them. The
 * ingester takes blocks from `schemas/chain-node.ts`, which refuses any other.
 */
import {
  ADDRESS,
  TOTAL,
  TOTAL_CHANGE,
  COUNT,
  HASH,
  list,
  NAME,
  record,
  TIME,
  type Rule,
  type TopicRules,
} from '../rules.ts';
import type {
  BalanceEffect,
  BlockAppended,
  BlockReverted,
  BlocksFinalized,
  BlockTransaction,
  ChainEvent,
} from './events.ts';

const TRANSACTIONS_MAX = 100_000;
const EFFECTS_MAX = 10_000_000;
const ANY_BYTES: Rule<Buffer> = { expected: 'bytes', holds: () => true };
const ARGUMENTS: Rule<BlockTransaction['arguments']> = {
  expected: 'a map of text',
  holds: () => true,
};

const TRANSACTION = record<BlockTransaction>({
  hash: HASH,
  index: COUNT,
  from: ADDRESS,
  to: ADDRESS,
  nonce: COUNT,
  amount: TOTAL,
  function_call_type: NAME,
  arguments: ARGUMENTS,
  referrer: ADDRESS,
  request_referrer: ADDRESS,
  offer_referrer: ADDRESS,
  request_referrer_fee: TOTAL,
  offer_referrer_fee: TOTAL,
  raw: ANY_BYTES,
});

const EFFECT = record<BalanceEffect>({
  address: ADDRESS,
  kind: NAME,
  delta: TOTAL_CHANGE,
  tx_index: COUNT,
  counterparty: ADDRESS,
});

const PLACED = { sequence: COUNT, height: COUNT, hash: HASH };
const HEADER = {
  ...PLACED,
  parent_hash: HASH,
  timestamp: TIME,
  producer: ADDRESS,
  reward_recipient: ADDRESS,
  block_reward: TOTAL,
};
const OTHERS = {
  BlockReverted: { fields: { ...PLACED, parent_hash: HASH } },
  BlocksFinalized: { fields: PLACED },
};

type Header = Omit<BlockAppended, 'transactions' | 'balance_effects'>;

/** Without what a block contains. */
export const HEADER_RULES: TopicRules<Header | BlockReverted | BlocksFinalized> = {
  BlockAppended: { fields: HEADER },
  ...OTHERS,
};

export const CHAIN_RULES: TopicRules<ChainEvent> = {
  BlockAppended: {
    fields: {
      ...HEADER,
      transactions: list(TRANSACTION, { most: TRANSACTIONS_MAX }),
      balance_effects: list(EFFECT, { most: EFFECTS_MAX }),
    },
  },
  ...OTHERS,
};
