/** The thread of `paced-readers.ts`. */
import { setTimeout as after } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Random } from '../support/random.ts';
import { KeepAlive, type HttpAnswer } from './keep-alive.ts';
import type { PacedReading, Taken } from './paced-readers.ts';
import { residentMemory, stolenTicks } from './process-figures.ts';

/** Interval of the check for pauses of this machine; requests near a pause are set apart. */
const LOOK_EVERY_MS = 250;
const AROUND_MS = 500;

const { server, per_second: perSecond, connections: count, asked }: PacedReading = workerData;
const random = new Random('seed' in asked ? asked.seed : 1);
let memoryMost = 0;
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
    memory_most: memoryMost,
    failed,
  };
  answers = [];
  memoryMost = 0;
  failed = [];
  stolen = [];
  parentPort?.postMessage(taken, []);
});

function ask(connection: KeepAlive): Promise<HttpAnswer> {
  if ('body' in asked) return connection.post('/graphql', asked.body);
  const offset = random.below(Math.floor(asked.transactions / 2));
  return connection.get(`/api/v1/transactions?limit=20&offset=${offset}`);
}

async function read(connection: KeepAlive, first: number, every: number): Promise<never> {
  for (let due = first; ; due += every) {
    await after(Math.max(0, due - performance.now()));
    // one that had to wait for the one before has waited; timers are up to a millisecond early
    const begun = Math.min(due, performance.now());
    const { status, body } = await ask(connection);
    answers.push({ begun, ms: performance.now() - begun });
    memoryMost = Math.max(memoryMost, residentMemory(server.pid));
    if (status !== 200)
      failed.push(`${server.url} answered ${status}: ${body.toString().slice(0, 200)}`);
  }
}

const every = (1_000 / perSecond) * count;
const connections = await Promise.all(
  Array.from({ length: count }, () => KeepAlive.open(server.url)),
);
const first = performance.now();
await Promise.all(
  connections.map((connection, at) => read(connection, first + (every * at) / count, every)),
);
