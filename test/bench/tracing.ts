/**
 * The cost of tracing for a block on its way: the calls of node, append, fetch, fold, commit,
 * notify, read and socket, beside a projector's work on a block (fingerprint and fold), in turns.
 * Off, the calls do nothing; on, a collector in another thread takes the spans.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { explorer } from '../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { newCopyRows } from '../../services/runtime/postgres/copy-rows.ts';
import { fingerprint } from '../../services/runtime/kafka/record.ts';
import { assert } from '../../services/runtime/process/errors.ts';
import { NO_TRACING, type Tracing } from '../../services/runtime/process/tracing.ts';
import { openTracing } from '../../services/runtime/process/open-tracing.ts';
import { silentLog } from '../support/kafka.ts';
import { say, type Bench } from './bench.ts';
import { GeneratedChain } from './generator.ts';
import { median, type BenchReport } from './report.ts';

type Option = 'rounds' | 'blocks';
/** Calls that do nothing are too short for the clock. */
const REPEATED = 1_000;
const GOAL_SHARE = 0.001;

export const tracing: Bench<Option> = {
  about:
    "the calls of tracing on a block's way, off and on, beside a projector's work on the block",
  options: {
    rounds: { about: 'of each, in turns', default: 20 },
    blocks: { about: 'in a round; the exporter keeps 2,048 spans', default: 200 },
  },
  run,
};

async function run({ rounds, blocks }: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const collector = new Worker(COLLECTOR, { eval: true });
  const [url]: string[] = await once(collector, 'message');
  const log = silentLog();
  const open = (): Promise<Tracing> => openTracing('bench', { otlp_url: url, trace_every: 1 }, log);
  const events = firstBlocks(blocks);
  const [work, off, traced]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round <= rounds; round++) {
    const times = [
      await cpuTime(() => project(events), blocks),
      await cpuTime(() => {
        for (let at = 0; at < blocks * REPEATED; at++) way(NO_TRACING);
      }, blocks * REPEATED),
      await cpuTime(async () => {
        const on = await open();
        for (let at = 0; at < blocks; at++) way(on);
        await on.close();
      }, blocks),
    ] as const;
    // the first round compiles
    if (round === 0) continue;
    for (const [at, list] of [work, off, traced].entries()) list.push(times[at] ?? Number.NaN);
    say(`round ${round}: ${times.map((us) => us.toFixed(3)).join(', ')} µs a block`);
  }
  await collector.terminate();
  return {
    bench: 'tracing',
    about: `${blocks} blocks of ${transactionsOf(events)} transactions a round; projector: fingerprint and fold for the explorer, without decoding and Postgres; a round has their reverts and finality too`,
    measured: [
      { what: "a projector's work", unit: 'µs a block', rounds: work },
      { what: 'calls of tracing, off', unit: 'µs a block', rounds: off },
      { what: 'calls of tracing and export of 8 spans, on', unit: 'µs a block', rounds: traced },
    ],
    ratios: [
      {
        what: "calls of tracing, off / a projector's work",
        ratio: median(off) / median(work),
        goal: `<= ${GOAL_SHARE}`,
      },
      { what: "calls of tracing, on / a projector's work", ratio: median(traced) / median(work) },
    ],
  };
}

/** The spans of a block, as services make them. */
function way(tracer: Tracing): void {
  const node = tracer.begin('node', 0);
  node.set('clt.height', 1);
  node.set('clt.events', 1);
  node.end();
  const append = node.child('append');
  const records = append.headers === undefined ? NO_RECORDS : [{ headers: { ...append.headers } }];
  append.end();
  const fetched = tracer.continued('fetch', records);
  fetched.set('messaging.destination.name', 'chain.blocks');
  fetched.set('messaging.batch.message_count', 1);
  fetched.end();
  for (const leg of LEGS) fetched.child(leg).end();
  const read = tracer.continued('read', records);
  read.end();
  const socket = read.child('socket');
  socket.set('clt.subscribers', 1);
  socket.end();
}

const NO_RECORDS: [] = [];
const LEGS = ['fold', 'commit', 'notify'];

/** µs of CPU for each of `count`, in all threads of this process */
async function cpuTime(work: () => Promise<void> | void, count: number): Promise<number> {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / count;
}

/** Without tables: as at the beginning of the log. */
function project(events: readonly ChainEvent[]): void {
  const recorded = events.map((event, at) => {
    const offset = BigInt(at);
    fingerprint({ offset, timestamp: 0, key: null, value: event.hash, headers: {} });
    return { event, partition: 0, offset, timestamp: 0 };
  });
  const loaded = Object.fromEntries(explorer.loads(recorded).map(({ name }) => [name, []]));
  const folded = explorer.fold(loaded, recorded, newCopyRows);
  assert(!('broken' in folded) && folded.outcomes.applied === events.length, 'blocks do not fold');
}

function firstBlocks(count: number): readonly ChainEvent[] {
  const chain = new GeneratedChain({ transactions: count * 100, seed: 1 });
  const events: ChainEvent[] = [];
  for (const event of chain.events()) {
    events.push(event);
    if (events.length === count) break;
  }
  return events;
}

function transactionsOf(events: readonly ChainEvent[]): number {
  const counts = events.map((event) =>
    event.type === 'BlockAppended' ? event.transactions.length : 0,
  );
  return median(counts);
}

const COLLECTOR = `
const { createServer } = require('node:http');
const { parentPort } = require('node:worker_threads');
const server = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200).end('{}'));
});
server.listen(0, '127.0.0.1', () =>
  parentPort.postMessage('http://127.0.0.1:' + server.address().port));
`;
