/**
 * The watcher's passes. The read model says which addresses are due and what the log holds, so the
 * log is the only memory that matters. A pass ends with a record of the addresses checked and their
 * new cursors; a killed pass is repeated, which doubles nothing.
 */
import { TRON_TRANSFERS } from '../../schemas/topics.ts';
import type { TronHead } from '../../schemas/trongrid.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { crc32 } from '../../schemas/tron-partition.ts';
import type { AddressesChecked, CheckedAddress } from '../../schemas/tron.transfers/events.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import { untilAborted } from '../runtime/process/retry.ts';
import {
  AddressCheck,
  type AddressCheckOptions,
  type Checked,
  type Range,
} from './address-check.ts';
import type { Step } from './condition.ts';
import type { Entry, ReadModel } from './read-model.ts';
import type { TransferLog } from './transfer-log.ts';
import { BAD_ANSWER, type TronGrid } from '../runtime/trongrid/trongrid.ts';

/**
 * Most that this clock and the head may be apart: no address is checked later after the head, "in
 * the future", and with a clock that is slower nothing is watched.
 */
const CLOCKS_APART_MAX_MS = 3_600_000;
/** Age of a solidified head on TRON, usually a minute, from which on it is odd. */
const HEAD_AGE_MAX_MS = 300_000;
/** Without due addresses, the clock is compared with the head this often. */
const HEAD_EVERY_MS = 60_000;
/** Bad answers in a row after which the provider is at fault, not the addresses. */
const BAD_ADDRESSES_MAX = 3;
/** Bad answers in a row about one address from which on a person has to look. */
const FAILING = 3;
const FOLDED_MS_MIN = 10;
const FOLDED_MS_MAX = 500;

/**
 * `missing`: not even a list from the beginning explains the balance. `no_balance`: the provider
 * does not say it.
 */
export const CROSS_CHECK_OUTCOMES = [
  'equal',
  'less_on_chain',
  'more_on_chain',
  'missing',
  'undecided',
  'no_balance',
] as const;
export type CrossCheckOutcome = (typeof CROSS_CHECK_OUTCOMES)[number];

/** Milliseconds; 0: there is no such address. */
export interface Ages {
  /** of the last check of the address at the front of the rotation */
  readonly turn: number;
  /** for which the hot address that waits longest has been due, by whether it was ever paid */
  readonly paid: number;
  readonly unpaid: number;
}

export interface WatcherOptions extends AddressCheckOptions {
  /** over all partitions */
  readonly pass_addresses_max: number;
  /** reserved for the rotation of all addresses, however many are hot */
  readonly pass_cold_min: number;
  /** minimum time between two checks of an address in the rotation */
  readonly cold_every_ms: number;
  /** block time before its cursor that is listed again */
  readonly overlap_ms: number;
  /** about one in this many cold checks is a cross-check; 0: none */
  readonly cross_check_every: number;
  /** block time before its cursor that a cross-check lists again */
  readonly cross_check_ms: number;
  readonly provider: Pick<TronGrid, 'head' | 'list' | 'receipt' | 'balance'>;
  readonly model: Pick<ReadModel, keyof ReadModel>;
  readonly transfers: TransferLog;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** called before each step */
  readonly onStep: (step: Step) => void;
  /** at each pass */
  readonly onAges: (ages: Ages) => void;
  /** milliseconds of this clock since the head; negative: the clock is slow */
  readonly onHeadAge: (ms: number) => void;
  /** addresses whose last checks ended in bad answers */
  readonly onFailing: (addresses: number) => void;
  readonly onCrossCheck: (outcome: CrossCheckOutcome) => void;
}

interface Pass {
  readonly until: number;
  /** upper bound of the current time, from the provider */
  readonly latest: number;
  readonly done: (CheckedAddress & { readonly partition: number })[];
  failed: Entry[];
  /** at least one check succeeded */
  fruitful: boolean;
}

export class Watcher {
  readonly #options: WatcherOptions;
  readonly #check: AddressCheck;
  /** bad answers in a row, by address */
  readonly #failures = new Map<string, { readonly partition: number; readonly inRow: number }>();
  /** block time of the earliest undecided transaction, by address */
  readonly #undecided = new Map<string, number>();
  /** by how much the newest head was ahead of this clock, which is slow by at least that */
  #slowMs = 0;
  #isClockOdd = false;
  /** by this clock */
  #headReadAt = Number.NEGATIVE_INFINITY;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#check = new AddressCheck({ ...options, now: () => this.#time() });
  }

  /**
   * Checks the due addresses of these partitions once; returns their number. Throws faults of
   * provider, Postgres and brokers; earlier results are in the log.
   */
  async pass(partitions: readonly number[]): Promise<number> {
    const { now, onStep } = this.#options;
    for (const [key, { partition }] of this.#failures)
      if (!partitions.includes(partition)) this.#failures.delete(key);
    await this.#folded();
    // to a slow clock nothing would be due
    let head = Math.abs(now() - this.#headReadAt) > HEAD_EVERY_MS ? await this.#head() : undefined;
    onStep('reading_queue');
    const entries = await this.#next(partitions);
    if (entries.length === 0) return 0;
    // before any list is read: transfers solidified later may be missing in it
    head ??= await this.#head();
    const { timestamp } = head;
    const pass: Pass = {
      until: Math.min(timestamp, now()),
      latest: timestamp + CLOCKS_APART_MAX_MS,
      done: [],
      failed: [],
      fruitful: false,
    };
    onStep('asking_provider');
    try {
      await this.#ask(entries, pass);
    } finally {
      this.#options.onFailing(
        [...this.#failures.values()].filter(({ inRow }) => inRow >= FAILING).length,
      );
      await this.#conclude(pass);
    }
    return pass.done.length;
  }

  /** This clock, put forward to the newest head where it is slow. */
  #time(): number {
    return this.#options.now() + this.#slowMs;
  }

  /** The solidified head, against which this clock is held. */
  async #head(): Promise<TronHead> {
    const { provider, now, log, onStep, onHeadAge } = this.#options;
    onStep('asking_provider');
    const head = await provider.head();
    const age = now() - head.timestamp;
    onHeadAge(age);
    const isOdd = age < 0 || age > HEAD_AGE_MAX_MS;
    if (isOdd && !this.#isClockOdd)
      log.warn(
        { head_age_ms: age },
        "this clock and TRON's solidified head are apart: check this clock, then the provider",
      );
    this.#isClockOdd = isOdd;
    if (age < -CLOCKS_APART_MAX_MS)
      throw new Fault(
        'tron_clock',
        `TRON's solidified head is ${Math.round(-age / 1_000)} s ahead of this clock. What to do: correct this machine's clock, or check that APP_TRON_URL can be trusted; nothing is watched meanwhile`,
        { retry: true },
      );
    this.#slowMs = Math.max(0, -age);
    this.#headReadAt = now();
    return head;
  }

  /** Hot addresses first, those with bad answers last. */
  async #next(partitions: readonly number[]): Promise<readonly Entry[]> {
    const { model, cold_every_ms: coldEvery, onAges } = this.#options;
    // each of several watchers makes its part of a pass
    const part = partitions.length / TRON_TRANSFERS.partitions;
    const max = Math.ceil(this.#options.pass_addresses_max * part);
    const coldMin = Math.ceil(this.#options.pass_cold_min * part);
    const at = this.#time();
    const [hot, inTurn, longestDue] = await Promise.all([
      model.hot(partitions, max, at),
      model.inTurn(partitions, max),
      model.longestDue(partitions),
    ]);
    const since = (time = at): number => Math.max(0, at - time);
    onAges({
      turn: since(inTurn[0]?.turn_at),
      paid: since(longestDue.paid),
      unpaid: since(longestDue.unpaid),
    });
    const turns = inTurn.filter(({ turn_at: turn }) => turn <= at - coldEvery);
    const first = hot.slice(0, max - Math.min(coldMin, turns.length));
    const entries = new Map([...first, ...turns].map((entry) => [keyOf(entry), entry]));
    return [...entries.values()]
      .slice(0, max)
      .toSorted((one, other) => this.#failuresOf(one) - this.#failuresOf(other));
  }

  async #ask(entries: readonly Entry[], pass: Pass): Promise<void> {
    let inRow = 0;
    for (const entry of entries) {
      if (this.#options.signal.aborted) return;
      try {
        const { until } = await this.#one(entry, pass.until);
        pass.done.push({ address: entry.address, partition: entry.partition, until });
        pass.fruitful = true;
        this.#failures.delete(keyOf(entry));
        inRow = 0;
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== BAD_ANSWER) throw error;
        const { partition } = entry;
        this.#failures.set(keyOf(entry), { partition, inRow: this.#failuresOf(entry) + 1 });
        pass.failed.push(entry);
        const isProvider =
          ++inRow >= BAD_ADDRESSES_MAX || (!pass.fruitful && pass.failed.length === entries.length);
        if (isProvider) throw error;
        this.#options.log.warn(
          { err: error, address: entry.address.toString('hex') },
          'the provider gave a bad answer about an address',
        );
      }
    }
  }

  async #one(entry: Entry, until: number): Promise<Checked> {
    const { overlap_ms: overlap, cross_check_every: every } = this.#options;
    const key = keyOf(entry);
    const from = Math.max(
      0,
      Math.min(entry.checked_until - overlap, this.#undecided.get(key) ?? Infinity),
    );
    const checked = isCrossChecked(entry, every)
      ? await this.#crossCheck(entry, { from, until })
      : await this.#check.run(entry, { from, until });
    if (checked.undecided_from === undefined) this.#undecided.delete(key);
    else this.#undecided.set(key, checked.undecided_from);
    return checked;
  }

  /**
   * Re-examines an address: a row that the provider listed late shows when an old range is listed
   * again, and one that it never lists shows in the balance. The balance is read first, so that
   * later arrivals make no difference. Money may have left the address: only a balance above the
   * log's sum proves a missing transfer.
   */
  async #crossCheck(entry: Entry, { from, until }: Range): Promise<Checked> {
    const { cross_check_ms: range, log, onCrossCheck } = this.#options;
    const balance = await this.#balance(entry);
    const first = await this.#check.run(entry, {
      from: Math.max(0, Math.min(from, entry.checked_until - range)),
      until,
      again: 'silent',
    });
    if (first.undecided_from !== undefined) {
      onCrossCheck('undecided');
      return first;
    }
    if (balance === undefined) {
      onCrossCheck('no_balance');
      return first;
    }
    const observed = await this.#observed(entry);
    if (balance <= observed) {
      onCrossCheck(balance === observed ? 'equal' : 'less_on_chain');
      return first;
    }
    onCrossCheck('more_on_chain');
    const about = { address: toTronAddress(entry.address), balance: balance.toString() };
    log.warn(
      { ...about, observed: observed.toString() },
      'an address has more than the log explains: listing it from the beginning',
    );
    const again = await this.#check.run(entry, { from: 0, until, again: 'all' });
    const found = await this.#observed(entry);
    if (balance > found && again.undecided_from === undefined) {
      onCrossCheck('missing');
      log.warn(
        { ...about, observed: found.toString() },
        'neither lists nor receipts of the provider explain the balance: check the address with another provider; it is checked again',
      );
    }
    return again;
  }

  /** Undefined: the provider does not say it, and lists may be read all the same. */
  async #balance({ address }: Entry): Promise<bigint | undefined> {
    const { provider, log } = this.#options;
    try {
      return await provider.balance(address);
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry) throw error;
      log.warn(
        { err: error, address: toTronAddress(address) },
        'the provider does not say the balance of an address: nothing is compared',
      );
      return undefined;
    }
  }

  async #observed(entry: Entry): Promise<bigint> {
    await this.#folded();
    return this.#options.model.observed(entry.address);
  }

  /** Addresses with bad answers, while others succeed, keep their cursors until their next turn. */
  async #conclude({ latest, done, failed, fruitful }: Pass): Promise<void> {
    const { transfers, onStep } = this.#options;
    const stayed = (fruitful ? failed : []).map(({ address, partition, checked_until: until }) => ({
      address,
      partition,
      until,
    }));
    onStep('appending');
    const byPartition = Map.groupBy([...done, ...stayed], ({ partition }) => partition);
    for (const [partition, checked] of byPartition) {
      const event: AddressesChecked = {
        type: 'AddressesChecked',
        checked_at: Math.min(this.#time(), latest),
        checked: checked.map(({ address, until }) => ({ address, until })),
      };
      await transfers.append(partition, [event]);
    }
  }

  /** Waits until the read model shows the appended records: until then they would be due again. */
  async #folded(): Promise<void> {
    const { transfers, model, signal, onStep } = this.#options;
    let wait = FOLDED_MS_MIN;
    while (!transfers.isFolded(await model.folded())) {
      onStep('awaiting_read_model');
      await untilAborted(wait, signal);
      wait = Math.min(FOLDED_MS_MAX, wait * 2);
      if (signal.aborted)
        throw new Fault('draining', 'stopped while waiting for the read model', {
          retry: true,
        });
    }
  }

  #failuresOf(entry: Entry): number {
    return this.#failures.get(keyOf(entry))?.inRow ?? 0;
  }
}

/** About one in `every` cold checks, derived from the address and its last check; 0: never. */
function isCrossChecked({ hot, address, checked_at: at }: Entry, every: number): boolean {
  if (hot || every === 0) return false;
  const seed = Buffer.alloc(28);
  address.copy(seed);
  seed.writeBigUInt64BE(BigInt(at), 20);
  return crc32(seed) % every === 0;
}

function keyOf({ address }: Entry): string {
  return address.toString('latin1');
}
