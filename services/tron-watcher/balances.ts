/**
 * Reads the balances of all addresses in turn, many in one request, and hands each to be compared
 * with the log. This is the net under the lists: whatever a list leaves out or shows late, money at
 * an address shows here. A provider that refuses a request is asked for fewer balances at once, so
 * that one address holds up no other; one that serves none is asked less and less often.
 */
import { toTronAddress } from '../../schemas/tron-address.ts';
import type { Logger } from '../runtime/process/log.ts';
import { BAD_ANSWER, isProviderFault, type TronGrid } from '../runtime/trongrid/trongrid.ts';
import type { Entry, ReadModel, Received } from './read-model.ts';

/** In one request. A node stops a constant call after 80 ms; this many take a fraction. */
const BATCH_MAX = 200;
/** Addresses in a row whose balance is refused, after which the provider is at fault. */
const REFUSED_MAX = 10;
const PAUSE_MS_MIN = 60_000;
const PAUSE_MS_MAX = 3_600_000;
/** Before every address. */
const BEGIN = Buffer.alloc(0);

export interface BalancesOptions {
  readonly provider: Pick<TronGrid, 'balance' | 'balances'>;
  readonly model: Pick<ReadModel, 'receivedAfter'>;
  /** requests of one pass; 0: balances are not read */
  readonly balance_requests_max: number;
  /** minimum time between the beginnings of two rounds */
  readonly cold_every_ms: number;
  readonly log: Logger;
  /** Unix milliseconds */
  readonly now: () => number;
  /** micro-USDT: the balance, and the transfers in the log */
  readonly onBalance: (entry: Entry, balance: bigint, observed: bigint) => void;
  /** the provider does not say a balance */
  readonly onRefused: () => void;
}

export class Balances {
  readonly #options: BalancesOptions;
  #after: Buffer = BEGIN;
  #begunAt = Number.NEGATIVE_INFINITY;
  #batch = BATCH_MAX;
  #refusedInRow = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: BalancesOptions) {
    this.#options = options;
  }

  get is_due(): boolean {
    const {
      balance_requests_max: balanceRequestsMax,
      cold_every_ms: coldEveryMs,
      now,
    } = this.#options;
    if (balanceRequestsMax === 0 || now() < this.#pausedUntil) return false;
    return this.#after.length > 0 || now() >= this.#begunAt + coldEveryMs;
  }

  /** Goes on with the round for the requests of one pass, at most to its end. */
  async compare(partitions: readonly number[]): Promise<void> {
    const { model, balance_requests_max: balanceRequestsMax, now } = this.#options;
    for (let requests = 0; requests < balanceRequestsMax && this.is_due; requests++) {
      if (this.#after.length === 0) this.#begunAt = now();
      const received = await model.receivedAfter(partitions, this.#after, this.#batch);
      const isLast = received.length < this.#batch;
      if (received.length > 0 && !(await this.#read(received))) continue;
      this.#after = isLast ? BEGIN : (received.at(-1)?.entry.address ?? BEGIN);
      if (isLast) return;
    }
  }

  /** False: the same are asked for again, in smaller parts or later. */
  async #read(received: readonly Received[]): Promise<boolean> {
    const { log, onBalance, onRefused, now } = this.#options;
    try {
      const balances = await this.#ask(received);
      for (const [at, { entry, observed }] of received.entries())
        onBalance(entry, balances[at] ?? 0n, observed);
      this.#batch = Math.min(BATCH_MAX, this.#batch * 2);
      this.#refusedInRow = 0;
      return true;
    } catch (error) {
      if (!isProviderFault(error)) throw error;
      const isAlone = error.code === BAD_ANSWER;
      if (isAlone && received.length > 1) {
        this.#batch = Math.ceil(received.length / 2);
        return false;
      }
      onRefused();
      const [first] = received;
      log.warn(
        { err: error, address: first && toTronAddress(first.entry.address) },
        'the provider does not say a balance: it is compared later',
      );
      const doublings = ++this.#refusedInRow - (isAlone ? REFUSED_MAX : 1);
      if (doublings >= 0)
        this.#pausedUntil = now() + Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** doublings);
      return isAlone;
    }
  }

  async #ask(received: readonly Received[]): Promise<readonly bigint[]> {
    const { provider } = this.#options;
    const [first, ...others] = received.map(({ entry }) => entry.address);
    if (first !== undefined && others.length === 0) return [await provider.balance(first)];
    const { balances } = await provider.balances(received.map(({ entry }) => entry.address));
    return balances.map(({ balance }) => balance);
  }
}
