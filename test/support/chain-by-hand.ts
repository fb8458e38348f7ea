/**
 * A chain whose blocks state only the subject of a test: the signers, and the balances that move.
 * The rest is filled in. Nothing is checked, so effects without a transaction, negative balances
 * and unknown kinds are possible. `chain.ts` has a plausible chain.
 *
 *     const chain = new ChainByHand();
 *     chain.append({
 *       producer: CAROL,
 *       transactions: [{ from: ALICE, to: BOB }],
 *       effects: [{ address: ALICE, delta: -5n, tx_index: 0 }],
 *     });
 *     chain.revert();
 *     chain.log    all events so far, sequences 0, 1, 2, ..
 */
import { signCall, type Key } from '../../infra/devnet/clt/keys.ts';
import { argumentsJson, type Call } from '../../schemas/function-call.ts';
import { transactionHash } from '../../schemas/raw-transaction.ts';
import type {
  BlockAppended,
  BlockTransaction,
  ChainEvent,
} from '../../schemas/chain.blocks/events.ts';

export type TransactionByHand = Pick<BlockTransaction, 'from' | 'to'> & Partial<BlockTransaction>;

export interface EffectByHand {
  readonly address: Buffer;
  readonly delta: bigint;
  readonly kind?: string;
  /** by default null: an effect of the block itself */
  readonly tx_index?: number | null;
  readonly counterparty?: Buffer | null;
}

export interface BlockByHand {
  /** by default `PRODUCER` */
  readonly producer?: Buffer;
  readonly transactions?: readonly TransactionByHand[];
  readonly effects?: readonly EffectByHand[];
}

const BEGINNING = 1_700_000_000_000;

/** Bytes that read as this name: an address, or a hash if 32 are wanted. */
export function named(name: string, bytes = 20): Buffer {
  return Buffer.from(name.padEnd(bytes, '.'));
}

export const PRODUCER = named('producer');

/** A transfer, Mint or Burn that this key has signed, as a block shows it. */
export function signedCall(
  key: Key,
  nonce: number,
  call: Call<'Mint' | 'Transfer' | 'Burn'>,
  chainId = 7777,
): TransactionByHand {
  const raw = Buffer.from(signCall(key, chainId, nonce, call));
  return {
    from: bytesOf(key.address),
    to: call.function_call_type === 'Burn' ? Buffer.alloc(20) : bytesOf(call.arguments.to),
    nonce,
    amount: call.arguments.amount,
    function_call_type: call.function_call_type,
    arguments: argumentsJson(call),
    hash: bytesOf(transactionHash(raw)),
    raw,
  };
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

export class ChainByHand {
  readonly log: ChainEvent[] = [];
  readonly #standing: BlockAppended[] = [];

  get height(): number {
    return this.#standing.length - 1;
  }

  /** A block on top. Nonces run on by themselves, where none is given. */
  append({
    producer = PRODUCER,
    transactions = [],
    effects = [],
  }: BlockByHand = {}): BlockAppended {
    const height = this.#standing.length;
    const listed: BlockTransaction[] = [];
    for (const transaction of transactions) listed.push(this.#transaction(transaction, listed));
    const block: BlockAppended = {
      type: 'BlockAppended',
      sequence: this.log.length,
      height,
      hash: named(`block ${this.log.length}`, 32),
      parent_hash: this.#standing.at(-1)?.hash ?? Buffer.alloc(32),
      timestamp: BEGINNING + 1_000 * height,
      producer,
      reward_recipient: producer,
      block_reward: 0n,
      transactions: listed,
      balance_effects: effects.map((effect) => ({
        kind: 'transfer_in',
        tx_index: null,
        counterparty: null,
        ...effect,
      })),
    };
    this.#standing.push(block);
    this.log.push(block);
    return block;
  }

  /** Reverts the newest blocks. */
  revert(blocks = 1): void {
    for (let left = blocks; left > 0; left--) {
      const block = this.#standing.pop();
      if (block === undefined) throw new Error('there is no block to revert');
      const { height, hash, parent_hash } = block;
      this.log.push({
        type: 'BlockReverted',
        sequence: this.log.length,
        height,
        hash,
        parent_hash,
      });
    }
  }

  finalize(height: number = this.height): void {
    const hash = this.#standing[height]?.hash;
    if (hash === undefined) throw new Error(`there is no block ${height} to become final`);
    this.log.push({ type: 'BlocksFinalized', sequence: this.log.length, height, hash });
  }

  #transaction(given: TransactionByHand, before: readonly BlockTransaction[]): BlockTransaction {
    return {
      hash: named(`transaction ${this.log.length} ${before.length}`, 32),
      index: before.length,
      nonce: given.nonce ?? this.#signedBy(given.from, before),
      amount: 1n,
      function_call_type: 'Transfer',
      arguments: {},
      referrer: null,
      request_referrer: null,
      offer_referrer: null,
      request_referrer_fee: 0n,
      offer_referrer_fee: 0n,
      raw: Buffer.alloc(0),
      ...given,
    };
  }

  #signedBy(from: Buffer, before: readonly BlockTransaction[]): number {
    const signed = [...this.#standing.flatMap(({ transactions }) => transactions), ...before];
    return signed.filter((transaction) => transaction.from.equals(from)).length;
  }
}
