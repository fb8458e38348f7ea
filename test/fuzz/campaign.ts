/**
 * A long run of one target on inputs near its own, with two more claims: an input takes little
 * time, and it ends. A thread watches the input, since one that does not end leaves no turn here.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import { BYTES_MAX, bytesNear } from './inputs.ts';
import { check, inputsOf, type Target } from './target.ts';

/** Crashes of the campaigns of this machine. */
const FOLDER = fileURLToPath(new URL('../../.local/fuzz', import.meta.url));
/** An input may take this long, and this much longer for each KiB. */
const MS = 50;
const MS_PER_KIB = 20;
/** Measured so often when it took longer: the machine may have been busy. */
const TRIES = 3;
/** Inputs of one seed of fast-check, between which a line of progress may come. */
const TOGETHER = 100;
const PROGRESS_MS = 10_000;

/** The input that runs, in memory shared with the thread that watches. */
export class RunningInput {
  readonly shared: SharedArrayBuffer;
  /** inputs so far, and the bytes of the one that runs */
  readonly #counts: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(shared = new SharedArrayBuffer(8 + BYTES_MAX)) {
    this.shared = shared;
    this.#counts = new Int32Array(shared, 0, 2);
    this.#bytes = new Uint8Array(shared, 8);
  }

  begin(bytes: Buffer): void {
    this.#bytes.set(bytes.subarray(0, BYTES_MAX));
    this.#counts[1] = Math.min(bytes.length, BYTES_MAX);
    Atomics.add(this.#counts, 0, 1);
  }

  get count(): number {
    return Atomics.load(this.#counts, 0);
  }

  get bytes(): Buffer {
    return Buffer.from(this.#bytes.slice(0, this.#counts[1]));
  }
}

/** The data of the thread `watchdog.ts`. */
export interface Watched {
  readonly name: string;
  readonly shared: SharedArrayBuffer;
}

/** Keeps the input in a file; returns what a person should read about it. */
export function crashOf(name: string, bytes: Buffer, text: string): string {
  const id = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  const file = join(FOLDER, name, `crash-${id}`);
  mkdirSync(join(FOLDER, name), { recursive: true });
  writeFileSync(file, bytes);
  return `\n${text}\n\nagain: npm run test:fuzz -- ${name} --input ${file}\n`;
}

export interface CampaignOptions {
  readonly name: string;
  readonly target: Target;
  readonly seconds: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/**
 * Runs inputs until the time is over or one of them crashes; true without a crash. The smallest
 * input that still crashes is kept. Ends the process at an input that does not end.
 */
export async function campaign(options: CampaignOptions): Promise<boolean> {
  const { name, target, seconds, seed, say } = options;
  const running = new RunningInput();
  const watched: Watched = { name, shared: running.shared };
  const watchdog = new Worker(new URL('watchdog.ts', import.meta.url), { workerData: watched });
  // the error of a promise that nobody awaits belongs to the input of that moment
  const stray = (error: unknown): never => {
    say(crashOf(name, running.bytes, textOf(error)));
    process.exit(1);
  };
  process.once('uncaughtException', stray);
  const property = fc.asyncProperty(
    bytesNear(inputsOf(name, target), target.words ?? []),
    async (bytes) => {
      running.begin(bytes);
      await checkInTime(target, bytes);
    },
  );
  const begun = performance.now();
  const passed = (): number => (performance.now() - begun) / 1_000;
  const figures = (): string => `${name}  ${Math.round(passed())} s  ${running.count} inputs`;
  try {
    let said = begun;
    // no limit: the length of the campaign
    for (let more = 0; more === 0 || passed() < seconds; more++) {
      const result = await fc.check(property, { seed: seed + more, numRuns: TOGETHER });
      if (result.counterexample !== null) {
        const [bytes] = result.counterexample;
        say(`${figures()}  a crash${crashOf(name, bytes, textOf(result.errorInstance))}`);
        return false;
      }
      await turn();
      // no limit: a pace
      if (performance.now() - said < PROGRESS_MS) continue;
      said = performance.now();
      say(figures());
    }
    say(`${figures()}  no crash`);
    return true;
  } finally {
    process.off('uncaughtException', stray);
    await watchdog.terminate();
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function checkInTime(target: Target, bytes: Buffer): Promise<void> {
  const begun = performance.now();
  await check(target, bytes);
  const allowed = MS + (MS_PER_KIB * bytes.length) / 1_024;
  // limit under test
  if (performance.now() - begun <= allowed) return;
  const times: number[] = [];
  for (let left = TRIES; left > 0; left--) times.push(await msOf(() => check(target, bytes)));
  const ms = Math.min(...times);
  if (ms > allowed) throw new Error(`too slow: ${bytes.length} bytes take ${Math.ceil(ms)} ms`);
}

async function msOf(run: () => Promise<void>): Promise<number> {
  const before = process.threadCpuUsage();
  await run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
