/**
 * Starts of a treasury on a long chain, in turns: without a snapshot, when it reads the logs from
 * their beginning and says how long that still takes, and with the one that it has left behind.
 */
import { setTimeout as after } from 'node:timers/promises';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { TREASURY_SNAPSHOTS } from '../../schemas/topics.ts';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { fillTopic } from './fill-topic.ts';
import { median, type BenchReport } from './report.ts';

type Option = 'transactions' | 'rounds' | 'seed';

export const start: Bench<Option> = {
  about: 'from the start of a treasury until it is ready, with and without a snapshot',
  options: {
    transactions: { about: 'in the log', default: 3_000_000 },
    rounds: { about: 'of a start without and one with, in turns', default: 3 },
    seed: { about: 'of the chain', default: 1 },
  },
  run,
};

const POLL_MS = 100;
/** Estimates of the last seconds are whole seconds, which says little of a ratio. */
const LEFT_S_MIN = 5;
/** The generated chain is of a past time. */
const SETTINGS = { APP_LOG_LEVEL: 'warn', APP_CLOCK_APART_MAX_MS: '0' };
const log = openLog({ service: 'bench', level: 'error' });

interface Started {
  readonly seconds: number;
  /** estimated / true time left, of each answer that had one */
  readonly estimates: readonly number[];
  readonly service: ServiceHandle;
}

async function run({
  transactions,
  rounds,
  seed,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  try {
    const { bytes } = await fillTopic(stack.addresses, { transactions, seed }, log, say);
    const quiet = { APP_TRAFFIC_PER_SECOND: '0', APP_BLOCK_INTERVAL_MS: '60000' };
    await (await stack.spawnService('devnet', quiet)).ready();
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
    return {
      bench: 'start',
      about: `${transactions.toLocaleString('en')} transactions in ${Math.round(bytes / 1e6).toLocaleString('en')} MB of chain.blocks; estimates with less than ${LEFT_S_MIN} s left are not counted`,
      measured: [
        { what: 'start of a treasury without a snapshot', unit: 's', rounds: without },
        { what: 'start of a treasury with a snapshot', unit: 's', rounds: withOne },
        { what: 'time left, estimated / true', unit: '', rounds: estimates },
      ],
      ratios: [
        { what: 'start with a snapshot, s', ratio: median(withOne), goal: '<= 5' },
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
  } finally {
    await stack.stop();
  }
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
