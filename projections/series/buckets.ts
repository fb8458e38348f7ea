/** Hours, days, producers and accounts while one batch is folded, on top of the stored rows. */
import { bytesKey } from '../../schemas/address.ts';
import { AddressMap } from '../bytes-index.ts';
import { bytesIn, countIn } from '../contract/loaded-row.ts';
import type { Changes, Loaded } from '../contract/projection.ts';
import { partOf, type Activated, type Block, type BlockPart } from './block-part.ts';
import { ACCOUNTS, DAYS, HOURS, PRODUCERS, type Day, type Hour, type Producer } from './rows.ts';
import { TouchedRows } from './touched-rows.ts';

const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;

function dayOf(hour: number): number {
  return Math.floor(hour / DAY_HOURS);
}

/** The last hour of an account; null: it has none, and no row. */
interface Account {
  readonly stored: number | null;
  now: number | null;
}

export class Buckets {
  readonly #hours: TouchedRows<Hour>;
  readonly #days: TouchedRows<Day>;
  readonly #producers: TouchedRows<Producer>;
  readonly #accounts = new AddressMap<Account>();
  /** the hour of the newest block */
  #newest: Hour | undefined;

  constructor(loaded: Loaded) {
    this.#hours = new TouchedRows<Hour>(HOURS, ({ hour }) => hour, loaded['hours']);
    this.#days = new TouchedRows<Day>(DAYS, ({ day }) => day, loaded['days']);
    this.#producers = new TouchedRows<Producer>(PRODUCERS, producerKey, loaded['producers']);
    for (const row of loaded['accounts'] ?? []) {
      const hour = countIn(row, 'last_hour');
      this.#accounts.add(bytesIn(row, 'address'), { stored: hour, now: hour });
    }
    this.#newest = this.#findNewest();
  }

  /** Adds a block on top; returns what it adds, for its revert. */
  push(block: Block): BlockPart {
    const hour = Math.max(Math.floor(block.timestamp / HOUR_MS), this.#newest?.hour ?? 0);
    const part = partOf(block, hour, this.#activate(block, hour));
    this.#count(part, 1, block.height);
    return part;
  }

  /** Removes the newest block. */
  pop(height: number, part: BlockPart): void {
    for (const [address, before] of part.activated)
      this.#accountAt(address, part.hour).now = before;
    this.#count(part, -1, height - 1);
  }

  /** The accounts with a transaction in the block that had none in this hour. */
  #activate({ transactions }: Block, hour: number): readonly Activated[] {
    const activated: Activated[] = [];
    const touch = (address: Buffer): void => {
      const account = this.#accountAt(address, null);
      if (account.now === hour) return;
      activated.push([address, account.now]);
      account.now = hour;
    };
    for (const { from, to } of transactions) {
      touch(from);
      if (to !== from) touch(to);
    }
    return activated;
  }

  /** `unread`: the last hour in the account's row, where the batch did not load it. */
  #accountAt(address: Buffer, unread: number | null): Account {
    const known = this.#accounts.get(address);
    if (known !== undefined) return known;
    const account: Account = { stored: unread, now: unread };
    this.#accounts.add(address, account);
    return account;
  }

  #count(part: BlockPart, sign: 1 | -1, lastHeight: number): void {
    const { hour, producer: address, activated } = part;
    const by = BigInt(sign);
    const before = this.#hours.get(hour) ?? emptyHour(hour, this.#newest?.supply ?? 0n);
    const now: Hour = {
      hour,
      last_height: lastHeight,
      blocks: before.blocks + sign,
      transactions: before.transactions + sign * part.transactions,
      fees: before.fees + by * part.fees,
      rides: before.rides + sign * part.rides,
      fares: before.fares + by * part.fares,
      active_accounts: before.active_accounts + sign * activated.length,
      supply: before.supply + by * part.created,
    };
    this.#hours.set(hour, now.blocks > 0 ? now : undefined);
    this.#newest = now.blocks > 0 ? now : this.#findNewest();

    const day = dayOf(hour);
    const newToday = activated.filter(([, last]) => last === null || dayOf(last) < day).length;
    const active = (this.#days.get(day)?.active_accounts ?? 0) + sign * newToday;
    this.#days.set(day, active > 0 ? { day, active_accounts: active } : undefined);

    const key = producerKey({ hour, address });
    const blocks = (this.#producers.get(key)?.blocks ?? 0) + sign;
    this.#producers.set(key, blocks > 0 ? { hour, address, blocks } : undefined);
  }

  #findNewest(): Hour | undefined {
    let newest: Hour | undefined;
    for (const hour of this.#hours.values())
      if (newest === undefined || hour.hour > newest.hour) newest = hour;
    return newest;
  }

  changes(): Pick<Changes, 'deletes' | 'upserts'> {
    const accounts = this.#accounts.addresses.flatMap((address, at) => {
      const { stored = null, now = null } = this.#accounts.values[at] ?? {};
      return stored === now ? [] : [{ address, now }];
    });
    return {
      deletes: [
        this.#hours.deletes(),
        this.#days.deletes(),
        this.#producers.deletes(),
        {
          table: ACCOUNTS,
          rows: accounts.filter(({ now }) => now === null).map(({ address }) => [address]),
        },
      ],
      upserts: [
        this.#hours.upserts(),
        this.#days.upserts(),
        this.#producers.upserts(),
        {
          table: ACCOUNTS,
          rows: accounts
            .filter(({ now }) => now !== null)
            .map(({ address, now }) => [address, now]),
        },
      ],
    };
  }
}

function producerKey({ hour, address }: Pick<Producer, 'hour' | 'address'>): string {
  return `${hour} ${bytesKey(address)}`;
}

function emptyHour(hour: number, supply: bigint): Hour {
  return {
    hour,
    last_height: -1,
    blocks: 0,
    transactions: 0,
    fees: 0n,
    rides: 0,
    fares: 0n,
    active_accounts: 0,
    supply,
  };
}
