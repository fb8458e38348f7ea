/**
 * Rebuilds of the explorer at full pace against loads, in turns. Then rebuilds at the default
 * pace while it is read and blocks arrive: latencies with and without a rebuild, in turns, and
 * failed requests; the same for every projection, one after the other. Then a rebuild that is
 * killed and continued several times; at the end all rows are compared with the log.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Pool } from 'pg';
import { explorer } from '../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { PROJECTIONS } from '../../services/projector/registry.ts';
import { CHAIN_BLOCKS, TOPICS } from '../../schemas/topics.ts';
import { toEntries } from '../../services/chain-ingester/follower.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { countsLine } from '../faults/fault-run.ts';
import { rebuildStep, spawnOps } from '../faults/ops-run.ts';
import { never } from '../support/kafka.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { dropDatabase, emptyDatabase, settle, vacuum, withPool } from './databases.ts';
import { GeneratedChain } from './generator.ts';
import { loadByProjector } from './load-projection.ts';
import { PacedReaders } from './paced-readers.ts';
import { median, percentile, type BenchReport } from './report.ts';
import { openCodec } from '../support/codec.ts';

const log = openLog({ service: 'bench', level: 'error' });

type Option = 'transactions' | 'rounds' | 'kills' | 'reads' | 'seed';

export const rebuild: Bench<Option> = {
  about:
    'rebuilds against loads; answers while the explorer is rebuilt, against those while it is not; kills of a rebuild',
  options: {
    transactions: { about: 'in the log', default: 300_000 },
    rounds: {
      about: 'of a load and a rebuild, and of a while without and one, in turns',
      default: 3,
    },
    kills: { about: 'of the last rebuild', default: 10 },
    reads: { about: 'a second, at even times', default: 100 },
    seed: { about: 'of the chain', default: 1 },
  },
  run,
};

const STRETCH = 200;
/** Share of the chain that arrives during the measurement. */
const LATER = 0.1;
const BLOCK_EVERY_MS = 200;
const IDLE_MS = 20_000;
const CONNECTIONS = 4;

/** The chain in the topic, which is written before the measurement and continues during it. */
class Chain {
  readonly #events: Iterator<ChainEvent>;
  readonly #chain: GeneratedChain;
  readonly #writer: KafkaWriter;
  readonly #codec: Codec;
  readonly #over = new AbortController();
  #going: Promise<void> = Promise.resolve();

  constructor(chain: GeneratedChain, writer: KafkaWriter, codec: Codec) {
    this.#chain = chain;
    this.#events = chain.events()[Symbol.iterator]();
    this.#writer = writer;
    this.#codec = codec;
  }

  async fill(transactions: number): Promise<void> {
    while (this.#chain.standing < transactions) await this.#append(STRETCH);
  }

  goOn(): void {
    this.#going = (async (): Promise<void> => {
      while (!this.#over.signal.aborted) {
        await this.#append(1);
        await after(BLOCK_EVERY_MS);
      }
    })();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#going;
    await this.#writer.close();
  }

  async #append(count: number): Promise<void> {
    const events: ChainEvent[] = [];
    for (let next = this.#events.next(); next.done !== true; next = this.#events.next()) {
      events.push(next.value);
      if (events.length === count) break;
    }
    for (const { entries } of toEntries(this.#codec, events, 4 << 20))
      await this.#writer.append(CHAIN_BLOCKS.name, 0, entries);
  }
}

interface Answers {
  readonly p50: number;
  readonly p99: number;
  /** without those within half a second of a time when the machine stood still */
  readonly p99_of_some: number;
  /** share of the answers that are left out there, in per cent */
  readonly left_out: number;
}

async function answersOf(readers: PacedReaders): Promise<Answers> {
  const { answers_ms: some, all_ms: all } = await readers.taken();
  return {
    p50: percentile(all, 0.5),
    p99: percentile(all, 0.99),
    p99_of_some: percentile(some, 0.99),
    left_out: (100 * (all.length - some.length)) / all.length,
  };
}

async function run({
  transactions,
  rounds,
  kills,
  reads,
  seed,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  let readers: PacedReaders | undefined;
  try {
    const kafka = openKafka({ kafka_brokers: [stack.addresses.kafka_brokers] }, 'bench', log);
    await ensureTopics(kafka, TOPICS);
    const codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
    const writer = new KafkaWriter(kafka, { log, signal: never });
    const chain = new Chain(new GeneratedChain({ transactions, seed }), writer, codec);
    await chain.fill(transactions * (1 - LATER));
    // the loads are of its consumer group too
    const loading = await stack.spawnService('projector-explorer', { APP_LOG_LEVEL: 'warn' });
    await loading.ready();
    await loading.kill('SIGTERM');
    await loading.exit;
    const speeds = await measureSpeeds(stack, await endOf(kafka), rounds);
    for (const { name } of PROJECTIONS) {
      const projector = `projector-${name.replaceAll('_', '-')}`;
      await (await stack.spawnService(projector, { APP_LOG_LEVEL: 'warn' })).ready();
    }
    const settings = {
      APP_RATE_PER_SECOND: '0',
      APP_ANSWERS_KEPT_MAX: '0',
      APP_LOG_LEVEL: 'warn',
      APP_READY_LAG_BLOCKS_MAX: '1000000',
    };
    const gateway = await stack.spawnService('explorer-gateway', settings);
    await gateway.ready();
    await vacuum(stack, { name: 'clt', writer_url: '', reader_url: '' });
    await settle(stack);
    chain.goOn();
    readers = await PacedReaders.begin({
      server: { url: gateway.url, pid: gateway.pid },
      per_second: reads,
      connections: CONNECTIONS,
      asked: { transactions, seed },
    });
    // warm-up: broker, gateway and tables as in a system that has been up for a while
    await expectDone(stack, ['rebuild', 'explorer']);
    await settle(stack);
    await readers.taken();

    const idle: Answers[] = [];
    const busy: Answers[] = [];
    const seconds: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await after(IDLE_MS);
      idle.push(await answersOf(readers));
      const begun = performance.now();
      await expectDone(stack, ['rebuild', 'explorer']);
      seconds.push((performance.now() - begun) / 1_000);
      busy.push(await answersOf(readers));
      say(
        `round ${round + 1}: p99 ${idle.at(-1)?.p99.toFixed(1)} ms idle, ${busy.at(-1)?.p99.toFixed(1)} ms meanwhile; rebuilt in ${seconds.at(-1)?.toFixed(1)} s`,
      );
    }
    for (const { name } of PROJECTIONS) await expectDone(stack, ['rebuild', name]);
    const killed = await killAgainAndAgain(stack, kills, median(seconds));
    await expectDone(stack, ['rebuild', 'explorer']);
    await readers.taken();
    const { failed, requests } = readers;
    await expectDone(stack, ['verify', 'explorer']);
    await chain.stop();
    return {
      bench: 'rebuild',
      about: `${transactions} transactions, ${reads} reads a second and 5 blocks a second meanwhile; killed and continued: ${countsLine(killed)}; every row as the log says; ${requests} answers in all. "Left out" are requests within half a second of a time that the kernel counts as stolen from this virtual machine; the goal is for all answers, and for those that are not left out`,
      measured: [
        {
          what: 'load: projector process, from its start',
          unit: 'rows/s',
          rounds: speeds.load,
        },
        {
          what: '`ops rebuild explorer --pace full`, from its start',
          unit: 'rows/s',
          rounds: speeds.full,
        },
        { what: 'a rebuild under reads, from the command to its end', unit: 's', rounds: seconds },
        { what: 'an answer, p99, nothing rebuilt', unit: 'ms', rounds: idle.map(({ p99 }) => p99) },
        {
          what: 'an answer, p99, while rebuilt and replaced',
          unit: 'ms',
          rounds: busy.map(({ p99 }) => p99),
        },
        {
          what: '  with some left out: nothing rebuilt',
          unit: 'ms',
          rounds: quiet(idle),
        },
        {
          what: '  with some left out: while rebuilt and replaced',
          unit: 'ms',
          rounds: quiet(busy),
        },
        {
          what: '  left out: nothing rebuilt',
          unit: '%',
          rounds: idle.map((each) => each.left_out),
        },
        {
          what: '  left out: while rebuilt and replaced',
          unit: '%',
          rounds: busy.map((each) => each.left_out),
        },
        {
          what: 'an answer, median, nothing rebuilt',
          unit: 'ms',
          rounds: idle.map(({ p50 }) => p50),
        },
        {
          what: 'an answer, median, while rebuilt and replaced',
          unit: 'ms',
          rounds: busy.map(({ p50 }) => p50),
        },
      ],
      ratios: [
        {
          what: 'rows/s, rebuild at full pace / load',
          ratio: median(speeds.full) / median(speeds.load),
          goal: '>= 0.8',
        },
        {
          what: 'p99 of reads during rebuild and switch / idle',
          ratio: median(busy.map(({ p99 }) => p99)) / median(idle.map(({ p99 }) => p99)),
          goal: '<= 1.5',
        },
        {
          what: 'p99 of reads during rebuild and switch / idle, with some left out',
          ratio: median(quiet(busy)) / median(quiet(idle)),
          goal: '<= 1.5',
        },
        { what: 'failed requests', ratio: failed, goal: '<= 0' },
      ],
    };
  } finally {
    await readers?.stop();
    await stack.stop();
  }
}

/** Percentiles of the rounds that had a time in which nothing was stolen. */
function quiet(rounds: readonly Answers[]): readonly number[] {
  return rounds.map((each) => each.p99_of_some).filter(Number.isFinite);
}

/** Rows a second of loads into an empty database, and of rebuilds beside the live tables. */
async function measureSpeeds(
  stack: Stack,
  end: bigint,
  rounds: number,
): Promise<{ readonly load: number[]; readonly full: number[] }> {
  const speeds = { load: [] as number[], full: [] as number[] };
  for (let round = 1; round <= rounds; round++) {
    const database = await emptyDatabase(stack);
    const loaded = await loadByProjector(stack, database, end);
    const rows = await withPool(database, countRows);
    await dropDatabase(stack, database);
    await settle(stack);
    const begun = performance.now();
    await expectDone(stack, ['rebuild', 'explorer', '--pace', 'full']);
    const seconds = (performance.now() - begun) / 1_000;
    speeds.load.push(rows / loaded.seconds);
    speeds.full.push(rows / seconds);
    say(
      `round ${round}: ${rows} rows loaded in ${loaded.seconds.toFixed(1)} s, rebuilt in ${seconds.toFixed(1)} s`,
    );
  }
  return speeds;
}

/** In all tables of the explorer. */
async function countRows(pool: Pool): Promise<number> {
  let rows = 0;
  for (const { name } of explorer.tables) {
    const { rows: found } = await pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${name}`,
    );
    rows += found[0]?.count ?? 0;
  }
  return rows;
}

async function endOf(kafka: Kafka): Promise<bigint> {
  return (await readLogEnds(kafka, CHAIN_BLOCKS.name, 0)).high;
}

async function expectDone(stack: Stack, args: readonly string[]): Promise<void> {
  const ops = spawnOps(stack.addresses, args);
  const code = await ops.ended();
  if (code !== 0) throw new Error(`ops ${args.join(' ')} ended with ${code}:\n${ops.printed()}`);
}

/**
 * At moments spread over the whole of a rebuild, however far the calls before had come; how often
 * in which step.
 */
async function killAgainAndAgain(
  stack: Stack,
  kills: number,
  seconds: number,
): Promise<Readonly<Record<string, number>>> {
  const killed: Record<string, number> = {};
  for (let kill = 0; kill < kills; kill++) {
    const ops = spawnOps(stack.addresses, ['rebuild', 'explorer']);
    const moment = after(((kill + 1) / (kills + 1)) * seconds * 1_000, 'killed' as const);
    const ended = await Promise.race([ops.ended(), moment]);
    if (ended === 'killed') {
      ops.kill();
      const step = rebuildStep(ops.printed());
      killed[step] = (killed[step] ?? 0) + 1;
    } else if (ended !== 0) throw new Error(`rebuild ended with ${ended}:\n${ops.printed()}`);
    await ops.ended();
    say(`kill ${kill + 1}: ${ops.printed().trim().split('\n').at(-1)?.slice(0, 120)}`);
  }
  return killed;
}
