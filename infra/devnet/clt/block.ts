/** A block out of transactions: executed in order on a draft, fees and reward paid, hashed. No clock: whoever asks says what time it is. */
import { hash as digest } from 'node:crypto';
import { toHex } from '../../../schemas/address.ts';
import type { NodeBlock, Wire } from '../../../schemas/chain-node.ts';
import { argumentsJson } from '../../../schemas/function-call.ts';
import { encodeInteger, encodeRlp } from '../../../schemas/rlp.ts';
import type { Effect } from './call-outcome.ts';
import type { Executed, VerifiedTransaction } from './execute.ts';
import { execute } from './execute.ts';
import type { Parameters, Validator } from './parameters.ts';
import type { State } from './state.ts';
import { Draft, accountOf } from './state.ts';

export type BlockJson = Wire<NodeBlock>;
type TransactionJson = BlockJson['transactions'][number];
type EffectJson = BlockJson['balance_effects'][number];

export interface BlockSeat {
  readonly height: number;
  readonly parent_hash: string;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly validator: Validator;
}

/** What the chain remembers of a block that is not yet final. */
export interface SealedBlock {
  readonly height: number;
  readonly hash: string;
  readonly parent_hash: string;
  readonly timestamp: number;
  readonly transactions: readonly VerifiedTransaction[];
}

export interface Block extends SealedBlock {
  /** the block's JSON as every reader gets it */
  readonly text: string;
}

export interface Assembled {
  readonly block: Block;
  /** to be committed when the block is kept */
  readonly draft: Draft;
  /** transactions that the state at their turn refused */
  readonly left_out: readonly VerifiedTransaction[];
}

/** Executes the transactions in order; those refused are left out, the others make the block. */
export function assembleBlock(
  state: State,
  seat: BlockSeat,
  transactions: readonly VerifiedTransaction[],
  parameters: Parameters,
): Assembled {
  const draft = new Draft(state);
  const executed: Executed[] = [];
  const leftOut: VerifiedTransaction[] = [];
  for (const transaction of transactions) {
    const result = execute(draft, transaction, parameters, seat.validator.address);
    if ('refused' in result) leftOut.push(transaction);
    else executed.push(result);
  }
  const fees = executed.reduce((sum, each) => sum + each.fee, 0n);
  const pool = accountOf(draft, parameters.reward_pool).balance;
  const reward = pool < parameters.block_reward ? pool : parameters.block_reward;
  const blockEffects = blockEffectsOf(seat.validator, fees, reward, parameters);
  for (const effect of blockEffects) draft.move(effect.address, effect.delta);
  const effects = [
    ...executed.flatMap((each, index) => each.effects.map((effect) => effectJson(effect, index))),
    ...blockEffects.map((effect) => effectJson(effect, null)),
  ];
  return {
    block: sealBlock(seat, reward, executed.map(transactionJson), effects, executed, parameters),
    draft,
    left_out: leftOut,
  };
}

/** The first block: no transactions, and a mint for each account of the allocation. */
export function genesisBlock(
  seat: BlockSeat,
  allocation: readonly (readonly [address: string, amount: bigint])[],
  parameters: Parameters,
): Block {
  const effects = allocation.map(([address, amount]) =>
    effectJson({ address, kind: 'mint', delta: amount, counterparty: null }, null),
  );
  return sealBlock(seat, 0n, [], effects, [], parameters);
}

function blockEffectsOf(
  validator: Validator,
  fees: bigint,
  reward: bigint,
  parameters: Parameters,
): readonly Effect[] {
  const effects: readonly Effect[] = [
    { address: validator.address, kind: 'tx_fee_earned', delta: fees, counterparty: null },
    { address: parameters.reward_pool, kind: 'block_reward', delta: -reward, counterparty: null },
    {
      address: validator.reward_recipient,
      kind: 'block_reward',
      delta: reward,
      counterparty: null,
    },
  ];
  return effects.filter((effect) => effect.delta !== 0n);
}

function sealBlock(
  seat: BlockSeat,
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
      encodeInteger(BigInt(seat.height)),
      bytes(seat.parent_hash),
      encodeInteger(BigInt(seat.timestamp)),
      bytes(seat.validator.address),
      bytes(seat.validator.reward_recipient),
      encodeInteger(reward),
      bytes(keccak(Buffer.concat(transactions.map((each) => bytes(each.hash))))),
      bytes(keccak(Buffer.from(effectsText, 'utf8'))),
    ]),
  );
  const { height, parent_hash, timestamp, validator } = seat;
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
  return {
    height,
    hash,
    parent_hash,
    timestamp,
    transactions: executed.map((each) => each.transaction),
    text,
  };
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

function effectJson(effect: Effect, txIndex: number | null): EffectJson {
  return {
    address: effect.address,
    kind: effect.kind,
    delta: String(effect.delta),
    tx_index: txIndex,
    counterparty: effect.counterparty,
  };
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

/** Node's own keccak: a block of 20,000 transactions is megabytes of hashing, and this is 25 times as fast as one in JavaScript. */
function keccak(data: Uint8Array): string {
  return `0x${digest('keccak-256', data, 'hex')}`;
}
