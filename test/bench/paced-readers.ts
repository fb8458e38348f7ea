/**
 * Clients that send requests at even intervals, on a thread of their own: the load must not delay
 * its own measurement.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { say } from './bench.ts';

export interface PacedReading {
  readonly server: {
    /** without a path */
    readonly url: string;
    readonly pid: number;
  };
  readonly per_second: number;
  /** kept alive, each with one request in flight; a request that has to wait for one has waited */
  readonly connections: number;
  readonly asked:
    | {
        /** pages of the explorer, whose offsets are drawn below half of so many */
        readonly transactions: number;
        readonly seed: number;
      }
    | {
        /** one document for the hub */
        readonly body: string;
      };
}

/** Since they were taken the last time. */
export interface Taken {
  /** ms an answer, from when it was due; without those at a time when the machine stood still */
  readonly answers_ms: readonly number[];
  readonly all_ms: readonly number[];
  /** MiB of the server at the most, looked at after each answer */
  readonly memory_most: number;
  readonly failed: readonly string[];
}

export class PacedReaders {
  failed = 0;
  requests = 0;
  readonly #worker: Worker;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  static async begin(reading: PacedReading): Promise<PacedReaders> {
    const worker = new Worker(new URL('./paced-readers-worker.ts', import.meta.url), {
      workerData: reading,
    });
    await once(worker, 'online');
    return new PacedReaders(worker);
  }

  /** The answers since the last call. Rejects when a connection has broken. */
  async taken(): Promise<Omit<Taken, 'failed'>> {
    const told: Promise<Taken[]> = once(this.#worker, 'message');
    this.#worker.postMessage('take', []);
    const [result] = await told;
    if (result === undefined) throw new Error('the readers told nothing');
    this.requests += result.all_ms.length;
    this.failed += result.failed.length;
    for (const line of result.failed) say(line);
    return result;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
