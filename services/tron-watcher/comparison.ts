/**
 * Balances against the log: one that the log does not explain has its address listed again, until
 * it is explained or a person has looked.
 */
import { toTronAddress } from '../../schemas/tron-address.ts';
import { Fault } from '../runtime/process/errors.ts';
import { isProviderFault } from '../runtime/trongrid/trongrid.ts';
import type { Checked, Range } from './address-check.ts';
import { Balances, type BalancesOptions } from './balances.ts';
import { Left } from './left.ts';
import type { Entry } from './read-model.ts';
import type { Retries, Retry } from './retries.ts';

/** Attempts to explain a balance of which one asks for receipts with transfers, too. */
const ALL_RECEIPTS_EVERY = 3;
/** Time after which what has left an address is taken for a node's error, if nothing is listed. */
const FORGOTTEN_MS = 86_400_000;

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

export interface ComparisonOptions extends Omit<BalancesOptions, 'onBalance' | 'onRefused'> {
  /** block time before its cursor that is listed again */
  readonly overlap_ms: number;
  /** block time before its cursor that a cross-check lists again */
  readonly cross_check_ms: number;
  /** time for which a balance is unexplained before a person has to look */
  readonly unexplained_ms: number;
  readonly onCrossCheck: (outcome: CrossCheckOutcome) => void;
}

interface Parts {
  readonly retries: Retries;
  readonly list: (entry: Entry, range: Range) => Promise<Checked>;
  /** micro-USDT that the address received by the log */
  readonly observed: (entry: Entry) => Promise<bigint>;
}

export class Comparison {
  readonly #options: ComparisonOptions & Parts;
  readonly #balances: Balances;
  readonly #left = new Left();

  constructor(options: ComparisonOptions & Parts) {
    this.#options = options;
    const { provider, model, balance_requests_max, cold_every_ms, log, now } = options;
    this.#balances = new Balances({
      provider,
      model,
      balance_requests_max,
      cold_every_ms,
      log,
      now,
      // the log is read before the balance: what arrives between them counts as no loss
      onBalance: (entry, balance, observed) => {
        this.#compared(entry, { balance, observed, left: this.#left.of(entry) });
        this.#left.compared(entry, { balance, observed, at: options.now() });
      },
      onRefused: () => options.onCrossCheck('no_balance'),
    });
  }

  get is_due(): boolean {
    return this.#balances.is_due;
  }

  /** Goes on with the round over all balances, as `Balances.compare` does. */
  round(partitions: readonly number[]): Promise<void> {
    return this.#balances.compare(partitions);
  }

  /**
   * Re-examines an address: a row that the provider listed late shows when an old range is listed
   * again, and one that it never lists shows in the balance, whatever is undecided. The balance is
   * read first, so that later arrivals make no difference. Money may have left the address: only a
   * balance above the rest of the log's sum proves a missing transfer.
   */
  async crossCheck(entry: Entry, { from, until }: Range): Promise<Checked> {
    const { cross_check_ms: crossCheckMs, list, onCrossCheck } = this.#options;
    const balance = await this.#balance(entry);
    const left = this.#left.of(entry);
    const checked = await list(entry, {
      from: Math.max(0, Math.min(from, entry.checked_until - crossCheckMs)),
      until,
      again: 'silent',
    });
    if (checked.undecided_from !== undefined) onCrossCheck('undecided');
    if (balance === undefined) {
      onCrossCheck('no_balance');
      return checked;
    }
    const observed = await this.#options.observed(entry);
    if (!this.#compared(entry, { balance, observed, left }))
      onCrossCheck(balance === observed ? 'equal' : 'less_on_chain');
    return checked;
  }

  /**
   * Lists an address whose balance the log does not explain. A transfer that was only listed late
   * is found at once; later attempts begin at the first transfer.
   */
  async explain(retry: Retry, until: number): Promise<void> {
    const { unexplained_ms: unexplainedMs, overlap_ms: overlapMs } = this.#options;
    const { list, retries, log, now, onCrossCheck } = this.#options;
    const { entry, received = 0n, failures, since } = retry;
    // the balance may change meanwhile: then it is looked at anew
    const isSame = (): boolean => retries.get(retry)?.received === received;
    const from = failures === 0 ? Math.max(0, entry.checked_until - overlapMs) : 0;
    const again = failures % ALL_RECEIPTS_EVERY === 2 ? 'all' : 'silent';
    try {
      // what is undecided may explain it, and is asked about anyway
      if (!retries.hasTransfersTo(entry)) await list(entry, { from, until, again });
    } catch (error) {
      if (isProviderFault(error) && isSame()) retries.failed(retry, error.message);
      throw error;
    }
    const observed = await this.#options.observed(entry);
    if (!isSame()) return;
    if (received <= observed) return retries.ended(retry);
    retries.failed(retry, unexplained(received, observed));
    if (now() - since < unexplainedMs) return;
    onCrossCheck('missing');
    if (now() - since >= FORGOTTEN_MS) this.#left.forget(entry);
    log.warn(
      { address: toTronAddress(entry.address), received, observed },
      'neither lists nor receipts of the provider explain the balance: check the address with another provider; it is checked again',
    );
  }

  /** A balance, the log's sum and what has left; true: the log does not explain the balance. */
  #compared(
    entry: Entry,
    { balance, observed, left }: { readonly [of in 'balance' | 'observed' | 'left']: bigint },
  ): boolean {
    const { retries, log, onCrossCheck } = this.#options;
    const received = balance + left;
    const subject = { entry, received };
    if (received <= observed) {
      retries.ended(subject);
      return false;
    }
    if (retries.get(subject)?.received === received) return true;
    onCrossCheck('more_on_chain');
    log.info(
      { address: toTronAddress(entry.address), balance, received, observed },
      'an address has more than the log explains: listing it again',
    );
    retries.name(subject, unexplained(received, observed));
    return true;
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
}

function unexplained(received: bigint, observed: bigint): string {
  return `it received at least ${received} micro-USDT, of which the log has ${observed}`;
}
