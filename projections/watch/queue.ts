/** The entries of the queue that one batch touches. */
import { toHex } from '../../schemas/address.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { AddressesChecked } from '../../schemas/tron.transfers/events.ts';
import { bytesIn, countIn } from '../contract/loaded-row.ts';
import type { LoadedRow, Row } from '../contract/projection.ts';

/** Of `queue q`: the columns that an entry is loaded by. */
export const QUEUE_COLUMNS =
  'q.deposit_address, q.partition, q.requested, q.hot_until, q.checked_at, q.checked_until';

/** Times are Unix milliseconds, 0 when there is none yet. */
interface Entry {
  readonly address: Buffer;
  readonly partition: number;
  requested: boolean;
  hot_until: number;
  checked_at: number;
  checked_until: number;
  moved: boolean;
  heated: boolean;
}

export class Queue {
  readonly #entries = new Map<string, Entry>();

  constructor(loaded: Iterable<LoadedRow>) {
    for (const row of loaded) {
      const address = bytesIn(row, 'deposit_address');
      this.#entries.set(address.toString('latin1'), {
        address,
        partition: countIn(row, 'partition'),
        requested: row['requested'] === true,
        hot_until: countIn(row, 'hot_until'),
        checked_at: countIn(row, 'checked_at'),
        checked_until: countIn(row, 'checked_until'),
        moved: false,
        heated: false,
      });
    }
  }

  /** Somebody waits for a transfer to this address, which was requested. */
  heat(address: Buffer, until: number): void {
    const entry = this.#at(address);
    if (entry.requested && until <= entry.hot_until) return;
    entry.requested = true;
    entry.hot_until = Math.max(entry.hot_until, until);
    entry.moved = true;
    entry.heated = true;
  }

  /** Addresses of another partition have no effect. */
  check(
    { checked, checked_at: at }: AddressesChecked,
    partition: number,
  ): 'applied' | 'replayed' | 'ignored' {
    const own = checked.filter(({ address }) => transferPartition(address) === partition);
    let moved = false;
    for (const { address, until } of own) {
      const entry = this.#at(address);
      if (at <= entry.checked_at && until <= entry.checked_until) continue;
      entry.checked_at = Math.max(entry.checked_at, at);
      entry.checked_until = Math.max(entry.checked_until, until);
      entry.moved = true;
      moved = true;
    }
    if (moved) return 'applied';
    return own.length === 0 ? 'ignored' : 'replayed';
  }

  #at(address: Buffer): Entry {
    const key = address.toString('latin1');
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const times = { hot_until: 0, checked_at: 0, checked_until: 0 };
      entry = {
        address,
        partition: transferPartition(address),
        requested: false,
        ...times,
        moved: false,
        heated: false,
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  moved(): Row[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.moved)
      .map(
        ({
          address,
          partition,
          requested,
          hot_until: hotUntil,
          checked_at: at,
          checked_until: until,
        }) => [address, partition, requested, hotUntil > at, hotUntil, at, until],
      );
  }

  /** Addresses that became hot, or stay so for longer: 0x + hex. */
  heated(): string[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.heated)
      .map(({ address }) => toHex(address));
  }
}
