/**
 * The usual way to project at its best, for comparison: kafkajs' eachBatch, a transaction a batch,
 * one prepared INSERT .. SELECT FROM unnest(..) ON CONFLICT a table. It uses the same fold, and
 * builds the indexes that only readers use after the load.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import kafkajs from 'kafkajs';
import type { ClientBase, Pool } from 'pg';
import { explorer } from '../../projections/explorer/explorer.ts';
import type { ExplorerEvent } from '../../projections/explorer/events.ts';
import type {
  ColumnType,
  Recorded,
  Row,
  Table,
  Value,
} from '../../projections/contract/projection.ts';
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { loadRows } from '../../services/projector/engine/table-reader.ts';
import { writeChanges } from '../../services/projector/engine/table-writer.ts';
import { statementsOf } from '../../services/projector/tables/index-build.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { setPipeline } from '../../services/runtime/postgres/pipeline.ts';
import type { Stack } from '../support/stack.ts';
import { plainRows, rowsIn } from '../support/plain-rows.ts';

const FETCHED_BYTES_MAX = 8 * 1024 * 1024;
const STATEMENT_ROWS_MAX = 10_000;
const OF_READERS = ['transactions_type', 'transactions_hash', 'blocks_hash'];

/** Empty tables, with the indexes that the load itself needs. */
export async function makeTables(pool: Pool): Promise<void> {
  await pool.query(
    `DROP SCHEMA IF EXISTS ${explorer.name} CASCADE; CREATE SCHEMA ${explorer.name}`,
  );
  await pool.query(await readFile(explorer.table_sql, 'utf8'));
  for (const { text, isOfReaders } of await indexes()) if (!isOfReaders) await pool.query(text);
}

export async function finishTables(pool: Pool): Promise<void> {
  for (const { text, isOfReaders } of await indexes()) if (isOfReaders) await pool.query(text);
  await pool.query(`ANALYZE ${explorer.tables.map(({ name }) => name).join(', ')}`);
}

async function indexes(): Promise<readonly { text: string; isOfReaders: boolean }[]> {
  return statementsOf(await readFile(explorer.index_sql, 'utf8')).map((text) => ({
    text,
    isOfReaders: OF_READERS.some((name) => text.includes(` ${name} ON `)),
  }));
}

/** Inside the caller's transaction. */
export async function upsertBatch(
  client: ClientBase,
  batch: readonly Recorded<ExplorerEvent>[],
): Promise<void> {
  setPipeline(client, true);
  const folded = explorer.fold(await loadRows(client, explorer.loads(batch)), batch, plainRows);
  if ('broken' in folded) throw new Error(folded.broken.reason);
  const { cuts, deletes, appends, upserts } = folded.changes;
  await writeChanges(client, { cuts, deletes, appends: [], upserts: [] });
  for (const change of [...appends, ...upserts]) {
    const rows = rowsIn(change);
    for (let from = 0; from < rows.length; from += STATEMENT_ROWS_MAX)
      await client.query(upsertOf(change.table, rows.slice(from, from + STATEMENT_ROWS_MAX)));
  }
}

function upsertOf(
  { name, columns, key }: Table,
  rows: readonly Row[],
): { readonly name: string; readonly text: string; readonly values: unknown[][] } {
  const names = Object.keys(columns);
  const arrays = Object.values(columns).map((type, at) => `$${at + 1}::${type}[]`);
  const others = names.filter((column) => !key.includes(column));
  return {
    name: `upsert_${name}`,
    text: `INSERT INTO ${name} (${names.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})
           ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${others.map((column) => `${column} = EXCLUDED.${column}`).join(', ')}`,
    values: Object.values(columns).map((type, at) =>
      rows.map((row) => parameterOf(type, row[at] ?? null)),
    ),
  };
}

function parameterOf(type: ColumnType, value: Value): Value | Date {
  return type === 'timestamptz' && typeof value === 'number' ? new Date(value) : value;
}

/** Seconds from empty tables, in the schema of the pool, until all up to `end` is indexed. */
export async function rebuildByBatches(
  stack: Stack,
  codec: Codec,
  pool: Pool,
  end: bigint,
): Promise<number> {
  const kafka = new kafkajs.Kafka({
    clientId: 'bench',
    brokers: [stack.addresses.kafka_brokers],
    logLevel: kafkajs.logLevel.NOTHING,
  });
  const consumer = kafka.consumer({
    groupId: `bench-${randomUUID()}`,
    maxBytesPerPartition: FETCHED_BYTES_MAX,
  });
  const done = Promise.withResolvers<undefined>();
  consumer.on(consumer.events.CRASH, ({ payload: { error } }) => done.reject(error));
  const client = await pool.connect();
  const begun = performance.now();
  try {
    await makeTables(pool);
    await consumer.connect();
    await consumer.subscribe({ topic: CHAIN_BLOCKS.name, fromBeginning: true });
    await consumer.run({
      eachBatch: async ({ batch: { messages, partition } }) => {
        const batch = messages.map(({ value, offset, timestamp }) => {
          const event = codec.decode(value);
          if (!isChainEvent(event)) throw new Error(`${event.type} is no event of the topic`);
          return { event, partition, offset: BigInt(offset), timestamp: Number(timestamp) };
        });
        await client.query('BEGIN');
        await upsertBatch(client, batch);
        await client.query('COMMIT');
        if ((batch.at(-1)?.offset ?? -1n) + 1n >= end) done.resolve(undefined);
      },
    });
    await done.promise;
    await finishTables(pool);
    return (performance.now() - begun) / 1_000;
  } finally {
    client.release();
    await consumer.disconnect();
  }
}
