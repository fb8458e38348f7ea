/**
 * A client that repeats one request at even times during other work: the latencies, and the
 * server's peak memory.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Asked {
  /** of the server, without a path */
  readonly url: string;
  readonly pid: number;
  readonly body: string;
}

export interface Probed {
  /** ms an answer, from when its request was due */
  readonly answers_ms: readonly number[];
  /** MiB */
  readonly memory_most: number;
}

/** Asks as long as `act` takes. */
export async function probed(
  { url, pid }: Omit<Asked, 'body'>,
  body: string,
  act: () => Promise<void>,
): Promise<Probed> {
  const asked: Asked = { url, pid, body };
  const worker = new Worker(new URL('./probe-worker.ts', import.meta.url), { workerData: asked });
  const told: Promise<Probed[]> = once(worker, 'message');
  // an error of the thread is thrown where its result is awaited
  told.catch(() => undefined);
  try {
    await once(worker, 'online');
    await act();
    worker.postMessage('stop', []);
    const [result] = await told;
    if (result === undefined) throw new Error('the probe told nothing');
    return result;
  } finally {
    await worker.terminate();
  }
}
