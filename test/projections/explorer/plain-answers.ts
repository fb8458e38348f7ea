/** The expected bodies of the explorer's answers, computed from a plain list of blocks. */
import type { PlainBlock, PlainEffect, PlainTransaction } from './plain-block.ts';

type Json =
  bigint | boolean | number | string | null | readonly Json[] | { readonly [name: string]: Json };

/** JSON text in the order of the fields, bigints as integers. */
export function exactJson(value: Json): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => exactJson(item)).join(',')}]`;
  return `{${Object.entries(value)
    .map(([name, inner]: [string, Json]) => `${JSON.stringify(name)}:${exactJson(inner)}`)
    .join(',')}}`;
}

function hex(bytes: Buffer | null): string | null {
  return bytes === null ? null : `0x${bytes.toString('hex')}`;
}

function blockFields(block: PlainBlock) {
  return {
    height: block.height,
    hash: hex(block.hash),
    tx_count: block.transactions.length,
    producer: hex(block.producer),
    reward_recipient: hex(block.reward_recipient),
    block_reward: block.block_reward,
    timestamp: new Date(block.timestamp).toISOString(),
  };
}

function transactionFields(transaction: PlainTransaction) {
  return {
    hash: hex(transaction.hash),
    block_height: transaction.block_height,
    from: hex(transaction.from),
    to: hex(transaction.to),
    amount: transaction.amount,
    fee: transaction.fee,
    status: 'confirmed',
    function_call_type: transaction.type,
    is_ride_related: transaction.type.startsWith('Ride'),
    timestamp: new Date(transaction.timestamp).toISOString(),
    referrer: hex(transaction.referrer),
    request_referrer_fee: transaction.request_referrer_fee,
    offer_referrer_fee: transaction.offer_referrer_fee,
  };
}

function pageOf(all: readonly Json[], limit: number, offset: bigint): string {
  const items =
    offset >= BigInt(all.length) ? [] : all.slice(Number(offset), Number(offset) + limit);
  return exactJson({
    items,
    paging: {
      limit,
      offset,
      total: offset + BigInt(items.length),
      has_more: items.length === limit,
    },
  });
}

export function plainBlocks(blocks: readonly PlainBlock[], limit = 20, offset = 0n): string {
  return pageOf(blocks.toReversed().map(blockFields), limit, offset);
}

export function plainBlock(block: PlainBlock): string {
  return exactJson({
    ...blockFields(block),
    parent_hash: hex(block.parent_hash),
    total_fees: block.total_fees,
  });
}

export interface PlainFilter {
  readonly block?: number;
  readonly address?: Buffer;
  readonly type?: string;
}

export function plainTransactions(
  blocks: readonly PlainBlock[],
  { block, address, type }: PlainFilter,
  limit = 20,
  offset = 0n,
): string {
  const matching = blocks
    .flatMap(({ transactions }) => transactions)
    .filter((one) => block === undefined || one.block_height === block)
    .filter((one) => address === undefined || one.from.equals(address) || one.to.equals(address))
    .filter((one) => type === undefined || one.type === type);
  return pageOf(matching.toReversed().map(transactionFields), limit, offset);
}

export function plainTransaction(transaction: PlainTransaction): string {
  return exactJson({
    ...transactionFields(transaction),
    nonce: transaction.nonce,
    tx_index: transaction.tx_index,
    request_referrer: hex(transaction.request_referrer),
    offer_referrer: hex(transaction.offer_referrer),
  });
}

/** Its balance effects in the order of the chain. */
export function movements(
  blocks: readonly PlainBlock[],
  address: Buffer,
): readonly { readonly block: PlainBlock; readonly effect: PlainEffect }[] {
  return blocks.flatMap((block) =>
    block.effects
      .filter((effect) => effect.address.equals(address) && effect.delta !== 0n)
      .map((effect) => ({ block, effect })),
  );
}

/** `is_contract`: something was taken from it that it had not signed. */
export function plainAccount(blocks: readonly PlainBlock[], address: Buffer): string {
  const all = blocks.flatMap(({ transactions }) => transactions);
  const moved = movements(blocks, address);
  const own = all.filter(({ from }) => from.equals(address));
  return exactJson({
    address: hex(address),
    balance: moved.reduce((sum, { effect }) => sum + effect.delta, 0n),
    nonce: own.length === 0 ? 0 : (own.at(-1)?.nonce ?? 0) + 1,
    tx_count: all.filter(({ from, to }) => from.equals(address) || to.equals(address)).length,
    activity_count: moved.length,
    is_contract: moved.some(({ block, effect }) => {
      const cause = effect.tx_index === null ? undefined : block.transactions[effect.tx_index];
      return effect.delta < 0n && cause?.from.equals(address) !== true;
    }),
  });
}

type Labels = (kind: string, direction: 'credit' | 'debit') => string;

function activityFields(
  { height, timestamp, transactions }: PlainBlock,
  { address, kind, delta, tx_index: txIndex, counterparty }: PlainEffect,
  labels: Labels,
) {
  const cause = txIndex === null ? undefined : transactions[txIndex];
  const direction = delta < 0n ? 'debit' : 'credit';
  return {
    address: hex(address),
    kind,
    label: labels(kind, direction),
    delta,
    direction,
    amount: delta < 0n ? -delta : delta,
    tx_hash: cause === undefined ? null : hex(cause.hash),
    block_height: height,
    tx_index: txIndex,
    function_call_type: cause?.type ?? null,
    counterparty: cause === undefined ? null : hex(counterparty),
    timestamp: new Date(timestamp).toISOString(),
  };
}

export interface PlainActivityFilter {
  readonly kind?: string | undefined;
  readonly direction?: 'credit' | 'debit' | undefined;
}

/** `labels` says what a kind is called in a direction. */
export function plainActivity(
  blocks: readonly PlainBlock[],
  address: Buffer,
  labels: Labels,
  limit = 20,
  offset = 0n,
  filter: PlainActivityFilter = {},
): string {
  const items = movements(blocks, address)
    .map(({ block, effect }) => activityFields(block, effect, labels))
    .filter(({ kind }) => (filter.kind ?? kind) === kind)
    .filter(({ direction }) => (filter.direction ?? direction) === direction);
  return pageOf(items.toReversed(), limit, offset);
}

interface PlainEffects {
  readonly ofBlock: readonly Json[];
  readonly ofTransaction: (index: number) => readonly Json[];
}

/** The effects that `block` of `blocks` has, with the balance after each, by address. */
export function effectsOf(
  blocks: readonly PlainBlock[],
  block: PlainBlock,
  labels: Labels,
): PlainEffects {
  const balances = new Map<string, bigint>();
  const until = blocks.slice(0, blocks.indexOf(block) + 1);
  const own = until
    .flatMap((each) => each.effects.map((effect) => ({ each, effect })))
    .filter(({ effect }) => effect.delta !== 0n)
    .map(({ each, effect }) => {
      const key = effect.address.toString('hex');
      const balance = (balances.get(key) ?? 0n) + effect.delta;
      balances.set(key, balance);
      return { each, effect, key, balance };
    })
    .filter(({ each }) => each === block)
    .toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  const of = (index: number | null): readonly Json[] =>
    own
      .filter(({ effect }) => effect.tx_index === index)
      .map(({ effect, balance }) =>
        Object.assign(activityFields(block, effect, labels), { balance }),
      );
  return { ofBlock: of(null), ofTransaction: of };
}

export function plainBalance(
  blocks: readonly PlainBlock[],
  address: Buffer,
  height: number,
): bigint {
  const until = blocks.filter((block) => block.height <= height);
  return movements(until, address).reduce((sum, { effect }) => sum + effect.delta, 0n);
}

export function plainValidators(blocks: readonly PlainBlock[], limit = 20, offset = 0n): string {
  const producers = blocks.map(({ producer }) => producer.toString('hex'));
  const newest = new Set(producers.slice(-100));
  const items = [...new Set(producers)].map((address) => ({
    address: `0x${address}`,
    is_active: newest.has(address),
    blocks_produced: producers.filter((producer) => producer === address).length,
    peer_id: '',
  }));
  return pageOf(items.toReversed(), limit, offset);
}

export interface PlainStats {
  readonly latest_height: number;
  readonly tx_per_second: number;
  readonly total_transactions: number;
  readonly active_validators: number;
  readonly avg_block_time_seconds: number;
}

export function plainStats(blocks: readonly PlainBlock[]): PlainStats {
  const newest = blocks.slice(-100);
  const [first, last] = [newest.at(0), newest.at(-1)];
  const seconds = ((last?.timestamp ?? 0) - (first?.timestamp ?? 0)) / 1_000;
  const carried = newest.flatMap(({ transactions }) => transactions).length;
  return {
    latest_height: last?.height ?? 0,
    tx_per_second: seconds > 0 ? carried / seconds : 0,
    total_transactions: blocks.flatMap(({ transactions }) => transactions).length,
    active_validators: new Set(newest.map(({ producer }) => producer.toString('hex'))).size,
    avg_block_time_seconds: seconds > 0 ? seconds / (newest.length - 1) : 0,
  };
}
