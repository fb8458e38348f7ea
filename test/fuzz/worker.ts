/** The thread of a fuzz run: makes inputs and runs the target, until its time is over. */
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { Random } from '../support/random.ts';
import { branches, compared, counters, cover } from './coverage.ts';
import { Evolution } from './evolution.ts';
import { BYTES_MAX, SharedState, type Message, type Order } from './run.ts';
import { check, loadTarget, PollutedError } from './target.ts';

/** An input may take this long, and this much longer for each KiB. Counting doubles the time. */
const MS = 50;
const MS_PER_KIB = 20;
/** Measured so often when it took longer: the machine may have been busy. */
const TRIES = 3;
/** Crashes of one run, each at another place. */
const CRASHES_MAX = 10;

const order: Order = workerData;
const state = new SharedState(order.shared);

cover();
const target = await loadTarget(order.target);
const evolution = new Evolution({
  random: new Random(order.seed),
  words: target.words ?? [],
  bytes_max: BYTES_MAX,
  counters,
  branches,
  compared,
});

/** The fewest bytes of a crash at each place. */
const crashes = new Map<string, number>();

/** The run is over: what later inputs do is not theirs alone. */
let isPolluted = false;

function post(message: Message): void {
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- it is no window
  parentPort?.postMessage(message);
}

/** The first line of the error, and the first place of the project in its stack. */
function placeOf(error: unknown): string {
  const [message = '', ...stack] = (
    error instanceof Error ? (error.stack ?? '') : String(error)
  ).split('\n');
  const places = stack.filter((line) => /^\s+at /.test(line) && !line.includes('node:'));
  return `${message.replaceAll(/[\d_]+|'[^']*'|"[^"]*"/g, '')} ${places.slice(0, 2).join(' ')}`;
}

function note(bytes: Buffer, error: unknown): void {
  const place = placeOf(error);
  if ((crashes.get(place) ?? Number.POSITIVE_INFINITY) <= bytes.length) return;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  crashes.set(place, bytes.length);
  post({ crash: { place, bytes, text } });
}

async function msOf(run: () => Promise<void>): Promise<number> {
  const before = process.threadCpuUsage();
  await run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

async function runOne(bytes: Buffer): Promise<void> {
  state.begin(bytes);
  evolution.clear();
  const begun = performance.now();
  try {
    await check(target, bytes);
    ran(bytes);
    const allowed = MS + (MS_PER_KIB * bytes.length) / 1_024;
    // limit under test
    if (!order.isTimed || performance.now() - begun <= allowed) return;
    const times: number[] = [];
    for (let left = TRIES; left > 0; left--) times.push(await msOf(() => check(target, bytes)));
    const ms = Math.min(...times);
    if (ms > allowed) throw new Error(`too slow: ${bytes.length} bytes take ${Math.ceil(ms)} ms`);
  } catch (error) {
    note(bytes, error);
    isPolluted ||= error instanceof PollutedError;
    // its branches count, so that no run ends without an input
    ran(bytes);
  }
}

function ran(bytes: Buffer): void {
  if (evolution.ran(bytes)) post({ kept: bytes });
}

/** The error of a promise that nobody awaits belongs to the input of that moment. */
process.on('unhandledRejection', (error) => note(state.input(), error));
process.on('uncaughtException', (error) => note(state.input(), error));

for (const bytes of order.inputs) if (!isPolluted) await runOne(Buffer.from(bytes));
if (evolution.kept.length === 0) await runOne(Buffer.from('0'));

const until = performance.now() + order.seconds * 1_000;
// no limit: the length of the run
while (performance.now() < until && crashes.size < CRASHES_MAX && !isPolluted) {
  await runOne(evolution.next());
  state.report(evolution.branches, branches(), evolution.kept.length);
}

/** For each branch an input that runs it, the shortest first. */
async function essential(): Promise<Buffer[]> {
  const covered = new Set<number>();
  const chosen: Buffer[] = [];
  for (const bytes of evolution.kept.toSorted((one, other) => one.length - other.length)) {
    state.begin(bytes);
    evolution.clear();
    await check(target, bytes).catch(() => undefined);
    const before = covered.size;
    for (let branch = 0; branch < branches(); branch++)
      if ((counters[branch] ?? 0) > 0) covered.add(branch);
    if (covered.size > before) chosen.push(bytes);
  }
  return chosen;
}

post({ essential: isPolluted ? [] : await essential() });
