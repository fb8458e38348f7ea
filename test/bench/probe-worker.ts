/** The thread of `probe.ts`: the thread that makes the load is too busy to measure. */
import { setTimeout as after } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { KeepAlive } from './keep-alive.ts';
import { residentMemory } from './process-figures.ts';
import type { Asked, Probed } from './probe.ts';

const EVERY_MS = 5;

const { url, pid, body }: Asked = workerData;
const stop = new AbortController();
parentPort?.once('message', () => stop.abort());
const connection = await KeepAlive.open(url);
const answers: number[] = [];
let most = 0;
for (let due = performance.now(); !stop.signal.aborted; due += EVERY_MS) {
  await after(Math.max(0, due - performance.now()));
  // a timer may end a little early
  const begun = Math.min(due, performance.now());
  const { status } = await connection.post('/graphql', body);
  if (status !== 200) throw new Error(`${url} answered ${status}`);
  // one that had to wait for the one before has waited
  answers.push(performance.now() - begun);
  most = Math.max(most, residentMemory(pid));
}
connection.close();
const probed: Probed = { answers_ms: answers, memory_most: most };
parentPort?.postMessage(probed, []);
