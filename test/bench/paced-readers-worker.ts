/** The thread of `paced-readers.ts`. */
import { setTimeout as after } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Random } from '../support/random.ts';
import { KeepAlive } from './keep-alive.ts';
import type { PacedReading, Taken } from './paced-readers.ts';
import { stolenTicks } from './process-figures.ts';

const CONNECTIONS = 4;
/** Interval of the check for pauses of this machine; requests near a pause are set apart. */
const LOOK_EVERY_MS = 250;
const AROUND_MS = 500;

const { url, per_second: perSecond, transactions, seed }: PacedReading = workerData;
const random = new Random(seed);
let answers: { readonly begun: number; readonly ms: number }[] = [];
let failed: string[] = [];
let stolen: { readonly from: number; readonly to: number }[] = [];
let looked = { at: performance.now(), ticks: stolenTicks() };

/** A virtual machine may lose its CPUs for a tenth of a second: the kernel counts stolen time. */
function look(): void {
  const now = { at: performance.now(), ticks: stolenTicks() };
  if (now.ticks > looked.ticks)
    stolen.push({ from: looked.at - AROUND_MS, to: now.at + AROUND_MS });
  looked = now;
}

setInterval(look, LOOK_EVERY_MS);
parentPort?.on('message', () => {
  look();
  const counted = answers.filter(
    ({ begun }) => !stolen.some(({ from, to }) => begun >= from && begun <= to),
  );
  const taken: Taken = {
    answers_ms: counted.map(({ ms }) => ms),
    all_ms: answers.map(({ ms }) => ms),
    failed,
  };
  answers = [];
  failed = [];
  stolen = [];
  parentPort?.postMessage(taken, []);
});

async function read(connection: KeepAlive, first: number, every: number): Promise<never> {
  for (let due = first; ; due += every) {
    await after(Math.max(0, due - performance.now()));
    const path = `/api/v1/transactions?limit=20&offset=${random.below(Math.floor(transactions / 2))}`;
    // one that had to wait for the one before has waited; timers are up to a millisecond early
    const begun = Math.min(due, performance.now());
    const { status, body } = await connection.get(path);
    answers.push({ begun, ms: performance.now() - begun });
    if (status !== 200) failed.push(`${path} answered ${status}: ${body.toString().slice(0, 200)}`);
  }
}

const every = (1_000 / perSecond) * CONNECTIONS;
const connections = await Promise.all(
  Array.from({ length: CONNECTIONS }, () => KeepAlive.open(url)),
);
const first = performance.now();
await Promise.all(
  connections.map((connection, at) => read(connection, first + (every * at) / CONNECTIONS, every)),
);
