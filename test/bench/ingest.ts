/**
 * Live ingest: the log to the explorer's indexed tables, against the same rows by raw COPY BINARY
 * into the same indexed tables.
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
import { openKafka } from '../../services/runtime/kafka/client.ts';
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
import { median, type BenchReport } from './report.ts';
import { openCodec } from '../support/codec.ts';

const TRANSACTIONS_PER_BLOCK = 100;

const log = openLog({ service: 'bench', level: 'error' });

type Option = 'blocks' | 'rounds';

export const ingest: Bench<Option> = {
  about: 'live ingest into the indexed tables, against raw COPY into the same',
  options: {
    blocks: { about: `of about ${TRANSACTIONS_PER_BLOCK} transactions`, default: 2_000 },
    rounds: { about: 'of each way, in turns', default: 5 },
  },
  run,
};

async function run({ blocks, rounds }: Readonly<Record<Option, number>>): Promise<BenchReport> {
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
    const projected: number[] = [];
    const raw: number[] = [];
    for (let round = 0; round < rounds; round++) {
      projected.push(rows / (await projectRound(stack, round === 0 ? events : undefined)));
      raw.push(rows / (await copyRound(stack, copied)));
    }
    return {
      bench: 'ingest',
      about: `${blocks} blocks, ${rows} rows of ${copied.length} indexed tables, from offset 0`,
      measured: [
        { what: 'projector: Kafka, decode, fold, COPY, commit', unit: 'rows/s', rounds: projected },
        {
          what: 'raw COPY BINARY of the same rows, encoded beforehand',
          unit: 'rows/s',
          rounds: raw,
        },
      ],
      ratios: [
        {
          what: 'live ingest / raw COPY into the same indexed tables',
          ratio: median(projected) / median(raw),
          goal: '>= 0.6, then 0.9',
        },
      ],
    };
  } finally {
    await stack.stop();
  }
}

async function write(stack: Stack, events: readonly ChainEvent[]): Promise<void> {
  const kafka = openKafka(
    { kafka_brokers: [stack.addresses.kafka_brokers], client_id: 'bench' },
    log,
  );
  await ensureTopics(kafka, [CHAIN_BLOCKS]);
  const codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
  const writer = new KafkaWriter(kafka, { log, signal: new AbortController().signal });
  for (const { entries } of toEntries(codec, events, 4 * 1024 * 1024))
    await writer.append(CHAIN_BLOCKS.name, 0, entries);
  await writer.close();
}

/** Seconds from the start of the runner until the last record is applied. */
async function projectRound(
  stack: Stack,
  check: readonly ChainEvent[] | undefined,
): Promise<number> {
  const { writer_url: url } = await freshDatabase(stack.addresses);
  await prepareDatabase(url, explorer, { indexed: true });
  const stopping = new AbortController();
  const kafka = openKafka(
    { kafka_brokers: [stack.addresses.kafka_brokers], client_id: 'bench' },
    log,
  );
  const metrics = new Metrics('bench');
  const pool = openWriter(
    { postgres_url: url, application_name: 'bench', schema: explorer.name },
    log,
  );
  const notifications = openNotificationPublisher(
    { redis_url: stack.addresses.redis_url, client_name: 'bench' },
    log,
    metrics,
  );
  const codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS]);
  const { high } = await readLogEnds(kafka, CHAIN_BLOCKS.name, 0);
  const runner = new Runner({
    projection: explorer,
    kafka,
    codec,
    pool,
    notifications,
    metrics,
    log,
    signal: stopping.signal,
  });
  const begun = performance.now();
  const running = runner.run();
  const isDone = async (): Promise<boolean> => {
    const { rows } = await pool.query<{ next_offset: string }>(
      'SELECT next_offset FROM projector.checkpoints',
    );
    return BigInt(rows[0]?.next_offset ?? '0') >= high;
  };
  await until(isDone, 'the projection at the end of the log', 600_000);
  const seconds = (performance.now() - begun) / 1_000;
  stopping.abort();
  await running;
  if (check !== undefined) {
    const wrong = differences(await readTables(pool, explorer.name), plainFold(check));
    if (wrong.length > 0)
      throw new Error(`the rows are wrong, so their speed means nothing: ${wrong.join('; ')}`);
  }
  await notifications.close();
  await pool.end();
  return seconds;
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
