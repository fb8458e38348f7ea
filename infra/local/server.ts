import { setTimeout as pause } from 'node:timers/promises';
import { describeExit, spawnChild, type Child, type Command, type Exit } from './child.ts';
import { StackFault } from './fault.ts';
import type { Folder } from './folder.ts';
import { holdersOf, holdsPort } from './port-holder.ts';

const POLL_MS = 50;

/** One server: how it is prepared, started and asked. */
export interface ServerSpec {
  readonly name: string;
  readonly version: string;
  /** The port that clients use, then the others that its process must hold. */
  readonly ports: readonly [number, ...number[]];
  /** Makes the data folder when there is none, and says what to run. */
  prepare(signal: AbortSignal): Promise<Command>;
  /** Whether it answers. Rejects or resolves to false while it does not. */
  answers(): Promise<boolean>;
  /** What is done after each start, once it answers. */
  settle?(): Promise<void>;
  /** Whether a start that ended like this is worth another try. */
  isPassing?(child: Child): boolean;
  readonly stop_signal: NodeJS.Signals;
}

export interface WaitLimits {
  readonly ready_ms: number;
  readonly stop_ms: number;
}

/** What `answers` rejects with while a server is not ready because of work that takes as long as there is data, such as loading tables: its own, or another's whom it waits for. */
export class AtWork extends Error {
  readonly is_own: boolean;

  constructor(message: string, is_own = true) {
    super(message);
    this.is_own = is_own;
  }
}

/** It was not ready in time, and was therefore told to end. */
export class TooLate extends StackFault {}

/** How long one that is at work may say the same: an index of a large table tells no progress. */
const AT_WORK_MS = 1_800_000;

/**
 * Rejects unless the child holds its ports and answers within `ready_ms`, not counting the time in which it is at work; `atWork` is told at what. Never takes another
 * process' answer for the child's.
 */
export async function waitUntilReady(
  child: Child,
  ports: readonly number[],
  answers: () => Promise<boolean>,
  ready_ms: number,
  signal: AbortSignal,
  atWork: (what: string) => void = () => undefined,
): Promise<void> {
  let patience_ms = ready_ms;
  let since = performance.now();
  let work: string | undefined;
  let last: unknown;
  for (;;) {
    signal.throwIfAborted();
    if (child.exited !== undefined)
      throw child.faultOf(`${describeExit(child.exited)} before it was ready`);
    if (ports.every((port) => holdsPort(child.pid, port))) {
      try {
        if (await answers()) return;
      } catch (error) {
        last = error;
        const now = error instanceof AtWork ? error.message : undefined;
        if (now !== work) {
          if (error instanceof AtWork) patience_ms = error.is_own ? AT_WORK_MS : Infinity;
          else patience_ms = ready_ms;
          since = performance.now();
          work = now;
          if (now !== undefined) atWork(now);
        }
      }
    }
    if (performance.now() - since > patience_ms) {
      const foreign = ports.flatMap((port) =>
        holdersOf(port)
          .filter((pid) => pid !== child.pid && !holdsPort(child.pid, port))
          .map((pid) => `${port} by process ${pid}`),
      );
      const why =
        foreign.length > 0
          ? ` (held by others: ${foreign.join(', ')})`
          : last instanceof Error
            ? ` (${last.message})`
            : '';
      throw new TooLate(
        child.faultOf(`was not ready within ${patience_ms / 1_000} s${why}`).message,
      );
    }
    await pause(POLL_MS, undefined, { signal });
  }
}

/** A server process that can be started, killed and started again on the same ports and data. */
export class Server {
  readonly #spec: ServerSpec;
  readonly #folder: Folder;
  readonly #limits: WaitLimits;
  #child: Child | undefined;

  constructor(
    spec: ServerSpec,
    folder: Folder,
    limits: WaitLimits = { ready_ms: 90_000, stop_ms: 30_000 },
  ) {
    this.#spec = spec;
    this.#folder = folder;
    this.#limits = limits;
  }

  get name(): string {
    return this.#spec.name;
  }

  get version(): string {
    return this.#spec.version;
  }

  get port(): number {
    return this.#spec.ports[0];
  }

  /** The running process' id, or undefined. */
  get pid(): number | undefined {
    return this.#child?.exited === undefined ? this.#child?.pid : undefined;
  }

  /** The process of the last start, or undefined before the first. */
  get child(): Child | undefined {
    return this.#child;
  }

  /** Resolves when it answers on its own port; until then `atWork` is told what it is at. Rejects with a StackFault and the end of its log; then nothing of it runs. */
  async start(
    signal: AbortSignal = new AbortController().signal,
    atWork?: (what: string) => void,
  ): Promise<void> {
    if (this.pid !== undefined)
      throw new StackFault(`${this.name} runs already as process ${this.pid}`);
    const deadline = performance.now() + this.#limits.ready_ms;
    for (;;) {
      const command = await this.#spec.prepare(signal);
      signal.throwIfAborted();
      const child = await spawnChild(this.name, command, this.#folder);
      this.#child = child;
      try {
        await waitUntilReady(
          child,
          this.#spec.ports,
          () => this.#spec.answers(),
          this.#limits.ready_ms,
          signal,
          atWork,
        );
        await this.#spec.settle?.();
        return;
      } catch (error) {
        await this.stop();
        if (
          signal.aborted ||
          performance.now() > deadline ||
          this.#spec.isPassing?.(child) !== true
        )
          throw error;
      }
      await pause(POLL_MS, undefined, { signal });
    }
  }

  /** Sends a signal; resolves when the process has ended, or at once for a signal that does not end it (SIGSTOP, SIGCONT). */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit | undefined> {
    const child = this.#child;
    if (child === undefined || child.exited !== undefined) return child?.exited;
    child.signal(signal);
    return signal === 'SIGSTOP' || signal === 'SIGCONT' ? undefined : await child.exit;
  }

  /** Ends it in order (and by force when it does not end in time). Does nothing when it does not run. */
  async stop(): Promise<void> {
    await this.#child?.stop(this.#spec.stop_signal, this.#limits.stop_ms);
  }
}
