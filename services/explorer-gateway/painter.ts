/**
 * Makes PNG files of pictures in a thread of its own, so that no list waits for one. The thread
 * begins with the first picture. Equal pictures are made once, as long as they are kept.
 */
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { Fault } from '../runtime/process/errors.ts';

const KEPT_MAX = 200;
/** A picture takes some 50 ms of a processor: those that wait longer than a second are refused. */
export const WAITING_MAX = 16;

export class Painter {
  #worker: Worker | undefined;
  /** in the order of the thread's answers */
  readonly #waiting: PromiseWithResolvers<Buffer>[] = [];
  readonly #kept = new LRUCache<string, Promise<Buffer>>({ max: KEPT_MAX });

  /** Undefined: too many wait. Rejects when the thread ends. */
  paint(svg: string): Promise<Buffer> | undefined {
    const kept = this.#kept.get(svg);
    if (kept !== undefined) return kept;
    if (this.#waiting.length >= WAITING_MAX) return undefined;
    this.#worker ??= this.#open();
    const asked = Promise.withResolvers<Buffer>();
    this.#waiting.push(asked);
    this.#kept.set(svg, asked.promise);
    asked.promise.catch(() => this.#kept.delete(svg));
    this.#worker.postMessage(svg, []);
    return asked.promise;
  }

  #open(): Worker {
    const worker = new Worker(new URL('./painter-worker.ts', import.meta.url));
    worker.on('message', (png: Uint8Array) => this.#waiting.shift()?.resolve(Buffer.from(png)));
    worker.on('error', (cause) => this.#ended(worker, cause));
    worker.on('exit', () => this.#ended(worker));
    // it keeps no process alive; a listener that is added later would take that back
    worker.unref();
    return worker;
  }

  #ended(worker: Worker, cause?: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const fault = new Fault('picture_failed', 'the thread that draws pictures has ended', {
      retry: true,
      cause,
    });
    for (const { reject } of this.#waiting.splice(0)) reject(fault);
  }
}
