/**
 * The deposit address of each account. The log assigns addresses in the order of first requests:
 * the gateway appends a request, and waits until the read model shows the address. An address is
 * shown only where the log, the read model and the key agree on it. Opening the panel is appended
 * as well, so that the address is watched closely for a while.
 */
import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { addressOf } from '../../projections/deposits/queries.ts';
import { toHex } from '../../schemas/address.ts';
import type { DepositKey } from '../../schemas/deposit-address.ts';
import type { AddressRequested, PanelOpened } from '../../schemas/deposit.addresses/events.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import type { Limits } from '../runtime/limits/limits.ts';
import { openRateLimit, type RateLimit } from '../runtime/limits/rate.ts';
import type { Cells, Reader } from '../runtime/postgres/pool.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { Remarks } from '../runtime/process/health.ts';
import type { Logger } from '../runtime/process/log.ts';
import type { Metrics } from '../runtime/process/metrics.ts';
import type { SharedCounts } from '../runtime/shared-counts.ts';
import { changedKeys } from '../runtime/read-version.ts';
import type { AddressLog, Owned } from './address-log.ts';

/** The read model is read this often while a caller waits, since notifications may be lost. */
const POLL_MS = 250;
/** A panel that is opened again within this time is not appended again. */
const PANEL_MS = 10 * 60_000;
const PANELS_MAX = 100_000;
const REQUESTED_MAX = 20_000;

export interface DepositAddressesSettings {
  /** New addresses of one client; 0: any number. Each takes from the watcher's budget for a day. */
  readonly addresses_per_minute: number;
  readonly addresses_burst: number;
  /** how long a caller waits for a new address */
  readonly address_wait_ms: number;
}

export interface DepositAddressesOptions {
  readonly reader: Reader;
  readonly address_log: Pick<
    AddressLog,
    'append' | 'catchUp' | 'end' | 'head' | 'openedAt' | 'ownedBy'
  >;
  /** derives every address */
  readonly key: DepositKey;
  readonly settings: DepositAddressesSettings;
  /** of all instances; undefined: this one counts for itself */
  readonly counts?: Pick<SharedCounts, 'run'>;
  /** Unix milliseconds */
  readonly now: () => number;
  /** default: on, and not counted */
  readonly limits?: Pick<Limits, 'addresses'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** ends the waiting */
  readonly signal: AbortSignal;
}

/** The client has requested too many new addresses. */
export interface TooMany {
  readonly wait_ms: number;
}

type Opened = Buffer | TooMany | undefined;

const NO_BYTES = Buffer.alloc(0);

/** The deposit addresses of accounts; its maps are by account, 0x + hex. */
export class DepositAddresses {
  readonly #options: DepositAddressesOptions;
  readonly #limit: RateLimit | undefined;
  readonly #notifications = new Notifications();
  readonly #outcomes;
  readonly #panels;
  /** concurrent calls for one account share a promise */
  readonly #inFlight = new Map<string, Promise<Opened>>();
  /** appends of requests, from their start until the address shows */
  readonly #requested = new LRUCache<string, Promise<void>>({ max: REQUESTED_MAX });
  /** when a panel was last appended, Unix milliseconds */
  readonly #panelOpenedAt = new LRUCache<string, number>({ max: PANELS_MAX });
  #forged = 0;

  constructor(options: DepositAddressesOptions) {
    const { settings, metrics, signal } = options;
    const { addresses_per_minute: addressesPerMinute, addresses_burst: addressesBurst } = settings;
    this.#options = options;
    const rate = { rate_per_second: addressesPerMinute / 60, rate_burst: addressesBurst };
    this.#limit = openRateLimit('addresses', rate, options.counts, options.limits?.addresses);
    this.#outcomes = metrics.counter(
      'deposit_addresses_total',
      'Requests for an address, by outcome: known, new, late, refused, forged',
      ['outcome'],
    );
    // the alert compares with an earlier value
    this.#outcomes.inc({ outcome: 'forged' }, 0);
    this.#panels = metrics.counter(
      'deposit_panels_total',
      'Panels opened, by outcome: said (appended), coalesced (appended recently), failed',
      ['outcome'],
    );
    signal.addEventListener('abort', () => this.#notifications.notify(undefined), { once: true });
  }

  /** An alarm where addresses were refused. */
  get remarks(): Remarks {
    const alarm = `${this.#forged} requests for an address were refused: tables, deposit.addresses and key do not agree. What to do: AddressesForged in docs/operations/runbook.md; lines with address_forged in this service's output name the accounts`;
    return { alarms: this.#forged === 0 ? [] : [alarm], notes: [] };
  }

  /** A change notification of the read model; undefined: some may have been missed. */
  onNotification(message: string | undefined): void {
    this.#notifications.notify(message === undefined ? undefined : changedKeys(message));
  }

  /**
   * The deposit address (20 bytes) of an account (20 bytes), whose panel it opens; undefined when
   * it is not there in time. `client` is as limits count it. Throws faults.
   */
  open(account: Buffer, client: string): Promise<Opened> {
    const key = toHex(account);
    let opening = this.#inFlight.get(key);
    if (opening === undefined) {
      opening = this.#open(account, key, client).finally(() => this.#inFlight.delete(key));
      this.#inFlight.set(key, opening);
    }
    return opening;
  }

  async #open(account: Buffer, key: string, client: string): Promise<Opened> {
    const known = await this.#read(account);
    if (known !== undefined) {
      this.#requested.delete(key);
      this.#openPanel(account, key);
      this.#outcomes.inc({ outcome: 'known' });
      return known;
    }
    const wait_ms = this.#requested.has(key) ? 0 : ((await this.#limit?.takeExactly(client)) ?? 0);
    if (wait_ms > 0) {
      this.#outcomes.inc({ outcome: 'refused' });
      return { wait_ms };
    }
    try {
      const assigned = await this.#wait(account, key, this.#request(account, key));
      if (assigned !== undefined) this.#requested.delete(key);
      this.#outcomes.inc({ outcome: assigned === undefined ? 'late' : 'new' });
      return assigned;
    } finally {
      this.#notifications.forget(key);
    }
  }

  /** Until the read model has the address or the time is up. Throws when the append fails. */
  async #wait(account: Buffer, key: string, append: Promise<void>): Promise<Buffer | undefined> {
    const { settings, signal } = this.#options;
    const { address_wait_ms: addressWaitMs } = settings;
    const end = performance.now() + addressWaitMs;
    const failed = append.then(() => Promise.withResolvers<never>().promise);
    // it may fail after the waiting has ended
    failed.catch(() => undefined);
    await atMost(addressWaitMs, Promise.race([append, this.#notifications.next(key)]));
    for (;;) {
      // before the read, so that a change during it is not missed
      const notification = this.#notifications.next(key);
      const known = await this.#read(account);
      const left = end - performance.now();
      if (known !== undefined || left <= 0 || signal.aborted) return known;
      await atMost(Math.min(POLL_MS, left), Promise.race([notification, failed]));
    }
  }

  /** Appends the account's request, once. */
  #request(account: Buffer, key: string): Promise<void> {
    const earlier = this.#requested.get(key);
    if (earlier !== undefined) return earlier;
    const at = this.#options.now();
    const request: AddressRequested = {
      type: 'AddressRequested',
      clt_address: account,
      requested_at: at,
    };
    const append = this.#options.address_log.append([request, panelOpened(account, at)]);
    this.#requested.set(key, append);
    this.#panelOpenedAt.set(key, at);
    this.#panels.inc({ outcome: 'said' });
    append.catch(() => {
      // its callers see the error; the next call requests again
      if (this.#requested.get(key) === append) this.#requested.delete(key);
      this.#panelOpenedAt.delete(key);
    });
    return append;
  }

  /** Appends that the panel is opened. Nobody waits for it: deposits would only show later. */
  #openPanel(account: Buffer, key: string): void {
    const { now, address_log: addressLog, log } = this.#options;
    const at = now();
    // another gateway may have appended it
    const last = Math.max(this.#panelOpenedAt.get(key) ?? 0, addressLog.openedAt(account) ?? 0);
    if (at - last < PANEL_MS) {
      this.#panels.inc({ outcome: 'coalesced' });
      return;
    }
    this.#panelOpenedAt.set(key, at);
    addressLog.append([panelOpened(account, at)]).then(
      () => this.#panels.inc({ outcome: 'said' }),
      (error: unknown) => {
        if (this.#panelOpenedAt.get(key) === at) this.#panelOpenedAt.delete(key);
        this.#panels.inc({ outcome: 'failed' });
        log.warn(
          { err: error },
          'an opened panel was not recorded: its address is polled in its turn among all others',
        );
      },
    );
  }

  /** Undefined until the read model has the address. Throws `address_forged`. */
  async #read(account: Buffer): Promise<Buffer | undefined> {
    const { reader, key, address_log: addressLog } = this.#options;
    const rows = await reader.rows(addressOf(account));
    let owned = addressLog.ownedBy(account);
    // another gateway may have appended the request
    if (owned === undefined && rows.some(([logEnd]) => Number(logEnd) > addressLog.end)) {
      await addressLog.catchUp();
      owned = addressLog.ownedBy(account);
    }
    const why = rows.map((row) => whyForged(row, owned, addressLog, key)).find(Boolean);
    if (why === undefined) return rows.some(hasAddress) ? owned?.deposit_address : undefined;
    this.#forged++;
    this.#outcomes.inc({ outcome: 'forged' });
    const message = `the address of account ${toHex(account)} is shown to nobody: ${why}`;
    throw new Fault('address_forged', message, { retry: false });
  }
}

function hasAddress([, , , address]: Cells): boolean {
  return address !== null;
}

/**
 * Why a row of `addressOf` is not what the log and the key say. Its cells may be anything. Without
 * an address the read model may be behind, unless it has counted the address.
 */
function whyForged(
  row: Cells,
  owned: Owned | undefined,
  { end, head }: Pick<AddressLog, 'end' | 'head'>,
  key: DepositKey,
): string | undefined {
  const [logEnd, itsHead, addresses, address, at] = row;
  const { deposit_address: depositAddress = NO_BYTES, derivation_index: derivationIndex = -1 } =
    owned ?? {};
  if (owned !== undefined && !key.addressAt(derivationIndex).equals(depositAddress))
    return `deposit.addresses gives it ${toTronAddress(depositAddress)} at index ${derivationIndex}, which the key with fingerprint ${toHex(key.fingerprint)} does not derive: no gateway with this key wrote that. What to do: find out who did, and restore the topic`;
  const ofLog = owned && `${byteaText(depositAddress)} at index ${derivationIndex}`;
  const ofRow = hasAddress(row) ? `${address} at index ${at}` : undefined;
  const isBehind = ofRow === undefined && !(Number(addresses) > derivationIndex);
  const isOther = ofRow !== ofLog && !isBehind;
  const isOtherLog =
    logEnd === `${end}` ? itsHead !== byteaText(head) : owned === undefined && Number(logEnd) > end;
  if (!isOther && !isOtherLog) return undefined;
  return (
    `deposit.addresses gives it ${ofLog ?? 'no address'}, its ${end} records have the hash ${byteaText(head)}; ` +
    `deposits.addresses gives it ${ofRow ?? 'no address'}, its ${logEnd} records have the hash ${itsHead}. ` +
    'What to do: find out who writes to Postgres or has changed the topic; change the password of clt_writer and rebuild the tables (ops rebuild deposits), or restore the topic'
  );
}

/** As Postgres writes it. */
function byteaText(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

/** Waits for change notifications by key. */
export class Notifications {
  readonly #awaited = new Map<string, PromiseWithResolvers<void>>();

  /** Resolves with the next notification of this key. */
  next(key: string): Promise<void> {
    let awaited = this.#awaited.get(key);
    if (awaited === undefined) {
      awaited = Promise.withResolvers<void>();
      this.#awaited.set(key, awaited);
    }
    return awaited.promise;
  }

  /** undefined: any key may have changed */
  notify(keys: readonly string[] | undefined): void {
    for (const key of keys ?? [...this.#awaited.keys()]) {
      this.#awaited.get(key)?.resolve();
      this.#awaited.delete(key);
    }
  }

  forget(key: string): void {
    this.#awaited.delete(key);
  }
}

function panelOpened(account: Buffer, at: number): PanelOpened {
  return { type: 'PanelOpened', clt_address: account, opened_at: at };
}

/** Resolves with the promise, or after so many ms. */
async function atMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  try {
    await Promise.race([promise, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
