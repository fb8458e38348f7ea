/**
 * The CLT node's HTTP answers. As JSON, amounts are decimal text, hashes and addresses 0x +
 * lower-case hex, heights, nonces and indices integers, times Unix milliseconds. Parsed, amounts
 * are bigint, hashes and addresses bytes: a parsed block is the body of a `BlockAppended`.
 */
import { toHex } from './address.ts';
import type { BalanceEffect, BlockAppended, BlockTransaction } from './chain.blocks/events.ts';
import {
  count,
  field,
  flag,
  isRecord,
  list,
  Mismatch,
  parsed,
  text,
  within,
  type Format,
  type Parsed,
} from './json-reader.ts';

/** The JSON form of a value: bytes and amounts are text. */
export type Wire<T> = T extends bigint | Buffer
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]: Wire<T[Field]> }
      : T;

export interface NodeChain {
  readonly chain_id: number;
  readonly is_testnet: boolean;
  /** base units, paid by a transaction's sender */
  readonly tx_fee: bigint;
  readonly total_supply: bigint;
  readonly genesis_allocation: bigint;
  readonly mint_authority: Buffer;
  readonly head: { readonly height: number; readonly hash: Buffer };
  readonly finalized_height: number;
}

export type NodeBlock = Omit<BlockAppended, 'type' | 'sequence'>;

export interface NodeAccount {
  readonly address: Buffer;
  readonly balance: bigint;
  /** of the next transaction after the newest block */
  readonly nonce: number;
  /** of the next transaction after those that wait for a block */
  readonly pending_nonce: number;
}

/** The JSON form of a parsed answer. */
export function wireOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (Buffer.isBuffer(value)) return toHex(value);
  if (Array.isArray(value)) return value.map(wireOf);
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, wireOf(inner)]))
    : value;
}

/** `GET /v1/chain` */
export function parseChain(json: unknown): Parsed<NodeChain> {
  return parsed(json, chain);
}

/** `GET /v1/blocks/:height` */
export function parseBlock(json: unknown): Parsed<NodeBlock> {
  return parsed(json, block);
}

/** `GET /v1/blocks?from=&limit=`: ascending, each block the parent of the next. */
export function parseBlocks(json: unknown): Parsed<readonly NodeBlock[]> {
  return parsed(json, (value) => {
    const blocks = list(value, 'blocks', block);
    for (const [index, each] of blocks.entries()) {
      const before = blocks[index - 1];
      if (before === undefined) continue;
      if (each.height !== before.height + 1)
        throw new Mismatch(`blocks[${index}].height`, `${before.height + 1}`);
      if (!each.parent_hash.equals(before.hash))
        throw new Mismatch(`blocks[${index}].parent_hash`, 'the hash of the block before it');
    }
    return blocks;
  });
}

/** `GET /v1/accounts/:address` */
export function parseAccount(json: unknown): Parsed<NodeAccount> {
  return parsed(json, (value) => ({
    address: bytes(value, 'address', ADDRESS),
    balance: amount(value, 'balance', UNSIGNED),
    nonce: count(value, 'nonce'),
    pending_nonce: count(value, 'pending_nonce'),
  }));
}

const ADDRESS = { pattern: /^0x[0-9a-f]{40}$/, expected: '0x and 40 lower-case hex digits' };
const HASH = { pattern: /^0x[0-9a-f]{64}$/, expected: '0x and 64 lower-case hex digits' };
const RAW = {
  pattern: /^0x(?:[0-9a-f]{2})+$/,
  expected: '0x and an even number of lower-case hex digits',
};
const UNSIGNED = {
  pattern: /^(?:0|[1-9][0-9]{0,77})$/,
  expected: 'a decimal integer as text, at most 78 digits',
};
const SIGNED = {
  pattern: /^(?:0|-?[1-9][0-9]{0,77})$/,
  expected: 'a signed decimal integer as text, at most 78 digits',
};
const NAME = {
  pattern: /^[A-Za-z][A-Za-z0-9_]{0,63}$/,
  expected: 'a name of letters, digits and _',
};

function chain(json: unknown): NodeChain {
  return {
    chain_id: count(json, 'chain_id'),
    is_testnet: flag(json, 'is_testnet'),
    tx_fee: amount(json, 'tx_fee', UNSIGNED),
    total_supply: amount(json, 'total_supply', UNSIGNED),
    genesis_allocation: amount(json, 'genesis_allocation', UNSIGNED),
    mint_authority: bytes(json, 'mint_authority', ADDRESS),
    head: within(json, 'head', (head) => ({
      height: count(head, 'height'),
      hash: bytes(head, 'hash', HASH),
    })),
    finalized_height: count(json, 'finalized_height'),
  };
}

function block(json: unknown): NodeBlock {
  const transactions = list(json, 'transactions', transaction);
  const effects = list(json, 'balance_effects', balanceEffect);
  for (const [index, each] of transactions.entries()) {
    if (each.index !== index) throw new Mismatch(`transactions[${index}].index`, `${index}`);
  }
  for (const [index, effect] of effects.entries()) {
    if (effect.tx_index !== null && effect.tx_index >= transactions.length) {
      throw new Mismatch(
        `balance_effects[${index}].tx_index`,
        `null or less than ${transactions.length}`,
      );
    }
  }
  return {
    height: count(json, 'height'),
    hash: bytes(json, 'hash', HASH),
    parent_hash: bytes(json, 'parent_hash', HASH),
    timestamp: count(json, 'timestamp'),
    producer: bytes(json, 'producer', ADDRESS),
    reward_recipient: bytes(json, 'reward_recipient', ADDRESS),
    block_reward: amount(json, 'block_reward', UNSIGNED),
    transactions,
    balance_effects: effects,
  };
}

function transaction(json: unknown): BlockTransaction {
  return {
    hash: bytes(json, 'hash', HASH),
    index: count(json, 'index'),
    from: bytes(json, 'from', ADDRESS),
    to: bytes(json, 'to', ADDRESS),
    nonce: count(json, 'nonce'),
    amount: amount(json, 'amount', UNSIGNED),
    function_call_type: text(json, 'function_call_type', NAME),
    arguments: within(json, 'arguments', callArguments),
    referrer: bytesOrNull(json, 'referrer', ADDRESS),
    request_referrer: bytesOrNull(json, 'request_referrer', ADDRESS),
    offer_referrer: bytesOrNull(json, 'offer_referrer', ADDRESS),
    request_referrer_fee: amount(json, 'request_referrer_fee', UNSIGNED),
    offer_referrer_fee: amount(json, 'offer_referrer_fee', UNSIGNED),
    raw: bytes(json, 'raw', RAW),
  };
}

function balanceEffect(json: unknown): BalanceEffect {
  return {
    address: bytes(json, 'address', ADDRESS),
    kind: text(json, 'kind', NAME),
    delta: amount(json, 'delta', SIGNED),
    tx_index: field(json, 'tx_index') === null ? null : count(json, 'tx_index'),
    counterparty: bytesOrNull(json, 'counterparty', ADDRESS),
  };
}

function callArguments(json: unknown): Readonly<Record<string, string | null>> {
  if (!isRecord(json)) throw new Mismatch('', 'an object of text or null');
  const read: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(json)) {
    if (!NAME.pattern.test(key)) throw new Mismatch('(a field)', NAME.expected);
    if (value !== null && typeof value !== 'string') throw new Mismatch(key, 'text or null');
    // half of a pair of surrogates would be no UTF-8 in the log
    read[key] = value?.toWellFormed() ?? null;
  }
  return read;
}

function amount(json: unknown, key: string, format: Format): bigint {
  return BigInt(text(json, key, format));
}

function bytes(json: unknown, key: string, format: Format): Buffer {
  return Buffer.from(text(json, key, format).slice(2), 'hex');
}

function bytesOrNull(json: unknown, key: string, format: Format): Buffer | null {
  return field(json, key) === null ? null : bytes(json, key, format);
}
