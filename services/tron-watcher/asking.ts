/**
 * Questions about many addresses, at once: one that hangs holds up no other. Each begins when no
 * request of an earlier one waits for its turn, so that what is under way goes on first. A fault of
 * one address ends nothing; one of the provider as a whole, of Postgres or of the brokers ends all.
 */
import { toTronAddress } from '../../schemas/tron-address.ts';
import type { Logger } from '../runtime/process/log.ts';
import { untilAborted } from '../runtime/process/retry.ts';
import { BAD_ANSWER, isProviderFault, type TronGrid } from '../runtime/trongrid/trongrid.ts';
import type { Entry } from './read-model.ts';
import type { Retries, Retry } from './retries.ts';

/** Addresses at once: others wait while so many hang. */
const AT_ONCE_MAX = 50;
/** Retries at once, and the time for which they are waited for. */
const AGAIN_MAX = 5;
const AGAIN_MS = 500;

interface AskingOptions {
  readonly provider: Pick<TronGrid, 'idle'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** by default in real time */
  readonly pause?: typeof untilAborted;
}

export class Asking {
  readonly #options: AskingOptions;
  /** the number of retries under way, by address */
  readonly #again = new Map<string, number>();
  #fault: { readonly error: unknown } | undefined;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  /** Whether a retry about this address is under way. */
  isAbout(entry: Entry): boolean {
    return this.#again.has(keyOf(entry));
  }

  /** All questions end, with a fault that need not be their own. */
  get isFailing(): boolean {
    return this.#fault !== undefined;
  }

  /** Asks about each. Throws the fault that ends all. */
  async all(entries: readonly Entry[], ask: (entry: Entry) => Promise<void>): Promise<void> {
    const asking = new Set<Promise<void>>();
    for (const entry of entries) {
      if (asking.size >= AT_ONCE_MAX) await Promise.race(asking);
      await this.#options.provider.idle();
      if (this.#isEnding) break;
      const asked = this.#ask(entry, () => ask(entry));
      asking.add(asked);
      void asked.finally(() => asking.delete(asked));
    }
    await Promise.all(asking);
    this.#throwFault();
  }

  /**
   * Asks a few of the due retries: their number delays no other address. One that hangs is not
   * waited for; its fault is thrown later. Throws the fault that ends all.
   */
  async again(retries: Retries, ask: (retry: Retry) => Promise<void>): Promise<void> {
    const { provider, signal, pause = untilAborted } = this.#options;
    const room = AGAIN_MAX - this.#again.values().reduce((sum, count) => sum + count, 0);
    const due = retries.due(room, ({ entry }) => !this.isAbout(entry));
    const begun: Promise<void>[] = [];
    // those about one address are asked one after the other
    for (const [key, each] of Map.groupBy(due, ({ entry }) => keyOf(entry))) {
      await provider.idle();
      if (this.#isEnding) break;
      this.#again.set(key, each.length);
      begun.push(this.#askInTurn(each, ask).finally(() => this.#again.delete(key)));
    }
    await Promise.race([Promise.all(begun), pause(AGAIN_MS, signal)]);
    this.#throwFault();
  }

  async #askInTurn(retries: readonly Retry[], ask: (retry: Retry) => Promise<void>): Promise<void> {
    for (const retry of retries)
      if (!this.#isEnding) await this.#ask(retry.entry, () => ask(retry));
  }

  async #ask({ address }: Entry, ask: () => Promise<void>): Promise<void> {
    try {
      await ask();
    } catch (error) {
      const isProviders = isProviderFault(error);
      if (isProviders)
        this.#options.log.warn(
          { err: error, address: toTronAddress(address) },
          'the provider gave a bad answer about an address',
        );
      if (!isProviders || error.code !== BAD_ANSWER) this.#fault ??= { error };
    }
  }

  get #isEnding(): boolean {
    return this.isFailing || this.#options.signal.aborted;
  }

  #throwFault(): void {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) throw fault.error;
  }
}

function keyOf({ address }: Entry): string {
  return address.toString('latin1');
}
