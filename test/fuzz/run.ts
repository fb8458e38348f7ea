/**
 * A fuzz run of one target, in a thread. The input that runs is in memory shared with it, so that
 * it is known even when the thread hangs or runs out of memory.
 */
import { Worker } from 'node:worker_threads';

export const BYTES_MAX = 4_096;
/** An input that runs longer hangs. */
const HANGS_MS = 20_000;
/** Memory of a target, MiB. */
const HEAP_MIB = 1_024;

export interface Order {
  readonly target: string;
  readonly seconds: number;
  readonly seed: number;
  readonly inputs: readonly Uint8Array[];
  /** Whether an input that takes long is a crash: not where nothing may depend on speed. */
  readonly isTimed: boolean;
  readonly shared: SharedArrayBuffer;
}

export interface Crash {
  /** one crash of each place is kept, the shortest */
  readonly place: string;
  readonly bytes: Uint8Array;
  /** the error with its stack */
  readonly text: string;
}

/** From the thread, as it comes: what is found before an input hangs is not lost. */
export type Message =
  | { readonly crash: Crash }
  | { readonly kept: Uint8Array }
  | { readonly essential: Finished['essential'] };

export interface Finished {
  readonly crashes: readonly Crash[];
  readonly kept: readonly Uint8Array[];
  /** those that run every branch that the kept ones run */
  readonly essential: readonly Uint8Array[];
}

export interface Figures {
  readonly runs: number;
  /** that ran, of those in the loaded code */
  readonly branches: number;
  readonly branches_loaded: number;
  readonly kept: number;
}

const WORDS = 5;

export class SharedState {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(shared: SharedArrayBuffer) {
    this.#words = new Int32Array(shared, 0, WORDS);
    this.#bytes = new Uint8Array(shared, WORDS * 4);
  }

  static bytes(): SharedArrayBuffer {
    return new SharedArrayBuffer(WORDS * 4 + 16 * BYTES_MAX);
  }

  /** Call before each input. */
  begin(bytes: Uint8Array): void {
    this.#bytes.set(bytes.subarray(0, this.#bytes.length));
    this.#words[1] = Math.min(bytes.length, this.#bytes.length);
    Atomics.add(this.#words, 0, 1);
  }

  report(branches: number, loaded: number, kept: number): void {
    this.#words.set([branches, loaded, kept], 2);
  }

  input(): Buffer {
    return Buffer.from(this.#bytes.slice(0, this.#words[1]));
  }

  figures(): Figures {
    const [runs = 0, , branches = 0, loaded = 0, kept = 0] = this.#words;
    return { runs, branches, branches_loaded: loaded, kept };
  }
}

export interface RunOptions extends Omit<Order, 'shared'> {
  readonly progress: (figures: Figures) => void;
  readonly progress_ms: number;
}

/**
 * Rejects only when the thread cannot be started. In a timed run a hanging input ends the run as a
 * crash.
 */
export function runTarget(options: RunOptions): Promise<Finished & { readonly figures: Figures }> {
  const { progress, progress_ms: progressMs, ...order } = options;
  const shared = SharedState.bytes();
  const state = new SharedState(shared);
  const workerData: Order = { ...order, shared };
  const worker = new Worker(new URL('worker.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  });
  return new Promise((resolve) => {
    const timers: NodeJS.Timeout[] = [];
    const crashes = new Map<string, Crash>();
    const kept: Uint8Array[] = [];
    const finish = (essential: Finished['essential']): void => {
      timers.forEach(clearInterval);
      void worker.terminate();
      resolve({ crashes: [...crashes.values()], kept, essential, figures: state.figures() });
    };
    const broken = (text: string): void => {
      crashes.set(text, { place: text, bytes: state.input(), text });
      finish([]);
    };
    let runs = 0;
    const watch = (): void => {
      const now = state.figures().runs;
      if (now > 0 && now === runs) broken(`the input has run for ${HANGS_MS / 1_000} s`);
      runs = now;
    };
    timers.push(setInterval(() => progress(state.figures()), progressMs));
    // limit under test
    if (options.isTimed) timers.push(setInterval(watch, HANGS_MS));
    worker.on('message', (message: Message) => {
      if ('crash' in message) crashes.set(message.crash.place, message.crash);
      else if ('kept' in message) kept.push(message.kept);
      else finish(message.essential);
    });
    worker.once('error', (error) =>
      broken(error instanceof Error ? (error.stack ?? '') : String(error)),
    );
    worker.once('exit', (code) => broken(`the input ended the thread with code ${code}`));
  });
}
