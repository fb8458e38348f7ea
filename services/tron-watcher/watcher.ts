/**
 * The watcher's passes. The read model says which addresses are due and what the log holds, so the
 * log is the only memory that matters. A pass ends with a record of the addresses checked and their
 * new cursors; a killed pass is repeated, which doubles nothing.
 *
 * A pass asks about many addresses at once, and does not wait for those that take long
 * (`asking.ts`). An address or a transaction about which the provider fails alone is asked about
 * again apart from the others (`retries.ts`). The balances of all addresses are compared with the
 * log, many in a request (`balances.ts`): a balance that the log does not explain has the address
 * listed again.
 */
import { TRON_TRANSFERS } from '../../schemas/topics.ts';
import type { TronHead } from '../../schemas/trongrid.ts';
import { crc32 } from '../../schemas/tron-partition.ts';
import type { AddressesChecked, CheckedAddress } from '../../schemas/tron.transfers/events.ts';
import { Fault } from '../runtime/process/errors.ts';
import { untilAborted } from '../runtime/process/retry.ts';
import { Asking, type Question } from './asking.ts';
import {
  AddressCheck,
  type AddressCheckOptions,
  type Checked,
  type Range,
} from './address-check.ts';
import { Comparison, type ComparisonOptions } from './comparison.ts';
import type { Step } from './condition.ts';
import { keyOf, type Entry, type ReadModel } from './read-model.ts';
import { kindOf, nameOf, Retries, subjectKey, type Retry, type Subject } from './retries.ts';
import type { TransferLog } from './transfer-log.ts';
import { isProviderFault, type TronGrid } from '../runtime/trongrid/trongrid.ts';

/**
 * Most that this clock and the head may be apart: no address is checked later after the head, "in
 * the future", and with a clock that is slower nothing is watched.
 */
const CLOCKS_APART_MAX_MS = 3_600_000;
/** Age of a solidified head on TRON, usually a minute, from which on it is odd. */
const HEAD_AGE_MAX_MS = 300_000;
/** Without due addresses, the clock is compared with the head this often. */
const HEAD_EVERY_MS = 60_000;
/** Addresses that fail in a row, and end the pass where no other was served in it. */
const BAD_ADDRESSES_MAX = 10;
/** Undecided transfers from which on no more are taken from somebody else. */
const FOUND_MAX = 1_000;
/** Retries that a pass begins, and that are under way: their number delays no other address. */
const AGAIN_MAX = 5;
const AGAIN_AT_ONCE_MAX = 20;
const AGAIN = 'again ';
const BALANCES = 'balances';
const FOLDED_MS_MIN = 10;
const FOLDED_MS_MAX = 500;

/** Milliseconds; 0: there is no such address. */
export interface Ages {
  /** of the last check of the address at the front of the rotation */
  readonly turn: number;
  /** for which the hot address that waits longest has been due, by whether it was ever paid */
  readonly paid: number;
  readonly unpaid: number;
}

/** A transfer that somebody else has found; it is believed only once TRON shows it here. */
export interface Found {
  /** 20 bytes */
  readonly address: Buffer;
  readonly tx_id: Buffer;
}

export interface WatcherOptions extends Omit<AddressCheckOptions, 'retries'>, ComparisonOptions {
  /** over all partitions */
  readonly pass_addresses_max: number;
  /** reserved for the rotation of all addresses, however many are hot */
  readonly pass_cold_min: number;
  /** minimum time between two checks of an address in the rotation, and between two rounds */
  readonly cold_every_ms: number;
  /** about one in this many checks is a cross-check; 0: none */
  readonly cross_check_every: number;
  /** first and longest pause of what fails alone */
  readonly retry_ms_min: number;
  readonly retry_ms_max: number;
  readonly provider: Pick<
    TronGrid,
    'head' | 'list' | 'receipt' | 'balance' | 'balances' | 'failing' | 'idle'
  >;
  readonly model: Pick<ReadModel, keyof ReadModel>;
  readonly transfers: TransferLog;
  readonly signal: AbortSignal;
  /** by default in real time */
  readonly pause?: typeof untilAborted;
  /** called before each step */
  readonly onStep: (step: Step) => void;
  /** milliseconds of this clock since the head; negative: the clock is slow */
  readonly onHeadAge: (ms: number) => void;
}

export class Watcher {
  /** what is asked about again apart from the turns of addresses */
  readonly retries: Retries;
  readonly #options: WatcherOptions;
  readonly #check: AddressCheck;
  readonly #comparison: Comparison;
  readonly #asking: Asking;
  /** since the last record of addresses checked */
  #done: (CheckedAddress & { readonly partition: number })[] = [];
  #failed: Entry[] = [];
  /** upper bound of the current time, from the provider */
  #latest = 0;
  /** turns that failed since an address was served */
  #failedInRow = 0;
  /** turns begun */
  #begun = 0;
  /** block time of the earliest undecided transaction, by address */
  readonly #undecided = new Map<string, number>();
  /** by how much the newest head was ahead of this clock, which is slow by at least that */
  #slowMs = 0;
  #isClockOdd = false;
  /** by this clock */
  #headReadAt = Number.NEGATIVE_INFINITY;

  constructor(options: WatcherOptions) {
    this.#options = options;
    const now = (): number => this.#time();
    const { provider, model, transfers, usdt_contract, receipts_max, log } = options;
    const { retry_ms_min, retry_ms_max } = options;
    const retries = new Retries({ retry_ms_min, retry_ms_max, now });
    this.retries = retries;
    this.#asking = new Asking(options);
    this.#check = new AddressCheck({
      provider,
      model,
      transfers,
      usdt_contract,
      receipts_max,
      log,
      now,
      retries,
    });
    this.#comparison = new Comparison({
      provider,
      model,
      balance_requests_max: options.balance_requests_max,
      cold_every_ms: options.cold_every_ms,
      overlap_ms: options.overlap_ms,
      cross_check_ms: options.cross_check_ms,
      unexplained_ms: options.unexplained_ms,
      onCrossCheck: options.onCrossCheck,
      log,
      now,
      retries,
      list: (entry, range) => this.#listed(entry, range),
      observed: (entry) => this.#observed(entry),
    });
  }

  /**
   * Asks about the due addresses of these partitions. Returns the number of those checked since the
   * last pass. Throws faults of provider, Postgres and brokers, also of what an earlier pass began;
   * earlier results are in the log.
   */
  async pass(partitions: readonly number[]): Promise<number> {
    const { now, onStep } = this.#options;
    this.#asking.throwFault();
    this.retries.keepPartitions(partitions);
    // a list of a partition that another watcher has may lack what its retries held
    this.#done = this.#done.filter(({ partition }) => partitions.includes(partition));
    // what ended since the last pass is not asked about again
    let checked = await this.#conclude();
    await this.#folded();
    // to a slow clock nothing would be due
    let head = Math.abs(now() - this.#headReadAt) > HEAD_EVERY_MS ? await this.#head() : undefined;
    onStep('reading_queue');
    const again = this.#again();
    const entries = await this.#next(partitions, again);
    const isQuiet = entries.length + again.length === 0;
    if (isQuiet && !this.#areBalancesDue) return checked;
    // before any list is read: transfers solidified later may be missing in it
    head ??= await this.#head();
    const until = Math.min(head.timestamp, now());
    onStep('asking_provider');
    try {
      await this.#asking.ask({
        turns: entries.map((entry) => this.#turn(entry, until)),
        // then the queue is read anew: somebody may have opened a panel just now
        requests_max: Math.ceil(this.#options.pass_addresses_max * partOf(partitions)),
        others: again.map((retry) => this.#repetition(retry, until)),
      });
      this.#throwInVain();
    } finally {
      checked += await this.#conclude();
    }
    if (this.#areBalancesDue) {
      onStep('asking_provider');
      const others = [this.#balances(partitions)];
      await this.#asking.ask({ turns: [], requests_max: 0, others });
    }
    return checked;
  }

  /** The subject of the question to the provider that takes longest. */
  get about(): string | undefined {
    return this.#asking.oldest;
  }

  /** Resolves once nothing is asked any more: after an abort, at once. */
  ended(): Promise<void> {
    return this.#asking.ended();
  }

  /** How late the addresses of these partitions are at this moment, by the read model. */
  async ages(partitions: readonly number[]): Promise<Ages> {
    const { model } = this.#options;
    const [inTurn, due] = await Promise.all([
      model.inTurn(partitions, 1),
      model.longestDue(partitions),
    ]);
    const at = this.#time();
    const since = (time = at): number => Math.max(0, at - time);
    return { turn: since(inTurn[0]?.turn_at), paid: since(due.paid), unpaid: since(due.unpaid) };
  }

  /** Has transfers that somebody else found asked about, unless the log has them. */
  async find(found: readonly Found[], partitions: readonly number[]): Promise<void> {
    const { model } = this.#options;
    if (this.retries.transfers.length >= FOUND_MAX) return;
    const entries = await model.entries(found.map(({ address }) => address));
    for (const entry of entries) {
      if (!partitions.includes(entry.partition)) continue;
      const ids = found
        .filter(({ address }) => address.equals(entry.address))
        .map(({ tx_id: txId }) => txId);
      const seen = await model.seen(entry.address, ids);
      for (const tx_id of ids)
        if (!seen.has(tx_id.toString('hex')) && !this.retries.has({ entry, tx_id }))
          this.retries.name({ entry, tx_id }, 'the treasury has found it at the address');
    }
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
        'clock_behind',
        `TRON's solidified head is ${Math.round(-age / 1_000)} s ahead of this clock. What to do: correct this machine's clock, or check that APP_TRON_URL can be trusted; nothing is watched meanwhile`,
        { retry: true },
      );
    this.#slowMs = Math.max(0, -age);
    this.#headReadAt = now();
    this.#latest = head.timestamp + CLOCKS_APART_MAX_MS;
    return head;
  }

  get #areBalancesDue(): boolean {
    return this.#comparison.is_due && !this.#asking.has(BALANCES);
  }

  /** The due retries that there is room for. An address is listed once at a time. */
  #again(): readonly Retry[] {
    const room = AGAIN_AT_ONCE_MAX - this.#asking.count(AGAIN);
    return this.retries.due(
      Math.min(AGAIN_MAX, room),
      (retry) =>
        !this.#asking.has(againKey(retry)) &&
        (kindOf(retry) === 'transfer' || !this.#isListed(retry.entry)),
    );
  }

  /** A list of this address is under way. */
  #isListed(entry: Entry): boolean {
    const [address, balance] = [{ entry }, { entry, received: 0n }];
    return (
      this.#asking.has(keyOf(entry)) ||
      this.#asking.has(againKey(address)) ||
      this.#asking.has(againKey(balance))
    );
  }

  /**
   * Hot addresses, and those of the rotation among them, without those that fail alone or are
   * listed by these retries. A pass may begin only the first of them: their order goes on in the
   * next one, so that the rotation has its part however much each address needs.
   */
  async #next(partitions: readonly number[], again: readonly Retry[]): Promise<readonly Entry[]> {
    const { model, cold_every_ms: coldEveryMs } = this.#options;
    const part = partOf(partitions);
    const max = Math.ceil(this.#options.pass_addresses_max * part);
    const coldMin = Math.ceil(this.#options.pass_cold_min * part);
    const at = this.#time();
    const elsewhere = this.retries.addresses.length + this.#asking.count('');
    const [hot, inTurn] = await Promise.all([
      model.hot(partitions, max + elsewhere, at),
      model.inTurn(partitions, max + elsewhere),
    ]);
    const listed = new Set(
      again.filter((retry) => kindOf(retry) !== 'transfer').map(({ entry }) => keyOf(entry)),
    );
    const isServed = (entry: Entry): boolean =>
      !this.retries.has({ entry }) && !this.#isListed(entry) && !listed.has(keyOf(entry));
    const turns = inTurn.filter((entry) => entry.turn_at <= at - coldEveryMs && isServed(entry));
    const first = hot.filter(isServed).slice(0, max - Math.min(coldMin, turns.length));
    const hotOnes = new Set(first.map(keyOf));
    const others = turns.filter((entry) => !hotOnes.has(keyOf(entry)));
    const every = Math.max(2, Math.floor(max / Math.max(1, coldMin)));
    const entries: Entry[] = [];
    while (entries.length < max && first.length + others.length > 0) {
      const isOfRotation = (this.#begun + entries.length) % every === every - 1;
      const [one, other] = isOfRotation ? [others, first] : [first, others];
      entries.push(...(one.length > 0 ? one : other).splice(0, 1));
    }
    return entries;
  }

  #turn(entry: Entry, until: number): Question {
    const ask = (): Promise<void> => {
      this.#begun++;
      return this.#attempt(entry, until, () => this.#failedInRow++);
    };
    return { key: keyOf(entry), about: nameOf({ entry }), ask };
  }

  #repetition(retry: Retry, until: number): Question {
    const { entry, tx_id: txId } = retry;
    const ask = async (): Promise<void> => {
      if (txId !== undefined) await this.#check.again(entry, txId);
      else if (kindOf(retry) === 'balance') await this.#comparison.explain(retry, until);
      else await this.#attempt(entry, until);
    };
    return { key: againKey(retry), about: nameOf(retry), ask };
  }

  #balances(partitions: readonly number[]): Question {
    const ask = async (): Promise<void> => {
      // what has been appended explains balances
      await this.#folded(() => undefined);
      await this.#comparison.round(partitions);
    };
    return { key: BALANCES, about: 'the balances of many addresses', ask };
  }

  /** Many turns in a row have failed: more than are under way, which may end well. */
  #throwInVain(): void {
    const failed = this.#failedInRow;
    if (failed < BAD_ADDRESSES_MAX + this.#asking.count('')) return;
    this.#failedInRow = 0;
    this.#options.provider.failing();
    throw new Fault(
      'tron_answers',
      `TRON's provider answered badly about ${failed} addresses in a row, and about no other; check that APP_TRON_URL is a provider with TronGrid's interface; they are asked about again`,
      { retry: true },
    );
  }

  async #attempt(entry: Entry, until: number, onFailed?: () => void): Promise<void> {
    try {
      const checked = await this.#one(entry, until);
      const { address, partition } = entry;
      this.#done.push({ address, partition, until: checked.until });
      this.#failedInRow = 0;
      this.retries.ended({ entry });
    } catch (error) {
      // what failed with another request, or as this process ends, says nothing about this address
      const isOfAll = this.#asking.is_failing || this.#options.signal.aborted;
      if (!isProviderFault(error) || isOfAll) throw error;
      this.retries.failed({ entry }, error.message);
      this.#failed.push(entry);
      onFailed?.();
      throw error;
    }
  }

  async #one(entry: Entry, until: number): Promise<Checked> {
    const { overlap_ms: overlapMs, cross_check_every: crossCheckEvery } = this.#options;
    const key = keyOf(entry);
    const from = Math.max(
      0,
      Math.min(entry.checked_until - overlapMs, this.#undecided.get(key) ?? Infinity),
    );
    return isCrossChecked(entry, crossCheckEvery)
      ? this.#comparison.crossCheck(entry, { from, until })
      : this.#listed(entry, { from, until });
  }

  async #listed(entry: Entry, range: Range): Promise<Checked> {
    const checked = await this.#check.run(entry, range);
    const key = keyOf(entry);
    if (checked.undecided_from === undefined) this.#undecided.delete(key);
    else this.#undecided.set(key, checked.undecided_from);
    return checked;
  }

  async #observed(entry: Entry): Promise<bigint> {
    await this.#folded(() => undefined);
    return this.#options.model.observed(entry.address);
  }

  /**
   * Addresses with bad answers, while others succeed, keep their cursors until their next turn.
   * Returns the number of the others.
   */
  async #conclude(): Promise<number> {
    const { transfers } = this.#options;
    const [done, failed] = [this.#done, this.#failed];
    this.#done = [];
    this.#failed = [];
    const stayed = (done.length > 0 ? failed : []).map(
      ({ address, partition, checked_until: checkedUntil }) => ({
        address,
        partition,
        until: checkedUntil,
      }),
    );
    const byPartition = Map.groupBy([...done, ...stayed], ({ partition }) => partition);
    for (const [partition, checked] of byPartition) {
      const event: AddressesChecked = {
        type: 'AddressesChecked',
        checked_at: Math.min(this.#time(), this.#latest),
        checked: checked.map(({ address, until }) => ({ address, until })),
      };
      await transfers.append(partition, [event]);
    }
    return done.length;
  }

  /** Waits until the read model shows the appended records: until then they would be due again. */
  async #folded(onStep = this.#options.onStep): Promise<void> {
    const { transfers, model, signal } = this.#options;
    const ends = transfers.ends();
    let wait = FOLDED_MS_MIN;
    while (!transfers.isFolded(await model.folded(), ends)) {
      onStep('awaiting_read_model');
      await untilAborted(wait, signal);
      wait = Math.min(FOLDED_MS_MAX, wait * 2);
      if (signal.aborted)
        throw new Fault('draining', 'stopped while waiting for the read model', {
          retry: true,
        });
    }
  }
}

/** About one in `every` checks, derived from the address and its last check; 0: never. */
function isCrossChecked({ address, checked_at: checkedAt }: Entry, every: number): boolean {
  if (every === 0) return false;
  const seed = Buffer.alloc(28);
  address.copy(seed);
  seed.writeBigUInt64BE(BigInt(checkedAt), 20);
  return crc32(seed) % every === 0;
}

/** Each of several watchers makes its part of a pass. */
function partOf(partitions: readonly number[]): number {
  return partitions.length / TRON_TRANSFERS.partitions;
}

function againKey(subject: Subject): string {
  return `${AGAIN}${subjectKey(subject)}`;
}
