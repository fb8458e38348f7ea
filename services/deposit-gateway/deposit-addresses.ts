/**
 * The one deposit address of each account. It is the log that gives it, by the order of first requests: the gateway asks there, and waits until the read model has what
 * it has become. That the panel was opened is said as well, so that the address is watched closely for a while.
 */
import { addressOf } from '../../projections/deposits/queries.ts';
import { toHex } from '../../schemas/address.ts';
import type { AddressRequested, PanelOpened } from '../../schemas/deposit.addresses/events.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import type { Metrics } from '../runtime/process/metrics.ts';
import type { RateLimit } from '../runtime/http/rate-limit.ts';
import { byteaBytes, unixMilliseconds } from '../runtime/postgres/cells.ts';
import type { Reader } from '../runtime/postgres/pool.ts';
import { changedKeys } from '../runtime/read-version.ts';
import type { AddressLog } from './address-log.ts';
import { Notifications } from './notifications.ts';

/** A notification may be lost: so often the read model is asked all the same. */
const POLL_MS = 250;
/** An address that was looked at is not said to be looked at again for so long. */
const PANEL_MS = 10 * 60_000;
const PANELS_MAX = 100_000;
/** Requests that are in the log, of accounts that have not come back for what they have become. */
const REQUESTED_MAX = 20_000;
/** Callers that wait at the same time. */
const WAITING_MAX = 2_000;

export interface DepositAddressesOptions {
  readonly reader: Reader;
  readonly addresses: Pick<AddressLog, 'append'>;
  /** new addresses of one client; undefined: any number */
  readonly limit: Pick<RateLimit, 'take'> | undefined;
  /** how long a caller waits for a new address, ms */
  readonly address_wait_ms: number;
  /** Unix milliseconds */
  readonly now: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** ends the waiting */
  readonly signal: AbortSignal;
}

/** One client has asked for too many new addresses: all of them are watched closely for a day, and the watcher's budget is everybody's. */
export interface TooMany {
  readonly wait_ms: number;
}

interface Known {
  readonly deposit_address: Buffer;
  /** Unix milliseconds */
  readonly requested_at: number;
}

export class DepositAddresses {
  readonly #options: DepositAddressesOptions;
  readonly #notifications = new Notifications();
  readonly #answers;
  readonly #panels;
  /** by account, as all others: those in flight are one */
  readonly #asked = new Map<string, Promise<Buffer | TooMany | undefined>>();
  /** appends of requests, from when they begin until the address shows */
  readonly #requested = new Map<string, Promise<bigint>>();
  /** when an address was last said to be looked at, the longest ago first */
  readonly #opened = new Map<string, number>();
  #waiting = 0;

  constructor(options: DepositAddressesOptions) {
    const { metrics, signal } = options;
    this.#options = options;
    this.#answers = metrics.counter(
      'deposit_addresses_total',
      'requests for an address, by whether it was known, new, late, or refused',
      ['outcome'],
    );
    this.#panels = metrics.counter(
      'deposit_panels_total',
      'panels opened, by what was said of it',
      ['outcome'],
    );
    signal.addEventListener('abort', () => this.#notifications.tellAll(), { once: true });
  }

  /** A notification of the read model came; undefined: some may have been missed. */
  told(message: string | undefined): void {
    const keys = message === undefined ? undefined : changedKeys(message);
    if (keys === undefined) this.#notifications.tellAll();
    else for (const key of keys) this.#notifications.tell(key);
  }

  /** The deposit address (20 bytes) of an account (20 bytes), which opens its panel; undefined when it is not there in time. `client` is who asks, as limits tell callers apart. Throws faults. */
  open(account: Buffer, client: string): Promise<Buffer | TooMany | undefined> {
    const key = toHex(account);
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    const answer = this.#answer(account, key, client).finally(() => this.#asked.delete(key));
    this.#asked.set(key, answer);
    return answer;
  }

  async #answer(
    account: Buffer,
    key: string,
    client: string,
  ): Promise<Buffer | TooMany | undefined> {
    const known = await this.#read(account);
    if (known !== undefined) {
      this.#requested.delete(key);
      this.#openPanel(account, key, known.requested_at);
      this.#answers.inc({ outcome: 'known' });
      return known.deposit_address;
    }
    const wait_ms = this.#requested.has(key)
      ? 0
      : (this.#options.limit?.take(client, performance.now()) ?? 0);
    if (wait_ms > 0) {
      this.#answers.inc({ outcome: 'refused' });
      return { wait_ms };
    }
    if (this.#waiting >= WAITING_MAX)
      throw new Fault('log_busy', `${WAITING_MAX} callers wait for an address`, { retry: true });
    this.#waiting++;
    try {
      const made = await this.#wait(account, key, this.#request(account, key));
      if (made !== undefined) this.#requested.delete(key);
      this.#answers.inc({ outcome: made === undefined ? 'late' : 'new' });
      return made?.deposit_address;
    } finally {
      this.#waiting--;
      this.#notifications.forget(key);
    }
  }

  /** Until the read model has the address, or time is up. */
  async #wait(
    account: Buffer,
    key: string,
    requested: Promise<bigint>,
  ): Promise<Known | undefined> {
    const { address_wait_ms: patience, signal } = this.#options;
    const end = performance.now() + patience;
    const failed = requested.then(() => Promise.withResolvers<never>().promise);
    // it may fail when nobody waits for it any more
    failed.catch(() => undefined);
    await inTime(Promise.race([requested, this.#notifications.next(key)]), patience);
    for (;;) {
      // before the question, so that what changes meanwhile is not slept through
      const notification = this.#notifications.next(key);
      const known = await this.#read(account);
      const left = end - performance.now();
      if (known !== undefined || left <= 0 || signal.aborted) return known;
      await inTime(Promise.race([notification, failed]), Math.min(POLL_MS, left));
    }
  }

  /** Says in the log that this account asks, unless it has been said. */
  #request(account: Buffer, key: string): Promise<bigint> {
    const earlier = this.#requested.get(key);
    if (earlier !== undefined) return earlier;
    const at = this.#options.now();
    const request: AddressRequested = {
      type: 'AddressRequested',
      clt_address: account,
      requested_at: at,
    };
    const appended = this.#options.addresses.append([request, panelOf(account, at)]);
    keep(this.#requested, key, appended, REQUESTED_MAX);
    keep(this.#opened, key, at, PANELS_MAX);
    this.#panels.inc({ outcome: 'said' });
    appended.catch(() => {
      // whoever waits for it hears of it; the next one asks anew
      if (this.#requested.get(key) === appended) this.#requested.delete(key);
      this.#opened.delete(key);
    });
    return appended;
  }

  /** Says that an address is looked at. Nobody waits for that: it is found without it, only later. */
  #openPanel(account: Buffer, key: string, requestedAt: number): void {
    const { now, addresses, log } = this.#options;
    const at = now();
    // a first request opens the panel, also one that another gateway has taken
    const before = Math.max(this.#opened.get(key) ?? 0, requestedAt);
    if (at - before < PANEL_MS) {
      this.#panels.inc({ outcome: 'coalesced' });
      return;
    }
    keep(this.#opened, key, at, PANELS_MAX);
    addresses.append([panelOf(account, at)]).then(
      () => this.#panels.inc({ outcome: 'said' }),
      (error: unknown) => {
        if (this.#opened.get(key) === at) this.#opened.delete(key);
        this.#panels.inc({ outcome: 'failed' });
        log.warn(
          { err: error },
          'that a panel was opened may not have been said: its address waits for its turn among all others',
        );
      },
    );
  }

  async #read(account: Buffer): Promise<Known | undefined> {
    const [row] = await this.#options.reader.rows(addressOf(account));
    return row === undefined
      ? undefined
      : { deposit_address: byteaBytes(row[0]), requested_at: unixMilliseconds(row[2]) };
  }
}

function panelOf(account: Buffer, at: number): PanelOpened {
  return { type: 'PanelOpened', clt_address: account, opened_at: at };
}

/** Resolves with the promise, or after so many ms. */
async function inTime(promise: Promise<unknown>, ms: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  try {
    await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Puts it in as the newest; of more than `most` the oldest goes. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
