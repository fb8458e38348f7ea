/** The ledger and the addresses as read so far, with checks that both topics belong together. */
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { toHex } from '../../../schemas/address.ts';
import type { DepositKey } from '../../../schemas/deposit-address.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import type { DepositConfirmed, TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';
import { Fault } from '../../runtime/process/errors.ts';

export class Books {
  readonly ledger = new Ledger();
  readonly #key: DepositKey;
  readonly #onApplied: (event: TreasuryEvent) => void;
  /** the newest deposit of each partition of `tron.transfers` */
  readonly #furthest = new Map<number, DepositConfirmed>();
  /** the first deposit of each deposit address, by its bytes in latin1 */
  readonly #firsts = new Map<string, DepositConfirmed>();

  /** `key` derives every deposit address. `onApplied` receives every event that counts. */
  constructor(key: DepositKey, onApplied: (event: TreasuryEvent) => void) {
    this.#key = key;
    this.#onApplied = onApplied;
  }

  foldLedger({ events }: Decoded<TreasuryEvent>): void {
    for (const { event, offset, value_hash: hash } of events) {
      if (this.ledger.apply(event, offset, hash) !== 'applied') continue;
      if (event.type === 'DepositConfirmed') this.#confirmed(event);
      this.#onApplied(event);
    }
  }

  /** Throws `another_key` when the addresses are derived from another key than ours. */
  foldAddresses({ events }: Decoded<DepositAddressEvent>): void {
    const { addresses } = this.ledger;
    for (const { event, offset } of events) addresses.apply(event, offset);
    // a chunk at a time: all together would keep the process from answering
    addresses.derive();
    const { fingerprint } = addresses.scheme ?? this.#key;
    if (fingerprint.equals(this.#key.fingerprint)) return;
    throw new Fault(
      'another_key',
      `deposit.addresses is pinned to the key with fingerprint ${toHex(fingerprint)}, APP_DEPOSIT_XPUB is the one with fingerprint ${toHex(this.#key.fingerprint)}. What to do: set the key that the deposit gateway has, or point APP_KAFKA_BROKERS to the right cluster, then start the treasury again; nothing is written meanwhile`,
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

  furthestIn(partition: number): DepositConfirmed | undefined {
    return this.#furthest.get(partition);
  }

  /** A first deposit, among those of the newest addresses, whose owner has another address now. */
  strangerAmong(newest: number): DepositConfirmed | undefined {
    return [...this.#firsts.values()].slice(-newest).find((first) => !this.owns(first));
  }

  /** An earlier deposit of the same address with another owner. */
  contradicted({ deposit_address, clt_address }: DepositConfirmed): DepositConfirmed | undefined {
    const first = this.#firsts.get(deposit_address.toString('latin1'));
    return first === undefined || first.clt_address.equals(clt_address) ? undefined : first;
  }

  #confirmed(event: DepositConfirmed): void {
    const key = event.deposit_address.toString('latin1');
    if (!this.#firsts.has(key)) this.#firsts.set(key, event);
    const before = this.#furthest.get(event.transfer_partition)?.transfer_offset ?? -1;
    if (event.transfer_offset > before) this.#furthest.set(event.transfer_partition, event);
  }
}
