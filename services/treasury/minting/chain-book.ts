/**
 * The transactions of every mint authority that the ledger has had, and the final Mints among them
 * that the ledger does not explain.
 */
import { bytesKey } from '../../../schemas/address.ts';
import { BrokenChain } from '../../../schemas/hash-chain.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import {
  Sender,
  type ForgedTransaction,
  type SenderState,
  type SentTransaction,
} from '../../../projections/chain/sender.ts';
import type { Ledger, RequestedMint } from '../../../projections/deposits/domain/ledger.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';

/** Everything that was folded. */
export interface ChainBookState {
  /** by address, as `bytesKey` gives it */
  readonly senders: ReadonlyMap<string, SenderState>;
}

export interface ChainBookOptions {
  readonly chain_id: number;
  readonly ledger: Ledger;
  /** the account of our own key, 20 bytes: the first authority, if the ledger names none */
  readonly own: Buffer;
}

export class ChainBook {
  readonly #options: ChainBookOptions;
  /** by address, as `bytesKey` gives it; each from the first block on */
  #senders: ReadonlyMap<string, Sender>;
  /** final Mints whose deposits the ledger does not show as credited */
  #open: SentTransaction[] = [];

  /** Follows the authorities that the ledger, read to its end, has had so far, and our own key. */
  constructor(options: ChainBookOptions) {
    this.#options = options;
    const { ledger, own } = options;
    const addresses = [...ledger.governance.authorities, own];
    this.#senders = new Map(addresses.map((each) => [bytesKey(each), this.#senderOf(each)]));
  }

  /** To be copied at once: it changes with the next record. */
  get state(): ChainBookState {
    const senders = [...this.#senders].map(([key, { state }]) => [key, state] as const);
    return { senders: new Map(senders) };
  }

  /** Goes on from the state of another. False: that one has followed other authorities. */
  restore({ senders }: ChainBookState): boolean {
    const isSame =
      senders.size === this.#senders.size &&
      [...senders.keys()].every((key) => this.#senders.has(key));
    if (!isSame) return false;
    this.#senders = new Map(
      [...this.#senders].map(([key, { address }]) => [
        key,
        this.#senderOf(address, senders.get(key)),
      ]),
    );
    // also those that the ledger has explained before: it may have taken that back
    this.#open = [];
    for (const { final } of senders.values()) this.#open.push(...final.values().filter(isMint));
    this.#open.sort(byHeight);
    return true;
  }

  #senderOf(address: Buffer, state?: SenderState): Sender {
    const { chain_id, ledger } = this.#options;
    const hasSigned = (txHash: Buffer): boolean => {
      const mint = ledger.requestedBy(txHash);
      return mint !== undefined && this.#authorityOf(mint).equals(address);
    };
    const onFinal = (transaction: SentTransaction): void => {
      if (isMint(transaction)) this.#open.push(transaction);
    };
    return new Sender({ address, chain_id, hasSigned, onFinal }, state);
  }

  /** The transactions of the authority in force. */
  get sender(): Sender {
    const { ledger, own } = this.#options;
    return this.#of(ledger.governance.authority?.authority ?? own) ?? this.#any;
  }

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#any.end;
  }

  /** The first forged transaction of an authority in a final block. */
  get forged(): ForgedTransaction | undefined {
    for (const { forged } of this.#senders.values()) if (forged !== undefined) return forged;
    return undefined;
  }

  /** Whether every authority is followed: one that the ledger has had since is not. */
  get is_complete(): boolean {
    const { authorities } = this.#options.ledger.governance;
    return authorities.every((each) => this.#of(each) !== undefined);
  }

  /** Throws `BrokenChain` for an impossible record. */
  fold({ events }: Pick<Decoded<ChainEvent>, 'events'>): void {
    for (const { event, offset } of events)
      for (const sender of this.#senders.values()) {
        const verdict = sender.apply(event, offset);
        if (verdict !== undefined) throw new BrokenChain(offset, verdict.broken);
      }
  }

  /** The final transaction with the nonce of a mint, of the authority that requested it. */
  finalOf(mint: RequestedMint): SentTransaction | undefined {
    return this.#of(this.#authorityOf(mint))?.finalAt(mint.nonce);
  }

  /** Whether a final block carried out just this mint. */
  isMinted(mint: RequestedMint): boolean {
    const found = this.finalOf(mint);
    return (
      found?.tx_hash.equals(mint.tx_hash) === true &&
      found.minted?.amount === mint.amount &&
      found.minted.to.equals(mint.to)
    );
  }

  /** Whether the authority in force requested the mint. */
  isOfAuthority(mint: RequestedMint): boolean {
    const { authority } = this.#options.ledger.governance;
    return authority?.authority.equals(this.#authorityOf(mint)) === true;
  }

  /**
   * Whether a mint that was given up is not on the chain and never will be: a final block shows its
   * nonce with another transaction of its authority, or shows that it was not carried out.
   */
  isOver(mint: RequestedMint): boolean {
    const found = this.finalOf(mint);
    return (
      found !== undefined && (!found.tx_hash.equals(mint.tx_hash) || found.minted === undefined)
    );
  }

  /**
   * Final Mints that no intent, baseline or acknowledgement covers. Reliable once the ledger is
   * read to its end.
   */
  get unexplained(): readonly SentTransaction[] {
    this.#open = this.#open.filter((sent) => this.#verdictOn(sent) !== 'done');
    return this.#open.filter((sent) => this.#verdictOn(sent) === 'unexplained');
  }

  /** `in_flight`: not concluded yet; whoever writes that it is dead leaves it unexplained. */
  #verdictOn({
    tx_hash,
    block_height,
    minted,
  }: SentTransaction): 'done' | 'in_flight' | 'unexplained' {
    const { ledger } = this.#options;
    const { baseline, acknowledged } = ledger.governance;
    if (baseline !== undefined && block_height <= baseline.block_height) return 'done';
    const accepted = acknowledged.get(bytesKey(tx_hash));
    if (accepted !== undefined)
      return accepted.block_height === block_height &&
        (minted === undefined ||
          (accepted.amount === minted.amount && accepted.to.equals(minted.to)))
        ? 'done'
        : 'unexplained';
    const mint = ledger.requestedBy(tx_hash);
    if (mint === undefined) return 'unexplained';
    // a failed mint is requested again, with other bytes
    if (minted === undefined) return 'done';
    const deposit = ledger.deposit(mint.deposit_id);
    if (!('mint' in deposit) || !deposit.mint.tx_hash.equals(tx_hash)) return 'unexplained';
    return deposit.status === 'credited' ? 'done' : 'in_flight';
  }

  /** The first authority requested what was requested before the ledger named one. */
  #authorityOf({ authority }: RequestedMint): Buffer {
    const { ledger, own } = this.#options;
    return authority ?? ledger.governance.authorities[0] ?? own;
  }

  #of(address: Buffer): Sender | undefined {
    return this.#senders.get(bytesKey(address));
  }

  get #any(): Sender {
    const [sender] = this.#senders.values();
    if (sender === undefined) throw new Error('a chain book follows at least one account');
    return sender;
  }
}

function isMint({ function_call_type: functionCallType }: SentTransaction): boolean {
  return functionCallType === 'Mint';
}

function byHeight(one: SentTransaction, other: SentTransaction): number {
  return one.block_height - other.block_height;
}
