/**
 * The log to the explorer's indexed tables in two ways. Catching up: a log that was filled before,
 * in large batches, against the same rows by raw COPY BINARY into the same indexed tables. Live:
 * block by block, with reorganisations, each appended once the one before is applied.
 */
import { once } from 'node:events';
import { Pool } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Table } from '../../projections/contract/projection.ts';
import { explorer } from '../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { toEntries } from '../../services/chain-ingester/follower.ts';
import { CopyRows, newCopyRows } from '../../services/runtime/postgres/copy-rows.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { Metrics } from '../../services/runtime/process/metrics.ts';
import { prepareDatabase } from '../../services/projector/tables/migrations.ts';
import { openWriter } from '../../services/runtime/postgres/pool.ts';
import { openNotificationPublisher } from '../../services/runtime/redis.ts';
import { Runner } from '../../services/projector/engine/runner.ts';
import { chainEvents } from '../support/chain.ts';
import { freshDatabase } from '../support/database.ts';
import { differences, plainFold, readTables } from '../support/plain-fold.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import type { Bench } from './bench.ts';
import { median, percentile, type BenchReport } from './report.ts';
import { openCodec } from '../support/codec.ts';

const TRANSACTIONS_PER_BLOCK = 100;

const log = openLog({ service: 'bench', level: 'error' });

/** As often as on the chain that the other benches load, a block that others replace. */
const REORG_PROBABILITY = 0.02;

type Option = 'blocks' | 'live' | 'rounds';

export const catchingUp: Bench<Option> = {
  about:
    'catching up into the indexed tables, against raw COPY into the same; live, block by block with reorganisations',
  options: {
    blocks: { about: `of about ${TRANSACTIONS_PER_BLOCK} transactions`, default: 2_000 },
    live: { about: 'blocks of the same size that arrive one by one', default: 1_000 },
    rounds: { about: 'of each way, in turns', default: 5 },
  },
  run,
};

async function run({
  blocks,
  live: liveBlocks,
  rounds,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  try {
    const events = [
      ...chainEvents({
        seed: 7,
        blocks,
        transactions_per_block: TRANSACTIONS_PER_BLOCK,
        reorg_probability: 0,
      }),
    ];
    await write(stack, events);
    const copied = copiesOf(events);
    const rows = copied.reduce((sum, { count }) => sum + count, 0);
    const liveEvents = [
      ...chainEvents({
        seed: 8,
        blocks: liveBlocks,
        transactions_per_block: TRANSACTIONS_PER_BLOCK,
        reorg_probability: REORG_PROBABILITY,
      }),
    ];
    const reverted = liveEvents.filter(({ type }) => type === 'BlockReverted').length;
    const projected: number[] = [];
    const raw: number[] = [];
    const live: Live[] = [];
    for (let round = 0; round < rounds; round++) {
      projected.push(rows / (await projectRound(stack, round === 0 ? events : undefined)));
      raw.push(rows / (await copyRound(stack, copied)));
      live.push(await liveRound(stack, liveEvents, `live-${round}.`));
    }
    return {
      bench: 'catching-up',
      about: `catching up: ${blocks} blocks, ${rows} rows of ${copied.length} indexed tables, from offset 0. Live: ${liveBlocks} blocks, ${reverted} of them reverted again, each appended once the one before is applied; every row of both compared with a plain fold`,
      measured: [
        {
          what: 'catching up: Kafka, decode, fold, COPY, commit',
          unit: 'rows/s',
          rounds: projected,
        },
        {
          what: 'raw COPY BINARY of the same rows, encoded beforehand',
          unit: 'rows/s',
          rounds: raw,
        },
        {
          what: 'live: rows written or deleted',
          unit: 'rows/s',
          rounds: live.map(({ rows_per_second: each }) => each),
        },
        {
          what: 'live: from the append of a block until it is committed, p50',
          unit: 'ms',
          rounds: live.map(({ blocks_ms: each }) => percentile(each, 0.5)),
        },
        {
          what: 'live: from the append of a block until it is committed, p99',
          unit: 'ms',
          rounds: live.map(({ blocks_ms: each }) => percentile(each, 0.99)),
        },
      ],
      ratios: [
        {
          what: 'catching up / raw COPY into the same indexed tables',
          ratio: median(projected) / median(raw),
          goal: '>= 0.75',
        },
      ],
    };
  } finally {
    await stack.stop();
  }
}

/** The topic behind this prefix is made. */
async function openTopic(
  stack: Stack,
  kafka_prefix: string,
): Promise<{ readonly codec: Codec; readonly writer: KafkaWriter }> {
  const kafka = kafkaOf(stack, kafka_prefix);
  await ensureTopics(kafka, [CHAIN_BLOCKS]);
  const codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
  return { codec, writer: new KafkaWriter(kafka, { log, signal: new AbortController().signal }) };
}

function kafkaOf(stack: Stack, kafka_prefix: string): Kafka {
  const kafka_brokers = [stack.addresses.kafka_brokers];
  return openKafka({ kafka_brokers, kafka_prefix }, 'bench', log);
}

async function write(stack: Stack, events: readonly ChainEvent[]): Promise<void> {
  const { codec, writer } = await openTopic(stack, '');
  for (const { entries } of toEntries(codec, events, 4 * 1024 * 1024))
    await writer.append(CHAIN_BLOCKS.name, 0, entries);
  await writer.close();
}

/** A runner on indexed tables of its own. */
interface Running {
  readonly pool: Pool;
  /** when it began (`performance.now()`) */
  readonly begun: number;
  /** rows written or deleted so far */
  rows(): Promise<number>;
  /** Resolves when the record before this offset is committed, which must be one of a block. */
  committed(next_offset: bigint): Promise<void>;
  stop(): Promise<void>;
}

async function startRunner(stack: Stack, kafka_prefix: string): Promise<Running> {
  const { writer_url: url } = await freshDatabase(stack.addresses);
  await prepareDatabase(url, explorer, { indexed: true });
  const stopping = new AbortController();
  const kafka = kafkaOf(stack, kafka_prefix);
  const metrics = new Metrics('bench');
  const pool = openWriter(
    { postgres_url: url, application_name: 'bench', schema: explorer.name },
    log,
  );
  const notifications = openNotificationPublisher(
    { redis_url: stack.addresses.redis_url },
    'bench',
    log,
    metrics,
  );
  const codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
  let reached = 0n;
  let waiting: { readonly for: bigint; readonly resolve: () => void } | undefined;
  const runner = new Runner({
    projection: explorer,
    kafka,
    codec,
    pool,
    notifications: {
      ...notifications,
      publish(channel, message) {
        notifications.publish(channel, message);
        const { position }: { readonly position: { readonly next_offset: string } } =
          JSON.parse(message);
        reached = BigInt(position.next_offset);
        if (waiting !== undefined && reached >= waiting.for) waiting.resolve();
      },
    },
    metrics,
    log,
    signal: stopping.signal,
  });
  const begun = performance.now();
  const running = runner.run();
  const failed = running.then(() => {
    throw new Error('the runner has ended by itself');
  });
  failed.catch(() => undefined);
  return {
    pool,
    begun,
    async rows() {
      const { values } = (await metrics.registry
        .getSingleMetric('projection_rows_total')
        ?.get()) ?? { values: [] };
      return values.reduce((sum, { value }) => sum + value, 0);
    },
    async committed(next_offset) {
      if (reached >= next_offset) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = { for: next_offset, resolve };
      await Promise.race([promise, failed]);
    },
    async stop() {
      stopping.abort();
      await running;
      await notifications.close();
      await pool.end();
    },
  };
}

async function expectRows({ pool }: Running, events: readonly ChainEvent[]): Promise<void> {
  const wrong = differences(await readTables(pool, explorer.name), plainFold(events));
  if (wrong.length > 0)
    throw new Error(`the rows are wrong, so their speed means nothing: ${wrong.join('; ')}`);
}

/** Seconds from the start of the runner until the last record is applied. */
async function projectRound(
  stack: Stack,
  check: readonly ChainEvent[] | undefined,
): Promise<number> {
  const { high } = await readLogEnds(kafkaOf(stack, ''), CHAIN_BLOCKS.name, 0);
  const running = await startRunner(stack, '');
  const isDone = async (): Promise<boolean> => {
    const { rows } = await running.pool.query<{ next_offset: string }>(
      'SELECT next_offset FROM projector.checkpoints',
    );
    return BigInt(rows[0]?.next_offset ?? '0') >= high;
  };
  await until(isDone, 'the projection at the end of the log');
  const seconds = (performance.now() - running.begun) / 1_000;
  if (check !== undefined) await expectRows(running, check);
  await running.stop();
  return seconds;
}

interface Live {
  readonly rows_per_second: number;
  /** from the append of each block until it is committed */
  readonly blocks_ms: readonly number[];
}

/** Each block is appended, behind the reverts before it, once the block before is applied. */
async function liveRound(
  stack: Stack,
  events: readonly ChainEvent[],
  kafka_prefix: string,
): Promise<Live> {
  const { codec, writer } = await openTopic(stack, kafka_prefix);
  const running = await startRunner(stack, kafka_prefix);
  const blocks: number[] = [];
  let from = 0;
  const upTo = async (next: number): Promise<void> => {
    for (const { entries } of toEntries(codec, events.slice(from, next), 4 * 1024 * 1024))
      await writer.append(CHAIN_BLOCKS.name, 0, entries);
    from = next;
    await running.committed(BigInt(next));
  };
  const ends = events.flatMap(({ type }, at) => (type === 'BlockAppended' ? [at + 1] : []));
  // the beginning is the start of the runner
  const warm = Math.ceil(ends.length / 10);
  for (const next of ends.slice(0, warm)) await upTo(next);
  const [begun, before] = [performance.now(), await running.rows()];
  for (const next of ends.slice(warm)) {
    const appended = performance.now();
    await upTo(next);
    blocks.push(performance.now() - appended);
  }
  const seconds = (performance.now() - begun) / 1_000;
  const rows = (await running.rows()) - before;
  await expectRows(running, events.slice(0, from));
  await running.stop();
  await writer.close();
  return { rows_per_second: rows / seconds, blocks_ms: blocks };
}

interface Copied {
  readonly table: Table;
  readonly bytes: Buffer;
  readonly count: number;
}

/** All rows of the projection, by one fold of everything, as COPY streams. */
function copiesOf(events: readonly ChainEvent[]): readonly Copied[] {
  const folded = explorer.fold(
    {},
    events.map((event, at) => ({ event, partition: 0, offset: BigInt(at), timestamp: 0 })),
    newCopyRows,
  );
  if ('broken' in folded) throw new Error(folded.broken.reason);
  return [...folded.changes.appends, ...folded.changes.upserts]
    .map((change) => CopyRows.from(change))
    .map((rows) => ({
      table: rows.table,
      bytes: Buffer.concat([...rows.pieces()]),
      count: rows.length,
    }));
}

async function copyRound(stack: Stack, copied: readonly Copied[]): Promise<number> {
  const { writer_url: url } = await freshDatabase(stack.addresses);
  await prepareDatabase(url, explorer, { indexed: true });
  const pool = new Pool({
    connectionString: url,
    max: 1,
    options: `-c search_path=${explorer.name}`,
  });
  const client = await pool.connect();
  const begun = performance.now();
  await client.query('BEGIN');
  for (const { table, bytes } of copied) {
    const copy = client.query(copyFrom(`COPY ${table.name} FROM STDIN BINARY`));
    copy.end(bytes);
    await once(copy, 'finish');
  }
  await client.query('COMMIT');
  const seconds = (performance.now() - begun) / 1_000;
  client.release();
  await pool.end();
  return seconds;
}
