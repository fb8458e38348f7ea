/** The logs of a world, read by the real folds: each record, its writer and its effect. */
import { bytesKey } from '../../../schemas/address.ts';
import {
  isDepositAddressEvent,
  type DepositAddressEvent,
} from '../../../schemas/deposit.addresses/events.ts';
import { BrokenChain, hashOfValue } from '../../../schemas/hash-chain.ts';
import { isReserveEvent, type ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import {
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../../schemas/topics.ts';
import {
  isTreasuryEvent,
  type DepositConfirmed,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import { isTransferEvent, type TransferEvent } from '../../../schemas/tron.transfers/events.ts';
import { AddressBook } from '../../../projections/deposits/domain/address-book.ts';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import type { Codec } from '../../../services/runtime/kafka/codec.ts';
import type { LogRecord } from '../../../services/runtime/kafka/record.ts';
import { NewestRun } from '../../../services/treasury/reconciliation/newest-run.ts';
import type { MemoryKafka } from '../../support/memory-kafka.ts';

/** The owner of the key that signed a forged record. */
export type Signer = 'nobody' | 'stranger' | 'operator';

export interface Forged {
  readonly signer: Signer;
  readonly words: string;
}

export interface Placed<Event> {
  readonly event: Event;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  /** undefined: an honest record */
  readonly forged: Forged | undefined;
  /** it changed what is folded from its topic */
  readonly counts: boolean;
}

export class Logs {
  readonly ledger = new Ledger();
  readonly book = new AddressBook();
  readonly newest: NewestRun;
  readonly of_ledger: Placed<TreasuryEvent>[] = [];
  readonly of_addresses: Placed<DepositAddressEvent>[] = [];
  readonly of_transfers: Placed<TransferEvent>[] = [];
  readonly of_runs: Placed<ReserveReconciled>[] = [];
  /** the confirmations that count, by deposit */
  readonly confirmed = new Map<string, Placed<DepositConfirmed>>();
  /** a record contradicts those before it, and nobody reads on */
  broken: string | undefined;
  readonly #kafka: MemoryKafka;
  readonly #codec: Codec;
  /** indexes of the transfers that the log has, by address and transaction */
  readonly #seen = new Map<string, Set<number>>();
  /** by topic, partition and offset */
  readonly #forged = new Map<string, Forged>();

  constructor(kafka: MemoryKafka, codec: Codec, authority: Buffer) {
    this.#kafka = kafka;
    this.#codec = codec;
    this.newest = new NewestRun(authority);
    this.newest.read();
  }

  /** A stranger appends there. */
  forge(
    topic: string,
    partition: number,
    records: readonly { readonly event: { readonly type: string }; readonly forged: Forged }[],
    timestamp: number,
  ): void {
    const entries = records.map(({ event }) => ({
      key: 'forged',
      value: this.#codec.encode(event),
      headers: { event_type: event.type },
      timestamp,
    }));
    const first = this.#kafka.append(topic, partition, entries);
    for (const [at, { forged }] of records.entries())
      this.#forged.set(placeOf(topic, partition, first + BigInt(at)), forged);
    this.read();
  }

  /** Folds what is new. */
  read(): void {
    if (this.broken !== undefined) return;
    try {
      this.#next(DEPOSIT_ADDRESSES.name, 0, this.of_addresses.length, (record) =>
        this.#address(record),
      );
      for (let partition = 0; partition < TRON_TRANSFERS.partitions; partition++) {
        const { length } = this.of_transfers.filter((each) => each.partition === partition);
        this.#next(TRON_TRANSFERS.name, partition, length, (record) =>
          this.#transfer(partition, record),
        );
      }
      this.#next(RESERVE_RUNS.name, 0, this.of_runs.length, (record) => this.#run(record));
      this.#next(TREASURY_LEDGER.name, 0, this.of_ledger.length, (record) => this.#entry(record));
    } catch (error) {
      if (!(error instanceof BrokenChain)) throw error;
      this.broken = error.message;
    }
  }

  /** Whether each of these events counts behind the ledger as it is. */
  wouldCount(events: readonly TreasuryEvent[]): boolean {
    this.read();
    if (this.broken !== undefined) return false;
    const ledger = new Ledger();
    for (const { event, offset } of this.of_ledger)
      ledger.apply(event, offset, hashOfValue(this.#valueAt(offset)));
    try {
      return events.every((event) => ledger.apply(event, ledger.end) === 'applied');
    } catch (error) {
      if (!(error instanceof BrokenChain)) throw error;
      return false;
    }
  }

  /** Derivation indexes of the deposit addresses among these, as the watcher's tables have them. */
  watchedAmong(addresses: readonly Buffer[]): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    for (let index = 0; index < this.book.size; index++) {
      const owner = this.book.ownerAt(index);
      const address = owner && this.book.addressOf(owner);
      if (address !== undefined && addresses.some((each) => each.equals(address)))
        found.set(address.toString('hex'), index);
    }
    return found;
  }

  /** The transfers to an address that the log has, by transaction, as the watcher's tables say. */
  seenTo(address: Buffer, txIds: readonly Buffer[]): ReadonlyMap<string, ReadonlySet<number>> {
    return new Map(
      txIds.flatMap((txId) => {
        const known = this.#seen.get(seenKey(address, txId));
        return known === undefined ? [] : [[txId.toString('hex'), known] as const];
      }),
    );
  }

  #valueAt(offset: bigint): Buffer | null {
    return this.#kafka.records(TREASURY_LEDGER.name, 0)[Number(offset)]?.value ?? null;
  }

  #next(topic: string, partition: number, from: number, take: (record: LogRecord) => void): void {
    for (const record of this.#kafka.records(topic, partition).slice(from)) take(record);
  }

  #event<Event extends { readonly type: string }>(
    { value, headers }: LogRecord,
    isEvent: (event: { readonly type: string }) => event is Event,
  ): Event {
    const event = this.#codec.decode(value, headers);
    if (!isEvent(event)) throw new Error(`${event.type} stands in another topic`);
    return event;
  }

  #placed<Event>(
    topic: string,
    partition: number,
    offset: bigint,
    said: { readonly event: Event; readonly counts: boolean },
  ): Placed<Event> {
    const forged = this.#forged.get(placeOf(topic, partition, offset));
    return { ...said, topic, partition, offset, forged };
  }

  #address(record: LogRecord): void {
    const { offset } = record;
    const event = this.#event(record, isDepositAddressEvent);
    const counts = this.book.apply(event, offset, hashOfValue(record.value)) === 'applied';
    this.of_addresses.push(this.#placed(DEPOSIT_ADDRESSES.name, 0, offset, { event, counts }));
  }

  #transfer(partition: number, record: LogRecord): void {
    const { offset } = record;
    const event = this.#event(record, isTransferEvent);
    let counts = false;
    if (event.type === 'TransferObserved' && transferPartition(event.to) === partition) {
      const key = seenKey(event.to, event.tx_id);
      const known = this.#seen.get(key) ?? new Set();
      counts = !known.has(event.log_index);
      this.#seen.set(key, known.add(event.log_index));
    }
    this.of_transfers.push(this.#placed(TRON_TRANSFERS.name, partition, offset, { event, counts }));
  }

  #run(record: LogRecord): void {
    const { offset, timestamp } = record;
    const event = this.#event(record, isReserveEvent);
    const { run, own } = this.newest;
    this.newest.fold({
      topic: RESERVE_RUNS.name,
      partition: 0,
      from: offset,
      next: offset + 1n,
      events: [{ event, partition: 0, offset, timestamp, value_hash: hashOfValue(record.value) }],
      fingerprints: [],
      sizes: [],
    });
    const counts = this.newest.run !== run || this.newest.own !== own;
    this.of_runs.push(this.#placed(RESERVE_RUNS.name, 0, offset, { event, counts }));
  }

  #entry(record: LogRecord): void {
    const { offset } = record;
    const event = this.#event(record, isTreasuryEvent);
    const counts = this.ledger.apply(event, offset, hashOfValue(record.value)) === 'applied';
    const placed = this.#placed(TREASURY_LEDGER.name, 0, offset, { event, counts });
    this.of_ledger.push(placed);
    if (counts && event.type === 'DepositConfirmed')
      this.confirmed.set(event.deposit_id, { ...placed, event });
  }
}

function placeOf(topic: string, partition: number, offset: bigint): string {
  return `${topic}/${partition}@${offset}`;
}

function seenKey(address: Buffer, txId: Buffer): string {
  return `${bytesKey(address)}${bytesKey(txId)}`;
}
