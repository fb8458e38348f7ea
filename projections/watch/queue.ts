/** The rows of table `queue` that one batch touches. */
import { bytesKey, toHex } from '../../schemas/address.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import { brokenRule } from '../../schemas/rules.ts';
import { TRANSFER_RULES } from '../../schemas/tron.transfers/rules.ts';
import type { AddressesChecked } from '../../schemas/tron.transfers/events.ts';
import { bytesIn, countIn } from '../contract/loaded-row.ts';
import type { LoadedRow, Row } from '../contract/projection.ts';

/** How long an address stays hot after its request or a panel opening. Part of the version. */
export const HOT_WINDOW_MS = 24 * 60 * 60 * 1000;
/** The level of the longest pause, which is the hot window. */
export const PAUSE_LEVEL_MAX = 9;
const SECOND_MS = 1_000;

/** Columns of `queue q` that an entry is read from. */
export const QUEUE_COLUMNS =
  'q.deposit_address, q.partition, q.requested, q.paid, q.openings, q.hot_until, q.checked_at, q.checked_until';

/** Times are Unix milliseconds; 0: none yet. */
interface Entry {
  readonly address: Buffer;
  readonly partition: number;
  requested: boolean;
  paid: boolean;
  openings: number;
  hot_until: number;
  checked_at: number;
  checked_until: number;
  changed: boolean;
  became_hot: boolean;
}

export class Queue {
  readonly #entries = new Map<string, Entry>();

  constructor(loaded: Iterable<LoadedRow>) {
    for (const row of loaded) {
      const address = bytesIn(row, 'deposit_address');
      this.#entries.set(bytesKey(address), {
        address,
        partition: countIn(row, 'partition'),
        requested: row['requested'] === true,
        paid: row['paid'] === true,
        openings: countIn(row, 'openings'),
        hot_until: countIn(row, 'hot_until'),
        checked_at: countIn(row, 'checked_at'),
        checked_until: countIn(row, 'checked_until'),
        changed: false,
        became_hot: false,
      });
    }
  }

  /** Makes an address hot that an account has requested or looks at. */
  open(address: Buffer, at: number): void {
    const entry = this.#at(address);
    const until = at + HOT_WINDOW_MS;
    entry.became_hot ||= !entry.requested || until > entry.hot_until;
    entry.requested = true;
    entry.openings++;
    entry.hot_until = Math.max(entry.hot_until, until);
    entry.changed = true;
  }

  /** Records that money arrived. */
  pay(address: Buffer): void {
    const entry = this.#at(address);
    entry.changed ||= !entry.paid;
    entry.paid = true;
  }

  /** Records a check. Addresses of another partition have no effect. */
  check(event: AddressesChecked, partition: number): 'applied' | 'replayed' | 'ignored' {
    if (brokenRule(TRANSFER_RULES, event) !== undefined) return 'ignored';
    const { checked, checked_at: checkedAt } = event;
    const own = checked.filter(({ address }) => transferPartition(address) === partition);
    let changed = false;
    for (const { address, until } of own) {
      const entry = this.#at(address);
      if (checkedAt <= entry.checked_at && until <= entry.checked_until) continue;
      entry.checked_at = Math.max(entry.checked_at, checkedAt);
      entry.checked_until = Math.max(entry.checked_until, until);
      entry.changed = true;
      changed = true;
    }
    if (changed) return 'applied';
    return own.length === 0 ? 'ignored' : 'replayed';
  }

  #at(address: Buffer): Entry {
    const key = bytesKey(address);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = {
        address,
        partition: transferPartition(address),
        requested: false,
        paid: false,
        openings: 0,
        hot_until: 0,
        checked_at: 0,
        checked_until: 0,
        changed: false,
        became_hot: false,
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  changedRows(): Row[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.changed)
      .map((entry) => {
        const { due_at, pause_level } = dueOf(entry);
        return [
          entry.address,
          entry.partition,
          entry.requested,
          entry.hot_until > entry.checked_at,
          entry.paid,
          entry.openings,
          entry.hot_until,
          entry.checked_at,
          entry.checked_until,
          turnOf(entry),
          due_at,
          pause_level,
        ];
      });
  }

  /** Addresses that became hot, or stay hot for longer: 0x + hex. */
  hotAddresses(): string[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.became_hot)
      .map(({ address }) => toHex(address));
  }
}

/** The place in the rotation: the last check, or the panel's opening where that is later. */
function turnOf({ checked_at, hot_until }: Entry): number {
  return Math.max(checked_at, hot_until - HOT_WINDOW_MS);
}

/**
 * When a hot address is due, and the level of its pause: 0 below a second, one more for each factor
 * of four. The pause after a check is a part of the time between the panel's opening and that
 * check: a sixteenth for an address that was ever paid, a quarter for any other, times the number
 * of its openings.
 */
function dueOf({ checked_at: checkedAt, hot_until, paid, openings }: Entry): {
  readonly due_at: number;
  readonly pause_level: number;
} {
  const opened = hot_until - HOT_WINDOW_MS;
  if (checkedAt <= opened) return { due_at: opened, pause_level: 0 };
  const part = Math.floor(((checkedAt - opened) * (paid ? 1 : 4 * openings)) / 16);
  const pause = Math.min(part, HOT_WINDOW_MS);
  let level = 0;
  for (let limit = SECOND_MS; limit <= pause; limit *= 4) level++;
  return { due_at: checkedAt + pause, pause_level: level };
}
