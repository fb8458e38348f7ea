import { setTimeout as pause } from 'node:timers/promises';
import type { Folder } from '../stack/folder.ts';
import { isFree } from '../stack/ports.ts';
import {
  childFault,
  describeExit,
  logFileOf,
  spawnChild,
  type Child,
  type Command,
} from './child.ts';
import { StackFault, unansweredText } from './run-program.ts';

const POLL_MS = 50;
/** On a busy or slow machine Java takes minutes to start; a server that ends is noticed at once. */
const READY_MS = 600_000;
const STOP_MS = 30_000;
/** A server that reports the same work for this long counts as no longer working. */
const SAME_WORK_MS = 30 * 60_000;

/** One server: how it is prepared, started and probed. */
export interface ServerSpec {
  readonly name: string;
  /** The port that clients use, then the others that it listens on. */
  readonly ports: readonly [number, ...number[]];
  /** The server fails when it is neither ready nor working for this long. */
  readonly ready_ms?: number;
  /** The server is killed when it has not ended this long after it was asked to. */
  readonly stop_ms?: number;
  /** Creates the data folder if there is none, and returns the command to run. */
  prepare(signal: AbortSignal, settings: Readonly<Record<string, string>>): Promise<Command>;
  /**
   * Rejects while it does not answer, with a `Working` while it is busy with long work, and with
   * a `Halted`.
   */
  isReady(): Promise<boolean>;
  /** Whether it runs, and waits for a person. */
  isHalted?(): Promise<boolean>;
  /** In its log when it ended for a reason that passes: it is started again until `ready_ms`. */
  readonly passing_exit?: RegExp;
  /** Runs after each start, once it is ready. */
  settle?(): Promise<void>;
  /** The data that it lacks although it is ready, and what to do; undefined: none. */
  lacks?(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Resolves when it may be started again after a crash. `say`: why not yet, and what to do.
   */
  mayRestart?(signal: AbortSignal, say: (why: string) => void): Promise<void>;
}

/** A server that is not ready because of finite work, such as loading tables. */
export class Working extends Error {
  /** Changes with the progress of the work. */
  readonly progress: string;

  constructor(message: string, progress = message) {
    super(message);
    this.progress = progress;
  }
}

/** A server runs, and goes on only after a person has acted: waiting for it is in vain. */
export class Halted extends Error {}

/** A server ended before it was ready. */
export class EarlyExit extends StackFault {}

/** Resolves when the child is ready. Rejects when it ends or makes no progress for `ready_ms`. */
export async function waitUntilReady(
  child: Child,
  isReady: () => Promise<boolean>,
  ready_ms = READY_MS,
  signal?: AbortSignal,
  onWorking?: (text: string) => void,
): Promise<void> {
  let deadline = performance.now() + ready_ms;
  let last: unknown = 'no answer';
  let progress: string | undefined;
  let progress_at = 0;
  for (;;) {
    try {
      if ((await isReady()) && child.exited === undefined) return;
    } catch (error) {
      last = error;
      if (error instanceof Working) {
        const now = performance.now();
        if (error.progress !== progress) progress_at = now;
        progress = error.progress;
        if (now - progress_at < SAME_WORK_MS) deadline = now + ready_ms;
        onWorking?.(error.message);
      }
    }
    signal?.throwIfAborted();
    if (child.exited !== undefined)
      throw new EarlyExit(childFault(child, `${describeExit(child.exited)} before it was ready`));
    if (performance.now() > deadline) {
      const waited = `was not ready within ${ready_ms / 1_000} s (${unansweredText(last)})`;
      throw new StackFault(childFault(child, waited));
    }
    await pause(POLL_MS, undefined, { signal });
  }
}

/** A server process that can be started, killed and started again on the same ports and data. */
export class Server {
  readonly name: string;
  readonly port: number;
  readonly #spec: ServerSpec;
  readonly #folder: Folder;
  /** Settings that a person gave since the stack was started. */
  readonly #settings: Record<string, string> = {};
  /** The process of the last start. */
  child: Child | undefined;
  /** Why it was halted when it started, and what to do; undefined: it was ready. */
  halted: string | undefined;

  constructor(spec: ServerSpec, folder: Folder) {
    this.name = spec.name;
    this.port = spec.ports[0];
    this.#spec = spec;
    this.#folder = folder;
  }

  /** The pid of the running process, or undefined. */
  get pid(): number | undefined {
    return this.child?.exited === undefined ? this.child?.pid : undefined;
  }

  /** Each start from now on has these settings too. */
  set(settings: Readonly<Record<string, string>>): void {
    Object.assign(this.#settings, settings);
  }

  /** Whether it runs now, and waits for a person. */
  async isHaltedNow(): Promise<boolean> {
    return this.pid !== undefined && (await this.#spec.isHalted?.()) === true;
  }

  /** Why it is not ready although it runs; undefined: it is. */
  async whyNotReady(): Promise<string | undefined> {
    try {
      return (await this.#spec.isReady()) ? undefined : 'it does not answer yet';
    } catch (error) {
      return unansweredText(error);
    }
  }

  /** A reason for which it is not as asked, with the path of its log. */
  withLog(reason: string): string {
    const log_file = logFileOf(this.#folder, this.name);
    return reason.includes(log_file) ? reason : `${reason}; see ${log_file}`;
  }

  /** The data that it lacks although it is ready, and what to do; undefined: none. */
  async lacks(signal: AbortSignal): Promise<string | undefined> {
    return await this.#spec.lacks?.(signal);
  }

  /** Resolves when ready or halted. Otherwise stops it and rejects with the end of its log. */
  async start(signal?: AbortSignal, onWorking?: (text: string) => void): Promise<void> {
    if (this.pid !== undefined)
      throw new StackFault(`${this.name} is already running as process ${this.pid}`);
    const deadline = performance.now() + (this.#spec.ready_ms ?? READY_MS);
    for (;;) {
      try {
        return await this.#startOnce(signal, onWorking);
      } catch (error) {
        await this.stop();
        const isPassing =
          error instanceof EarlyExit && this.#spec.passing_exit?.test(error.message) === true;
        if (!isPassing || performance.now() > deadline) throw error;
      }
      await pause(POLL_MS, undefined, { signal });
    }
  }

  async #startOnce(signal?: AbortSignal, onWorking?: (text: string) => void): Promise<void> {
    const { ports, ready_ms } = this.#spec;
    const stopping = signal ?? new AbortController().signal;
    const command = await this.#spec.prepare(stopping, this.#settings);
    // Otherwise a program that holds a port could answer in place of the new process.
    for (const port of ports)
      if (!(await isFree(port)))
        throw new StackFault(
          `${this.name} cannot start: another program uses its port ${port}: stop that program ` +
            `(lsof -i :${port} names it), then npx ops start ${this.name}`,
        );
    signal?.throwIfAborted();
    const child = await spawnChild(this.name, command, this.#folder);
    this.child = child;
    this.halted = undefined;
    const isReady = (): Promise<boolean> =>
      this.#spec.isReady().catch((error: unknown) => {
        if (!(error instanceof Halted)) throw error;
        this.halted = error.message;
        return true;
      });
    await waitUntilReady(child, isReady, ready_ms, signal, onWorking);
    await this.#spec.settle?.();
  }

  /** Resolves when it may be started again after a crash. `say`: why not yet, and what to do. */
  async mayRestart(signal: AbortSignal, say: (why: string) => void): Promise<void> {
    await this.#spec.mayRestart?.(signal, say);
  }

  /** Stops it, and kills it when it does not end in time. Does nothing when it is not running. */
  async stop(): Promise<void> {
    await this.child?.stop(this.#spec.stop_ms ?? STOP_MS);
  }
}
