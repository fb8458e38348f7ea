/**
 * Starts of each process on logs and tables of several sizes. A treasury starts in turns without a
 * snapshot, when it reads the logs from their beginning and says how long that still takes, and
 * with the one that it has left behind; projectors and gateways start on tables that are there.
 */
import { setTimeout as after } from 'node:timers/promises';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { PROJECTIONS } from '../../services/projector/registry.ts';
import { TREASURY_SNAPSHOTS } from '../../schemas/topics.ts';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { fillTopic } from './fill-topic.ts';
import { median, type BenchReport, type Measured } from './report.ts';

type Option = 'transactions' | 'rounds' | 'seed';
type Given = Readonly<Record<Option, number>>;

export const start: Bench<Option> = {
  about: 'from the start of each process until it is ready, on logs and tables of several sizes',
  options: {
    transactions: {
      about: 'in the largest log; before it 0.1, 1 and 3 million, as far as it is larger',
      default: 3_000_000,
    },
    rounds: { about: 'of a start of each', default: 3 },
    seed: { about: 'of the chains', default: 1 },
  },
  run,
};

const SIZES = [100_000, 1_000_000, 3_000_000];
const PROJECTORS = PROJECTIONS.map(({ name }) => `projector-${name.replaceAll('_', '-')}`);
const GATEWAYS = ['explorer-gateway', 'hub-gateway', 'deposit-gateway'];
const POLL_MS = 100;
/** Estimates of the last seconds are whole seconds, which says little of a ratio. */
const LEFT_S_MIN = 5;
/** The generated chain is of a past time, and not that of the node. */
const SETTINGS = {
  APP_LOG_LEVEL: 'warn',
  APP_CLOCK_APART_MAX_MS: '0',
  APP_READY_LAG_BLOCKS_MAX: '1000000',
};
const log = openLog({ service: 'bench', level: 'error' });

interface Started {
  readonly seconds: number;
  /** estimated / true time left, of each answer that had one */
  readonly estimates: readonly number[];
  readonly service: ServiceHandle;
}

interface Treasury {
  readonly without: readonly number[];
  readonly with_snapshot: readonly number[];
  readonly estimates: readonly number[];
}

interface Starts extends Treasury {
  readonly transactions: number;
  /** of `chain.blocks` */
  readonly bytes: number;
  /** seconds of each round, by process */
  readonly others: ReadonlyMap<string, readonly number[]>;
}

async function run({ transactions, rounds, seed }: Given): Promise<BenchReport> {
  const all: Starts[] = [];
  for (const size of [...SIZES.filter((each) => each < transactions), transactions])
    all.push(await measure({ transactions: size, rounds, seed }));
  const estimates = all.flatMap((each) => each.estimates);
  const largest = all.at(-1)?.with_snapshot ?? [];
  return {
    bench: 'start',
    about: `${all.map(sizeOf).join('; ')}; estimates with less than ${LEFT_S_MIN} s left are not counted`,
    measured: [
      ...all.flatMap(figuresOf),
      { what: 'time left, estimated / true', unit: '', rounds: estimates },
    ],
    ratios: [
      { what: 'start with a snapshot, s', ratio: median(largest), goal: '<= 5' },
      {
        what: 'time left, estimated / true, the largest',
        ratio: Math.max(...estimates),
        goal: '<= 2',
      },
      {
        what: 'time left, estimated / true, the smallest',
        ratio: Math.min(...estimates),
        goal: '>= 0.5',
      },
    ],
  };
}

function sizeOf({ transactions, bytes }: Starts): string {
  return `${transactions.toLocaleString('en')} transactions in ${Math.round(bytes / 1e6).toLocaleString('en')} MB of chain.blocks`;
}

function figuresOf({ transactions, without, with_snapshot, others }: Starts): readonly Measured[] {
  const starts = [
    ['treasury without a snapshot', without] as const,
    ['treasury with a snapshot', with_snapshot] as const,
    ...[...others].map(([name, seconds]) => [name, seconds] as const),
  ];
  return starts.map(([who, rounds]) => ({
    what: `${who}: start with ${transactions.toLocaleString('en')} transactions`,
    unit: 's',
    rounds,
  }));
}

/** On a stack of its own: a treasury has nothing of a smaller chain. */
async function measure({ transactions, rounds, seed }: Given): Promise<Starts> {
  const stack = await startStack();
  try {
    const { bytes } = await fillTopic(stack.addresses, { transactions, seed }, log, say);
    const quiet = { APP_TRAFFIC_PER_SECOND: '0', APP_BLOCK_INTERVAL_MS: '60000' };
    await (await stack.spawnService('devnet', quiet)).ready();
    const treasury = await startTreasuries(stack, rounds);
    say('each projector loads its tables');
    for (const name of PROJECTORS) await timed(stack, name);
    const others = new Map<string, number[]>();
    for (const name of [...PROJECTORS, ...GATEWAYS]) {
      const seconds: number[] = [];
      for (let round = 0; round < rounds; round++) seconds.push(await timed(stack, name));
      others.set(name, seconds);
      say(`${name}: ${median(seconds).toFixed(1)} s`);
    }
    return { transactions, bytes, ...treasury, others };
  } finally {
    await stack.stop();
  }
}

/** Seconds until it is ready; it is stopped then. */
async function timed(stack: Stack, name: string): Promise<number> {
  const begun = performance.now();
  const service = await stack.spawnService(name, SETTINGS);
  await service.ready();
  const seconds = (performance.now() - begun) / 1_000;
  await stopped(service);
  return seconds;
}

async function startTreasuries(stack: Stack, rounds: number): Promise<Treasury> {
  const without: number[] = [];
  const withOne: number[] = [];
  const estimates: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await dropSnapshots(stack);
    const first = await started(stack);
    without.push(first.seconds);
    estimates.push(...first.estimates);
    while (!(await figures(first.service)).includes('\ntreasury_snapshot_age_seconds{'))
      await after(POLL_MS);
    await stopped(first.service);
    const second = await started(stack);
    withOne.push(second.seconds);
    await stopped(second.service);
    say(
      `round ${round} of ${rounds}: ${first.seconds.toFixed(1)} s without, ${second.seconds.toFixed(1)} s with a snapshot`,
    );
  }
  return { without, with_snapshot: withOne, estimates };
}

async function started(stack: Stack): Promise<Started> {
  const begun = performance.now();
  const service = await stack.spawnService('treasury', SETTINGS);
  const said: { readonly at: number; readonly eta_s: number }[] = [];
  for (let isReady = false; !isReady; await after(POLL_MS)) {
    const answer = await fetch(`${service.url}/status`).catch(() => undefined);
    const status: unknown = await answer?.json();
    const eta: unknown = Reflect.get(Object(status), 'eta_s');
    if (typeof eta === 'number') said.push({ at: performance.now(), eta_s: eta });
    isReady = Reflect.get(Object(status), 'status') === 'ready';
  }
  const end = performance.now();
  const estimates = said
    .map(({ at, eta_s: eta }) => ({ eta, left: (end - at) / 1_000 }))
    .filter(({ left }) => left >= LEFT_S_MIN)
    .map(({ eta, left }) => eta / left);
  return { seconds: (end - begun) / 1_000, estimates, service };
}

async function figures({ url }: ServiceHandle): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

async function stopped(service: ServiceHandle): Promise<void> {
  await service.kill('SIGTERM');
  await service.exit;
}

/** By an append that leaves a record that is no snapshot as the newest. */
async function dropSnapshots(stack: Stack): Promise<void> {
  const kafka = openKafka({ kafka_brokers: [stack.addresses.kafka_brokers] }, 'bench', log);
  const appender = kafka.appender();
  const admin = kafka.admin();
  try {
    if (!(await admin.topicNames()).includes(TREASURY_SNAPSHOTS.name)) return;
    await appender.connect();
    const value = Buffer.from('none');
    const headers = { part: '1/1', before: '-1' };
    await appender.append(TREASURY_SNAPSHOTS.name, 0, [
      { key: 'none', value, headers, timestamp: Date.now() },
    ]);
  } finally {
    await appender.disconnect();
    await admin.disconnect();
  }
}
