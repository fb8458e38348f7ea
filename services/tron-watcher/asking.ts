/**
 * Questions to TRON's provider, many at once: one that takes long holds up no other, and goes on
 * beside the next passes. Each begins when every request made before has had its turn, so that
 * nobody waits for more than one request of each other. A bad answer ends its question alone; a
 * fault of the provider as a whole, of Postgres or of the brokers ends the pass.
 */
import { Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import { untilAborted } from '../runtime/process/retry.ts';
import { BAD_ANSWER, isProviderFault, type TronGrid } from '../runtime/trongrid/trongrid.ts';

/** At ten requests a second a hundred hang at most, since each is given up after ten seconds. */
const AT_ONCE_MAX = 150;
/** For which a pass waits for its questions. */
const WAIT_MS = 500;

export interface Question {
  /** no other with this key is under way */
  readonly key: string;
  /** for a person: what it is about */
  readonly about: string;
  readonly ask: () => Promise<void>;
}

interface Questions {
  readonly turns: readonly Question[];
  readonly requests_max: number;
  readonly others: readonly Question[];
}

interface AskingOptions {
  readonly provider: Pick<TronGrid, 'idle'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** by default in real time */
  readonly pause?: typeof untilAborted;
}

export class Asking {
  readonly #options: AskingOptions;
  /** by key, the oldest first */
  readonly #underWay = new Map<string, { readonly about: string; readonly end: Promise<void> }>();
  #fault: { readonly error: unknown } | undefined;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  has(key: string): boolean {
    return this.#underWay.has(key);
  }

  /** The number under way whose key begins so. */
  count(prefix: string): number {
    return [...this.#underWay.keys()].filter((key) => key.startsWith(prefix)).length;
  }

  /** The subject of the question that takes longest. */
  get oldest(): string | undefined {
    const [oldest] = this.#underWay.values();
    return oldest?.about;
  }

  /**
   * Asks these, and waits a little. After the first turn none is begun once so many requests were
   * made, also for questions before. Throws the fault that has ended a question, now or before.
   */
  async ask({ turns, requests_max, others }: Questions): Promise<void> {
    const { signal, pause = untilAborted } = this.#options;
    const begun: Promise<void>[] = [];
    let before: number | undefined;
    for (const turn of turns) {
      const made = await this.#room();
      before ??= made;
      if (this.#isEnding || (begun.length > 0 && made - before >= requests_max)) break;
      begun.push(this.#begin(turn));
    }
    for (const other of others) {
      await this.#room();
      if (!this.#isEnding) begun.push(this.#begin(other));
    }
    const ended = new AbortController();
    const wait = pause(WAIT_MS, AbortSignal.any([signal, ended.signal]));
    await Promise.race([Promise.all(begun), wait]);
    ended.abort();
    this.throwFault();
  }

  /** All questions end, with a fault that need not be their own. */
  get is_failing(): boolean {
    return this.#fault !== undefined;
  }

  get #isEnding(): boolean {
    return this.is_failing || this.#options.signal.aborted;
  }

  throwFault(): void {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) throw fault.error;
  }

  /** Resolves once nothing is under way. Throws what is no fault: nobody else would see it. */
  async ended(): Promise<void> {
    await Promise.all(this.#ends);
    if (!(this.#fault?.error instanceof Fault)) this.throwFault();
  }

  get #ends(): readonly Promise<void>[] {
    return [...this.#underWay.values()].map(({ end }) => end);
  }

  /** Resolves once another may begin: the number of requests made so far. */
  async #room(): Promise<number> {
    if (this.#underWay.size >= AT_ONCE_MAX) await Promise.race(this.#ends);
    return this.#options.provider.idle();
  }

  #begin({ key, about, ask }: Question): Promise<void> {
    const end = this.#ask(about, ask).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, { about, end });
    return end;
  }

  async #ask(about: string, ask: () => Promise<void>): Promise<void> {
    try {
      await ask();
    } catch (error) {
      const { log, signal } = this.#options;
      if (isProviderFault(error)) log.warn({ err: error, about }, 'the provider gave a bad answer');
      if (isProviderFault(error) && (error.code === BAD_ANSWER || signal.aborted)) return;
      // one after which waiting helps hides none after which it does not
      const isWaiting = this.#fault?.error instanceof Fault && this.#fault.error.retry;
      if (this.#fault === undefined || isWaiting) this.#fault = { error };
      else log.warn({ err: error, about }, 'a question failed beside another');
    }
  }
}
