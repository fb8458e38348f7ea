/**
 * What the CLT node says over HTTP, and how it is read. On the wire amounts are decimal text, hashes and addresses 0x + lower-case hex, heights, nonces and
 * indices JSON integers, times Unix milliseconds. Read, amounts are bigint and hashes and addresses bytes: a block read is the body of a `BlockAppended`.
 */
import type { BalanceEffect, BlockAppended, BlockTransaction } from './chain.blocks/events.ts';

/** The same value as JSON says it: bytes and amounts are text. */
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
  /** of the next transaction, by the newest block */
  readonly nonce: number;
  /** the same with the transactions that wait for a block counted in */
  readonly pending_nonce: number;
}

/** Body of every answer of the node that is not a success. */
export interface NodeRefusal {
  readonly code: string;
  readonly message: string;
}

export type Parsed<T> = { readonly value: T } | { readonly problem: string };

/** `GET /v1/chain`; a problem names the field and what it should have been. */
export function parseChain(json: unknown): Parsed<NodeChain> {
  return parsed(json, chain);
}

/** `GET /v1/blocks/:height`; a problem names the field and what it should have been. */
export function parseBlock(json: unknown): Parsed<NodeBlock> {
  return parsed(json, block);
}

/** `GET /v1/blocks?from=&limit=`: ascending, each the parent of the next. */
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

/** `GET /v1/accounts/:address`. */
export function parseAccount(json: unknown): Parsed<NodeAccount> {
  return parsed(json, (value) => ({
    address: bytes(value, 'address', ADDRESS),
    balance: amount(value, 'balance', UNSIGNED),
    nonce: count(value, 'nonce'),
    pending_nonce: count(value, 'pending_nonce'),
  }));
}

/** `POST /v1/transactions`, 200: the transaction's hash. */
export function parseSubmitted(json: unknown): Parsed<Buffer> {
  return parsed(json, (value) => bytes(value, 'transaction_hash', HASH));
}

/** Any answer of the node that is not a success. */
export function parseRefusal(json: unknown): Parsed<NodeRefusal> {
  return parsed(json, (value) => ({ code: name(value, 'code'), message: text(value, 'message') }));
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
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

interface Format {
  readonly pattern: RegExp;
  readonly expected: string;
}

/** Where the JSON is not what it should be. Never leaves this file. */
class Mismatch extends Error {
  readonly path: string;
  readonly expected: string;
  constructor(path: string, expected: string) {
    super(`${path}: expected ${expected}`);
    this.path = path;
    this.expected = expected;
  }
  inside(outer: string): Mismatch {
    return new Mismatch(
      this.path === '' || this.path.startsWith('[')
        ? `${outer}${this.path}`
        : `${outer}.${this.path}`,
      this.expected,
    );
  }
}

function parsed<T>(json: unknown, read: (json: unknown) => T): Parsed<T> {
  try {
    return { value: read(json) };
  } catch (error) {
    if (error instanceof Mismatch) return { problem: error.message };
    throw error;
  }
}

function chain(json: unknown): NodeChain {
  return {
    chain_id: count(json, 'chain_id'),
    is_testnet: flag(json, 'is_testnet'),
    tx_fee: amount(json, 'tx_fee', UNSIGNED),
    total_supply: amount(json, 'total_supply', UNSIGNED),
    genesis_allocation: amount(json, 'genesis_allocation', UNSIGNED),
    mint_authority: bytes(json, 'mint_authority', ADDRESS),
    head: within('head', () => {
      const head = field(json, 'head');
      return { height: count(head, 'height'), hash: bytes(head, 'hash', HASH) };
    }),
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
    function_call_type: name(json, 'function_call_type'),
    arguments: within('arguments', () => callArguments(field(json, 'arguments'))),
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
    kind: name(json, 'kind'),
    delta: amount(json, 'delta', SIGNED),
    tx_index: field(json, 'tx_index') === null ? null : count(json, 'tx_index'),
    counterparty: bytesOrNull(json, 'counterparty', ADDRESS),
  };
}

function callArguments(json: unknown): Readonly<Record<string, string | null>> {
  if (!isRecord(json)) throw new Mismatch('', 'an object of text or null');
  const read: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(json)) {
    if (!NAME.test(key)) throw new Mismatch('(a field)', 'a name of letters, digits and _');
    if (value !== null && typeof value !== 'string') throw new Mismatch(key, 'text or null');
    read[key] = value;
  }
  return read;
}

function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function field(json: unknown, key: string): unknown {
  if (!isRecord(json)) throw new Mismatch('', 'an object');
  return json[key];
}

function within<T>(key: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof Mismatch ? error.inside(key) : error;
  }
}

function list<T>(json: unknown, key: string, read: (item: unknown) => T): readonly T[] {
  const items = field(json, key);
  if (!Array.isArray(items)) throw new Mismatch(key, 'a list');
  return items.map((item: unknown, index) => {
    try {
      return read(item);
    } catch (error) {
      throw error instanceof Mismatch ? error.inside(`${key}[${index}]`) : error;
    }
  });
}

function text(json: unknown, key: string): string {
  const value = field(json, key);
  if (typeof value !== 'string') throw new Mismatch(key, 'text');
  return value;
}

function name(json: unknown, key: string): string {
  const value = field(json, key);
  if (typeof value !== 'string' || !NAME.test(value))
    throw new Mismatch(key, 'a name of letters, digits and _');
  return value;
}

function flag(json: unknown, key: string): boolean {
  const value = field(json, key);
  if (typeof value !== 'boolean') throw new Mismatch(key, 'true or false');
  return value;
}

function count(json: unknown, key: string): number {
  const value = field(json, key);
  // Avro's JavaScript encoder takes nothing larger
  if (
    typeof value !== 'number' ||
    !Number.isSafeInteger(value) ||
    value < 0 ||
    value === Number.MAX_SAFE_INTEGER
  ) {
    throw new Mismatch(key, 'an integer from 0 to 2^53 - 2');
  }
  return value;
}

function amount(json: unknown, key: string, format: Format): bigint {
  const value = field(json, key);
  if (typeof value !== 'string' || !format.pattern.test(value))
    throw new Mismatch(key, format.expected);
  return BigInt(value);
}

function bytes(json: unknown, key: string, format: Format): Buffer {
  const value = field(json, key);
  if (typeof value !== 'string' || !format.pattern.test(value))
    throw new Mismatch(key, format.expected);
  return Buffer.from(value.slice(2), 'hex');
}

function bytesOrNull(json: unknown, key: string, format: Format): Buffer | null {
  return field(json, key) === null ? null : bytes(json, key, format);
}
