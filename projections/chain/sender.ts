/**
 * One account's own transactions in `chain.blocks`, in final and in revertible blocks.
 *
 * A block is the word of a node. A transaction that names the account as its sender counts only
 * when its bytes prove it: they hash to its hash, say what the block says of nonce and call, and
 * carry the account's signature. One that does not prove itself is forged: it takes no nonce and
 * shows no outcome.
 */
import { bytesKey, toHex } from '../../schemas/address.ts';
import type {
  BlockAppended,
  BlockTransaction,
  ChainEvent,
} from '../../schemas/chain.blocks/events.ts';
import { argumentsJson } from '../../schemas/function-call.ts';
import {
  decodeRaw,
  readEnvelope,
  recoverSigner,
  transactionHash,
  type SignedTransaction,
} from '../../schemas/raw-transaction.ts';
import { EMPTY_CHAIN, evolve, type Chain } from './chain.ts';

export interface SentTransaction {
  readonly nonce: number;
  readonly tx_hash: Buffer;
  readonly function_call_type: string;
  readonly block_height: number;
  readonly block_hash: Buffer;
  /** the amount and account of a Mint; undefined: another call, or a failed one */
  readonly minted: { readonly to: Buffer; readonly amount: bigint } | undefined;
}

/** A transaction of a final block that the account did not send, although the block says so. */
export interface ForgedTransaction {
  readonly tx_hash: Buffer;
  readonly block_height: number;
  readonly reason: string;
}

/** The sender that a block names. */
export interface Claim {
  /** 20 bytes */
  readonly address: Buffer;
  /** undefined: any */
  readonly chain_id?: number;
  /** whether the account is known to have signed the bytes of this hash; a recovery takes ms */
  readonly hasSigned?: (txHash: Buffer) => boolean;
}

export interface SenderOptions extends Claim {
  readonly chain_id: number;
  /** receives each transaction once its block is final, in the order of the chain */
  readonly onFinal?: (transaction: SentTransaction) => void;
}

export interface FinalBlock {
  readonly height: number;
  readonly hash: Buffer;
  /** block time, Unix milliseconds */
  readonly timestamp: number;
}

/** A block's claims of the account, in their order. */
interface OwnBlock {
  readonly hash: Buffer;
  readonly timestamp: number;
  readonly sent: readonly { readonly claim: SentTransaction; readonly why: string | undefined }[];
}

/** Everything that was folded. */
export interface SenderState {
  chain: Chain;
  end: bigint;
  /** the blocks that are not final, by height */
  readonly revertible: Map<number, OwnBlock>;
  readonly revertible_hashes: Set<string>;
  /** by nonce */
  readonly final: Map<number, SentTransaction>;
  final_block: FinalBlock | undefined;
  forged: ForgedTransaction | undefined;
  next_nonce: number;
}

function nothingSent(): SenderState {
  return {
    chain: EMPTY_CHAIN,
    end: 0n,
    revertible: new Map(),
    revertible_hashes: new Set(),
    final: new Map(),
    final_block: undefined,
    forged: undefined,
    next_nonce: 0,
  };
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #state: SenderState;

  /** `state`: of an earlier one with the same options, which it goes on from. */
  constructor(options: SenderOptions, state = nothingSent()) {
    this.#options = options;
    this.#state = state;
  }

  /** To be copied at once: it changes with the next record. */
  get state(): SenderState {
    return this.#state;
  }

  /** 20 bytes */
  get address(): Buffer {
    return this.#options.address;
  }

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#state.end;
  }

  /** -1: nothing is final yet. */
  get final_height(): number {
    return this.#state.final_block?.height ?? -1;
  }

  /** The newest final block; undefined before the first. */
  get final_block(): FinalBlock | undefined {
    return this.#state.final_block;
  }

  /** The first forged transaction in a final block. */
  get forged(): ForgedTransaction | undefined {
    return this.#state.forged;
  }

  /** The next nonce of the account as of the newest final block. */
  get final_nonce(): number {
    return this.#state.next_nonce;
  }

  /** The final transaction of the account with this nonce. */
  finalAt(nonce: number): SentTransaction | undefined {
    return this.#state.final.get(nonce);
  }

  /** Whether the transaction is in a block, final or not. */
  has(nonce: number, txHash: Buffer): boolean {
    return (
      this.#state.final.get(nonce)?.tx_hash.equals(txHash) === true ||
      this.#state.revertible_hashes.has(bytesKey(txHash))
    );
  }

  /** Folds the record at this offset; every record, in order. `broken`: an impossible log. */
  apply(event: ChainEvent, offset: bigint): { readonly broken: string } | undefined {
    if (offset < this.#state.end) return undefined;
    const judged = evolve(this.#state.chain, event, offset);
    if (judged.verdict === 'broken') return { broken: judged.reason };
    this.#state.end = offset + 1n;
    if (judged.verdict !== 'applied') return undefined;
    const before = this.final_height;
    this.#state.chain = judged.chain;
    switch (event.type) {
      case 'BlockAppended':
        this.#appended(event);
        break;
      case 'BlockReverted':
        this.#removed(event.height);
        break;
      case 'BlocksFinalized':
        for (let height = before + 1; height <= event.height; height++) this.#finalized(height);
        break;
    }
    return undefined;
  }

  #appended(block: BlockAppended): void {
    const sent = block.transactions
      .filter(({ from }) => from.equals(this.#options.address))
      .map((each) => ({ claim: claimIn(block, each), why: whyForged(each, this.#options) }));
    this.#state.revertible.set(block.height, {
      hash: block.hash,
      timestamp: block.timestamp,
      sent,
    });
    for (const { claim, why } of sent)
      if (why === undefined) this.#state.revertible_hashes.add(bytesKey(claim.tx_hash));
  }

  #removed(height: number): OwnBlock | undefined {
    const block = this.#state.revertible.get(height);
    for (const { claim } of block?.sent ?? [])
      this.#state.revertible_hashes.delete(bytesKey(claim.tx_hash));
    this.#state.revertible.delete(height);
    return block;
  }

  #finalized(height: number): void {
    const block = this.#removed(height);
    if (block === undefined) return;
    this.#state.final_block = { height, hash: block.hash, timestamp: block.timestamp };
    for (const { claim, why = this.#whyOutOfTurn(claim) } of block.sent) {
      if (why !== undefined) {
        this.#state.forged ??= { tx_hash: claim.tx_hash, block_height: height, reason: why };
        continue;
      }
      this.#state.final.set(claim.nonce, claim);
      this.#state.next_nonce = claim.nonce + 1;
      this.#options.onFinal?.(claim);
    }
  }

  /** A chain takes an account's nonces one after the other. */
  #whyOutOfTurn({ nonce }: SentTransaction): string | undefined {
    return nonce === this.#state.next_nonce
      ? undefined
      : `its nonce is ${nonce}, and ${this.#state.next_nonce} comes next`;
  }
}

/** The account's transactions in a block, as the block claims them. */
export function claimsIn(
  block: Pick<BlockAppended, 'height' | 'hash' | 'transactions' | 'balance_effects'>,
  address: Buffer,
): readonly SentTransaction[] {
  return block.transactions
    .filter(({ from }) => from.equals(address))
    .map((each) => claimIn(block, each));
}

function claimIn(
  block: Pick<BlockAppended, 'height' | 'hash' | 'balance_effects'>,
  { hash, index, nonce, function_call_type, to, amount }: BlockTransaction,
): SentTransaction {
  // only balance effects prove that a call was carried out
  const isDone =
    function_call_type === 'Mint' &&
    block.balance_effects.some(
      (effect) =>
        effect.tx_index === index &&
        effect.kind === 'mint' &&
        effect.delta === amount &&
        effect.address.equals(to),
    );
  const minted = isDone ? { to, amount } : undefined;
  return {
    nonce,
    tx_hash: hash,
    function_call_type,
    block_height: block.height,
    block_hash: block.hash,
    minted,
  };
}

/** The reason why the bytes do not prove that the account sent this; undefined when they do. */
export function whyForged(
  claimed: BlockTransaction,
  { address, chain_id, hasSigned }: Claim,
): string | undefined {
  if (transactionHash(claimed.raw) !== toHex(claimed.hash)) return 'its bytes have another hash';
  const decoded = decodeRaw(claimed.raw);
  if ('refused' in decoded) return `its bytes are no transaction (${decoded.refused})`;
  const { transaction } = decoded;
  if (chain_id !== undefined && transaction.chain_id !== chain_id)
    return `it is of chain ${transaction.chain_id}`;
  if (!says(transaction, claimed)) return 'its bytes say something else';
  if (hasSigned?.(claimed.hash) === true) return undefined;
  const recovered = recoverSigner(transaction);
  return 'signer' in recovered && recovered.signer === toHex(address)
    ? undefined
    : 'another key has signed it';
}

/**
 * As `whyForged`, for a call that is not known here, as one of a newer chain: the bytes have to
 * prove all but the meaning of the arguments.
 */
export function whyNotSigned(
  claimed: BlockTransaction,
  { address, chain_id }: Claim,
): string | undefined {
  if (transactionHash(claimed.raw) !== toHex(claimed.hash)) return 'its bytes have another hash';
  const envelope = readEnvelope(claimed.raw);
  if ('refused' in envelope) return `its bytes are no transaction (${envelope.refused})`;
  if (chain_id !== undefined && envelope.chain_id !== chain_id)
    return `it is of chain ${envelope.chain_id}`;
  if (
    envelope.nonce !== claimed.nonce ||
    envelope.function_call_type !== claimed.function_call_type
  )
    return 'its bytes say something else';
  return envelope.signer === toHex(address) ? undefined : 'another key has signed it';
}

/** Whether the signed bytes say what the block says: nonce, call, and what a Mint or Burn does. */
function says({ nonce, call }: SignedTransaction, claimed: BlockTransaction): boolean {
  const said = Object.entries(argumentsJson(call));
  return (
    nonce === claimed.nonce &&
    call.function_call_type === claimed.function_call_type &&
    said.length === Object.keys(claimed.arguments).length &&
    said.every(([name, value]) => claimed.arguments[name] === value) &&
    (call.function_call_type !== 'Mint' ||
      (call.arguments.to === toHex(claimed.to) && call.arguments.amount === claimed.amount)) &&
    (call.function_call_type !== 'Burn' || call.arguments.amount === claimed.amount)
  );
}
