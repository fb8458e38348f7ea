/** The ledger and the addresses as read so far, with checks that both topics belong together. */
import type { Recorded } from '../../../projections/contract/projection.ts';
import { Ledger, type RequestedMint } from '../../../projections/deposits/domain/ledger.ts';
import { isTransferOf } from '../../../projections/deposits/domain/proof.ts';
import { bytesKey, toHex } from '../../../schemas/address.ts';
import type { DepositKey } from '../../../schemas/deposit-address.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import type { TransferEvent, TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import {
  depositEventsIn,
  type DepositConfirmed,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';
import { restartWith } from '../../runtime/process/config.ts';
import { Fault } from '../../runtime/process/errors.ts';

/** Deposits of each partition whose transfers are looked up at a start. */
const NEWEST_MAX = 10;

/** A deposit that is not credited yet. */
export interface Confirmation {
  readonly event: DepositConfirmed;
  /** the record that the event names; undefined until it is read, or when it is another */
  readonly transfer: TransferObserved | undefined;
}

export class Books {
  readonly ledger = new Ledger();
  readonly #key: DepositKey;
  readonly #onApplied: (event: TreasuryEvent) => void;
  #state = {
    /** the newest deposits of each partition of `tron.transfers`, the newest transfer first */
    newest: new Map<number, readonly DepositConfirmed[]>(),
    /** the newest of each partition whose mint was requested: that takes the authority's key */
    minted: new Map<number, DepositConfirmed>(),
    /** deposit addresses that are children of the key, by their `bytesKey` */
    own: new Set<string>(),
    /** of the deposits that are not credited, by id */
    confirmations: new Map<string, Confirmation>(),
    /** the mints of deposits that the ledger calls credited, until a final block has shown them */
    credits: new Map<string, RequestedMint>(),
    /** deposits that wait for a person */
    held: new Set<string>(),
    /** the first deposit of each deposit address, by its `bytesKey` */
    firsts: new Map<string, DepositConfirmed>(),
  };

  /** `key` derives every deposit address. `onApplied` receives every event that counts. */
  constructor(key: DepositKey, onApplied: (event: TreasuryEvent) => void) {
    this.#key = key;
    this.#onApplied = onApplied;
  }

  /** Everything folded of the ledger, to be copied at once: it changes with the next record. */
  get state() {
    return { ...this.#state, ledger: this.ledger.state };
  }

  /** Goes on from the state of another; the addresses have their own. */
  restore({ ledger, ...own }: Books['state']): void {
    this.#state = own;
    this.ledger.restore(ledger);
  }

  foldLedger({ events }: Decoded<TreasuryEvent>): void {
    for (const { event, offset, value_hash: valueHash } of events) {
      if (this.ledger.apply(event, offset, valueHash) !== 'applied') continue;
      if (event.type === 'DepositConfirmed') this.#confirmed(event);
      if (event.type === 'MintIntended') this.#intended(event.deposit_id);
      if (event.type === 'MintCredited') this.#credited(event.deposit_id);
      if (event.type === 'MintVoided') this.#state.credits.delete(event.deposit_id);
      for (const { deposit_id: depositId } of depositEventsIn(event)) this.#noteHeld(depositId);
      this.#onApplied(event);
    }
  }

  /** Throws `another_key` when the addresses are derived from another key than ours. */
  foldAddresses({ events }: Decoded<DepositAddressEvent>): void {
    const { addresses } = this.ledger;
    for (const { event, offset, value_hash: valueHash } of events)
      addresses.apply(event, offset, valueHash);
    // a chunk at a time: all together would keep the process from answering
    addresses.derive();
    const { fingerprint } = addresses.scheme ?? this.#key;
    if (fingerprint.equals(this.#key.fingerprint)) return;
    throw new Fault(
      'another_key',
      `deposit.addresses is pinned to the key with fingerprint ${toHex(fingerprint)}, APP_DEPOSIT_XPUB is the one with fingerprint ${toHex(this.#key.fingerprint)}. What to do: set the key that the deposit gateway has (${restartWith('treasury', 'APP_DEPOSIT_XPUB=KEY')}), or point APP_KAFKA_BROKERS to the right cluster (${restartWith('treasury', 'APP_KAFKA_BROKERS=HOST:PORT')}); nothing is written meanwhile`,
      { retry: false },
    );
  }

  /** Whether the account has this address, in the log and among the children of the key. */
  owns({
    clt_address,
    deposit_address,
  }: Pick<DepositConfirmed, 'clt_address' | 'deposit_address'>): boolean {
    return this.ledger.addresses.isDerived(this.#key, clt_address, deposit_address);
  }

  /** Whether one of these accounts has this address; derives it the first time. */
  isOurs(deposit_address: Buffer, accounts: readonly Buffer[]): boolean {
    const key = bytesKey(deposit_address);
    if (this.#state.own.has(key)) return true;
    const isOurs = accounts.some((clt_address) => this.owns({ clt_address, deposit_address }));
    if (isOurs) this.#state.own.add(key);
    return isOurs;
  }

  /** The newest deposits of a partition of `tron.transfers`, of which strangers may write any. */
  newestIn(partition: number): readonly DepositConfirmed[] {
    const minted = this.#state.minted.get(partition);
    return [
      ...(this.#state.newest.get(partition) ?? []),
      ...(minted === undefined ? [] : [minted]),
    ];
  }

  /** Deposits that wait for a person. */
  get held(): Iterable<string> {
    return this.#state.held;
  }

  /**
   * Credits that no final block has shown so far. `isShown`: whether one has the mint; those are
   * forgotten with their confirmations.
   */
  creditsNotShown(isShown: (mint: RequestedMint) => boolean): readonly RequestedMint[] {
    for (const [id, mint] of this.#state.credits) {
      if (!isShown(mint)) continue;
      this.#state.credits.delete(id);
      this.#state.confirmations.delete(id);
    }
    return [...this.#state.credits.values()];
  }

  /** Undefined for a deposit whose credit was shown, or that is not confirmed. */
  confirmation(depositId: string): Confirmation | undefined {
    return this.#state.confirmations.get(depositId);
  }

  /** Notes a record of `tron.transfers`; true when it is the transfer that a deposit names. */
  observed({ event, partition, offset }: Omit<Recorded<TransferEvent>, 'timestamp'>): boolean {
    if (event.type !== 'TransferObserved') return false;
    const id = depositIdOf(event.tx_id, event.log_index);
    const known = this.#state.confirmations.get(id);
    const isNamed =
      known !== undefined &&
      known.event.transfer_partition === partition &&
      BigInt(known.event.transfer_offset) === offset &&
      isTransferOf(known.event, event);
    if (isNamed) this.#state.confirmations.set(id, { ...known, transfer: event });
    return isNamed;
  }

  /**
   * A first deposit, among those of the newest addresses, whose owner has another address now: one
   * that is credited, or any when this is so of most of them. A single other one may be forged, and
   * is never minted.
   */
  strangerAmong(newest: number): DepositConfirmed | undefined {
    const firsts = [...this.#state.firsts.values()].slice(-newest);
    const strangers = firsts.filter((first) => !this.owns(first));
    if (strangers.length * 2 > firsts.length) return strangers[0];
    return strangers.find((first) => this.#isCredited(first));
  }

  /** An earlier, credited deposit of the same address with another owner. */
  contradicted({ deposit_address, clt_address }: DepositConfirmed): DepositConfirmed | undefined {
    const first = this.#state.firsts.get(bytesKey(deposit_address));
    return first === undefined || first.clt_address.equals(clt_address) || !this.#isCredited(first)
      ? undefined
      : first;
  }

  #isCredited({ deposit_id: depositId }: DepositConfirmed): boolean {
    return this.ledger.deposit(depositId).status === 'credited';
  }

  #intended(id: string): void {
    const event = this.#state.confirmations.get(id)?.event;
    if (event === undefined) return;
    const newest = this.#state.minted.get(event.transfer_partition)?.transfer_offset ?? -1;
    if (event.transfer_offset > newest) this.#state.minted.set(event.transfer_partition, event);
  }

  #credited(id: string): void {
    const deposit = this.ledger.deposit(id);
    const mint = 'mint' in deposit ? this.ledger.requestedAt(deposit.mint.sequence) : undefined;
    if (mint !== undefined) this.#state.credits.set(id, mint);
  }

  #noteHeld(id: string): void {
    const deposit = this.ledger.deposit(id);
    if (deposit.status === 'needs_manual' && !deposit.rejected) this.#state.held.add(id);
    else this.#state.held.delete(id);
  }

  #confirmed(event: DepositConfirmed): void {
    const { deposit_id, deposit_address, transfer_partition: transferPartition } = event;
    const key = bytesKey(deposit_address);
    if (!this.#state.firsts.has(key)) this.#state.firsts.set(key, event);
    this.#state.confirmations.set(deposit_id, { event, transfer: undefined });
    const newest = this.#state.newest.get(transferPartition) ?? [];
    if (event.transfer_offset > (newest.at(NEWEST_MAX - 1)?.transfer_offset ?? -1))
      this.#state.newest.set(
        transferPartition,
        [event, ...newest]
          .toSorted((one, other) => other.transfer_offset - one.transfer_offset)
          .slice(0, NEWEST_MAX),
      );
  }
}
