/**
 * Time that passes only when a test says so: the clocks and timers of this process are replaced
 * until `restore`. Work that waits for no timer goes on by itself, and `settle` waits for its end.
 *
 *     const time = new VirtualTime(1_790_000_000_000);
 *     await time.pass(60_000);
 *     time.restore();
 */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

interface Timer {
  readonly at: number;
  readonly order: number;
  /** of an interval */
  readonly every: number | undefined;
  readonly run: () => void;
}

/** Turns of the event loop without a sign of work after which none is under way. */
const QUIET_TURNS = 3;
/** Turns after which work that waits for no time to pass has no end. */
const TURNS_MAX = 300;
const HOPS = 4;

/** A process works on and on while no time passes. */
export class EndlessWork extends Error {
  override readonly name = 'EndlessWork';
}

export class VirtualTime {
  #now: number;
  #order = 0;
  #signs = 0;
  readonly #timers = new Map<unknown, Timer>();
  readonly #undo: (() => void)[] = [];

  /** `begin`: Unix milliseconds. */
  constructor(begin: number) {
    this.#now = begin;
    const { clearTimeout: clearReal } = globalThis;
    const clear = (handle: Parameters<typeof clearReal>[0]): void => {
      if (!this.#timers.delete(handle)) clearReal(handle);
    };
    const timer =
      (isInterval: boolean) =>
      (run: (...given: readonly unknown[]) => void, ms = 0, ...given: readonly unknown[]) =>
        this.#add(() => run(...given), ms, isInterval ? ms : undefined);
    this.#replace(globalThis, 'setTimeout', timer(false));
    this.#replace(globalThis, 'setInterval', timer(true));
    this.#replace(globalThis, 'clearTimeout', clear);
    this.#replace(globalThis, 'clearInterval', clear);
    this.#replace(Date, 'now', () => this.#now);
    this.#replace(performance, 'now', () => this.#now);
    this.#replace(
      timers,
      'setTimeout',
      (ms?: number, value?: unknown, options?: { readonly signal?: AbortSignal }) =>
        this.#after(ms, value, options?.signal),
    );
    syncBuiltinESMExports();
  }

  /** Unix milliseconds */
  get now(): number {
    return this.#now;
  }

  /** To be called by what stands for a server, at each request: work is under way. */
  sign(): void {
    this.#signs++;
  }

  /** Resolves when all that is under way waits for time to pass. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < TURNS_MAX;) {
      turns += await this.#quiet(TURNS_MAX - turns);
      if (turns < TURNS_MAX && !this.#fire()) return;
    }
    throw new EndlessWork('the work of this process has no end, although no time passes');
  }

  /** Lets so many milliseconds pass, in a few hops: an interval is due once in each. */
  async pass(ms: number, hops = HOPS): Promise<void> {
    const begin = this.#now;
    for (let hop = 1; hop <= hops; hop++) {
      await this.settle();
      this.#now = begin + Math.round((ms * hop) / hops);
    }
    await this.settle();
  }

  /** The result of work that may wait for time to pass, for this long at most. */
  async finish<Result>(work: Promise<Result>, what: string, ms: number): Promise<Result> {
    let hasEnded = false;
    const end = (): void => {
      hasEnded = true;
    };
    work.then(end, end);
    for (const until = this.#now + ms; ;) {
      await this.settle();
      if (hasEnded) return work;
      // no limit: a time of this clock, which the test sets
      if (this.#now > until) throw new Error(`${what} has not ended within ${ms} ms`);
      await this.pass(1_000, 1);
    }
  }

  restore(): void {
    for (const undo of this.#undo.toReversed()) undo();
    syncBuiltinESMExports();
  }

  #replace(target: object, name: string, value: unknown): void {
    const before = Object.getOwnPropertyDescriptor(target, name);
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
    this.#undo.push(() => {
      if (before === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, before);
    });
  }

  #add(run: () => void, ms: number, every?: number) {
    this.#signs++;
    const handle = {
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
      [Symbol.dispose]: () => void this.#timers.delete(handle),
    };
    this.#timers.set(handle, { at: this.#now + Math.max(0, ms), order: this.#order++, every, run });
    return handle;
  }

  #after(ms = 0, value?: unknown, signal?: AbortSignal): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (signal?.aborted === true) {
      reject(signal.reason);
      return promise;
    }
    const abort = (): void => {
      this.#timers.delete(handle);
      reject(signal?.reason);
    };
    const handle = this.#add(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
    return promise;
  }

  /** Runs what is due, in order; false: nothing was. */
  #fire(): boolean {
    const due = [...this.#timers]
      .filter(([, { at }]) => at <= this.#now)
      .toSorted(([, one], [, other]) => one.at - other.at || one.order - other.order);
    for (const [handle, timer] of due) {
      if (this.#timers.get(handle) !== timer) continue;
      const { every, run } = timer;
      if (every === undefined) this.#timers.delete(handle);
      else this.#timers.set(handle, { ...timer, at: this.#now + Math.max(1, every) });
      run();
    }
    return due.length > 0;
  }

  /**
   * Between two turns of the event loop everything runs that waits for no server and no timer. The
   * number of turns.
   */
  async #quiet(turnsMax: number): Promise<number> {
    let turns = 0;
    for (let quiet = 0; quiet < QUIET_TURNS && turns < turnsMax; turns++) {
      const before = this.#signs;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.#signs === before ? quiet + 1 : 0;
    }
    return turns;
  }
}
