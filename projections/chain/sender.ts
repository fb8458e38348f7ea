/** One account's own transactions in `chain.blocks`, in final and in revertible blocks. */
import { bytesKey } from '../../schemas/address.ts';
import type {
  BlockAppended,
  BlockTransaction,
  ChainEvent,
} from '../../schemas/chain.blocks/events.ts';
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

export class Sender {
  readonly #address: Buffer;
  readonly #onFinal: (transaction: SentTransaction) => void;
  #chain: Chain = EMPTY_CHAIN;
  #end = 0n;
  /** of the revertible blocks, by height */
  readonly #revertible = new Map<number, readonly SentTransaction[]>();
  readonly #revertibleHashes = new Set<string>();
  readonly #final = new Map<number, SentTransaction>();
  #nextNonce = 0;

  /** `onFinal` receives each transaction once its block is final, in the order of the chain. */
  constructor(address: Buffer, onFinal: (transaction: SentTransaction) => void) {
    this.#address = address;
    this.#onFinal = onFinal;
  }

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#end;
  }

  /** -1: nothing is final yet. */
  get finalHeight(): number {
    return this.#chain.status === 'empty' ? -1 : this.#chain.finalized_height;
  }

  /** Its next nonce as of the newest final block. */
  get finalNonce(): number {
    return this.#nextNonce;
  }

  /** Its final transaction with this nonce. */
  finalAt(nonce: number): SentTransaction | undefined {
    return this.#final.get(nonce);
  }

  /** Whether the transaction is in a block, final or not. */
  has(nonce: number, txHash: Buffer): boolean {
    return (
      this.#final.get(nonce)?.tx_hash.equals(txHash) === true ||
      this.#revertibleHashes.has(bytesKey(txHash))
    );
  }

  /** Folds the record at this offset; every record, in order. `broken`: an impossible log. */
  apply(event: ChainEvent, offset: bigint): { readonly broken: string } | undefined {
    if (offset < this.#end) return undefined;
    if (offset > this.#end)
      throw new Error(
        `chain.blocks goes on at ${this.#end}, not at ${offset}: records are missing`,
      );
    this.#end++;
    const judged = evolve(this.#chain, event, offset);
    if (judged.verdict === 'broken') return { broken: judged.reason };
    if (judged.verdict !== 'applied') return undefined;
    const before = this.finalHeight;
    this.#chain = judged.chain;
    switch (event.type) {
      case 'BlockAppended':
        this.#appended(event);
        break;
      case 'BlockReverted':
        for (const { tx_hash } of this.#revertible.get(event.height) ?? [])
          this.#revertibleHashes.delete(bytesKey(tx_hash));
        this.#revertible.delete(event.height);
        break;
      case 'BlocksFinalized':
        for (let height = before + 1; height <= event.height; height++) this.#finalized(height);
        break;
    }
    return undefined;
  }

  #appended(block: BlockAppended): void {
    const own = block.transactions
      .filter(({ from }) => from.equals(this.#address))
      .map((each) => sentIn(block, each));
    if (own.length === 0) return;
    this.#revertible.set(block.height, own);
    for (const { tx_hash } of own) this.#revertibleHashes.add(bytesKey(tx_hash));
  }

  #finalized(height: number): void {
    for (const sent of this.#revertible.get(height) ?? []) {
      this.#revertibleHashes.delete(bytesKey(sent.tx_hash));
      this.#final.set(sent.nonce, sent);
      this.#nextNonce = sent.nonce + 1;
      this.#onFinal(sent);
    }
    this.#revertible.delete(height);
  }
}

function sentIn(
  block: BlockAppended,
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
