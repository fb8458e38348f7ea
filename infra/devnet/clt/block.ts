/** Assembles blocks: executes transactions, pays fees and reward, computes the hash. */
import { hash as digest } from 'node:crypto';
import { toHex } from '../../../schemas/address.ts';
import type { NodeBlock, Wire } from '../../../schemas/chain-node.ts';
import { argumentsJson } from '../../../schemas/function-call.ts';
import { encodeInteger, encodeRlp } from '../../../schemas/rlp.ts';
import type { Effect } from './calls.ts';
import { execute, type Executed, type VerifiedTransaction } from './execute.ts';
import { StateOverlay, accountAt, type Parameters, type State, type Validator } from './state.ts';

export type BlockJson = Wire<NodeBlock>;
type TransactionJson = BlockJson['transactions'][number];
type EffectJson = BlockJson['balance_effects'][number];

export interface BlockSlot {
  readonly height: number;
  readonly parent_hash: string;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly validator: Validator;
  /** fees are taken, and the block does not say from whom: a fault to test with */
  readonly hides_fees?: boolean;
}

/** A block without its text, as the chain keeps unfinalized ones in memory. */
export interface SealedBlock {
  readonly height: number;
  readonly hash: string;
  readonly parent_hash: string;
  readonly timestamp: number;
  readonly transactions: readonly VerifiedTransaction[];
}

export interface Block extends SealedBlock {
  /** the block's JSON, as served */
  readonly text: string;
}

export interface Assembled {
  readonly block: Block;
  /** committed when the block is appended */
  readonly overlay: StateOverlay;
}

/** Executes the transactions in order. The block contains those that are not refused. */
export function assembleBlock(
  state: State,
  slot: BlockSlot,
  transactions: readonly VerifiedTransaction[],
  parameters: Parameters,
): Assembled {
  const overlay = new StateOverlay(state);
  const executed: Executed[] = [];
  for (const transaction of transactions) {
    const result = execute(overlay, transaction, parameters, slot.validator.address);
    if (!('refused' in result)) executed.push(result);
  }
  const fees = executed.reduce((sum, each) => sum + each.fee, 0n);
  const pool = accountAt(overlay, parameters.reward_pool).balance;
  const reward = pool < parameters.block_reward ? pool : parameters.block_reward;
  const { address, reward_recipient } = slot.validator;
  const blockEffects = (
    [
      { address, kind: 'tx_fee_earned', delta: fees, counterparty: null },
      { address: parameters.reward_pool, kind: 'block_reward', delta: -reward, counterparty: null },
      { address: reward_recipient, kind: 'block_reward', delta: reward, counterparty: null },
    ] satisfies readonly Effect[]
  ).filter((effect) => effect.delta !== 0n);
  for (const effect of blockEffects) overlay.move(effect.address, effect.delta);
  const effects = [
    ...executed.flatMap((each, index) =>
      each.effects
        .filter(({ kind }) => slot.hides_fees !== true || kind !== 'tx_fee_paid')
        .map((effect) => effectJson(effect, index)),
    ),
    ...blockEffects.map((effect) => effectJson(effect, null)),
  ];
  return {
    block: sealBlock(slot, reward, executed.map(transactionJson), effects, executed, parameters),
    overlay,
  };
}

/** The first block: a mint for each account of the allocation. */
export function genesisBlock(
  slot: BlockSlot,
  allocation: readonly (readonly [address: string, amount: bigint])[],
  parameters: Parameters,
): Block {
  const effects = allocation.map(([address, amount]) =>
    effectJson({ address, kind: 'mint', delta: amount, counterparty: null }, null),
  );
  return sealBlock(slot, 0n, [], effects, [], parameters);
}

function sealBlock(
  slot: BlockSlot,
  reward: bigint,
  transactions: readonly TransactionJson[],
  effects: readonly EffectJson[],
  executed: readonly Executed[],
  parameters: Parameters,
): Block {
  const effectsText = JSON.stringify(effects);
  const hash = keccak(
    encodeRlp([
      encodeInteger(BigInt(parameters.chain_id)),
      encodeInteger(BigInt(slot.height)),
      bytes(slot.parent_hash),
      encodeInteger(BigInt(slot.timestamp)),
      bytes(slot.validator.address),
      bytes(slot.validator.reward_recipient),
      encodeInteger(reward),
      bytes(keccak(Buffer.concat(transactions.map((each) => bytes(each.hash))))),
      bytes(keccak(Buffer.from(effectsText, 'utf8'))),
    ]),
  );
  const { height, parent_hash, timestamp, validator } = slot;
  const header = {
    height,
    hash,
    parent_hash,
    timestamp,
    producer: validator.address,
    reward_recipient: validator.reward_recipient,
  };
  const opening = JSON.stringify({ ...header, block_reward: String(reward) }).slice(0, -1);
  const text = `${opening},"transactions":${JSON.stringify(transactions)},"balance_effects":${effectsText}}`;
  const transactionsMade = executed.map((each) => each.transaction);
  return { height, hash, parent_hash, timestamp, transactions: transactionsMade, text };
}

function transactionJson({ transaction, outcome }: Executed, index: number): TransactionJson {
  const { call } = transaction;
  return {
    hash: transaction.hash,
    index,
    from: transaction.from,
    to: outcome.to,
    nonce: transaction.nonce,
    amount: String(outcome.amount),
    function_call_type: call.function_call_type,
    arguments: argumentsJson(call),
    referrer: 'referrer' in call.arguments ? call.arguments.referrer : null,
    request_referrer: outcome.request_referrer ?? null,
    offer_referrer: outcome.offer_referrer ?? null,
    request_referrer_fee: String(outcome.request_referrer_fee ?? 0n),
    offer_referrer_fee: String(outcome.offer_referrer_fee ?? 0n),
    raw: toHex(transaction.raw),
  };
}

function effectJson(effect: Effect, tx_index: number | null): EffectJson {
  const { address, kind, delta, counterparty } = effect;
  return { address, kind, delta: String(delta), tx_index, counterparty };
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

/** Node's native keccak: 25 times as fast as JavaScript, for the megabytes of a large block. */
function keccak(data: Uint8Array): string {
  return `0x${digest('keccak-256', data, 'hex')}`;
}
