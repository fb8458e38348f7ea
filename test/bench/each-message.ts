/**
 * The usual way to project, for comparison: kafkajs' eachMessage, one transaction an event, one
 * INSERT .. ON CONFLICT a row into indexed tables. It uses the same fold, so only the way of
 * writing rows differs.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import kafkajs, { type EachMessagePayload } from 'kafkajs';
import { Pool, type ClientBase } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { explorer } from '../../projections/explorer/explorer.ts';
import type {
  Changes,
  Loaded,
  LoadedRow,
  Recorded,
  Row,
  Table,
  Value,
} from '../../projections/contract/projection.ts';
import { isChainEvent, type ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { selectOf } from '../../services/projector/engine/table-reader.ts';
import { CopyRows } from '../../services/runtime/postgres/copy-rows.ts';
import type { Stack } from '../support/stack.ts';
import { dropDatabase, emptyDatabase } from './databases.ts';
import { plainRows, rowsIn } from '../support/plain-rows.ts';

/** Rows a second, from the first block with transactions until so many transactions stand. */
export async function eachMessageRate(
  stack: Stack,
  codec: Codec,
  transactions: number,
): Promise<number> {
  const database = await emptyDatabase(stack);
  const pool = new Pool({
    connectionString: database.writer_url,
    max: 1,
    options: `-c search_path=${explorer.name} -c TimeZone=UTC`,
  });
  const client = await pool.connect();
  await client.query(`CREATE SCHEMA ${explorer.name}`);
  for (const sql of [explorer.table_sql, explorer.index_sql])
    await client.query(await readFile(sql, 'utf8'));
  const groupId = `bench-${randomUUID()}`;
  const kafka = new kafkajs.Kafka({
    clientId: 'bench',
    brokers: [stack.addresses.kafka_brokers],
    logLevel: kafkajs.logLevel.NOTHING,
  });
  const consumer = kafka.consumer({ groupId, allowAutoTopicCreation: false });
  const done = Promise.withResolvers<number>();
  const writer = new EventWriter(client, transactions);
  consumer.on(consumer.events.CRASH, ({ payload: { error } }) => done.reject(error));
  try {
    await consumer.connect();
    await consumer.subscribe({ topic: CHAIN_BLOCKS.name, fromBeginning: true });
    await consumer.run({
      eachMessage: async (payload) => {
        if (writer.rate !== undefined) return;
        try {
          await writer.take(recordedOf(codec, payload));
        } catch (error) {
          done.reject(error);
          throw error;
        }
        if (writer.rate !== undefined) done.resolve(writer.rate);
      },
    });
    return await done.promise;
  } finally {
    await consumer.disconnect();
    client.release();
    await pool.end();
    await dropDatabase(stack, database);
  }
}

function recordedOf(
  codec: Codec,
  { message, partition }: EachMessagePayload,
): Recorded<ChainEvent> {
  const event = codec.decode(message.value);
  if (!isChainEvent(event)) throw new Error(`${event.type} is no event of ${CHAIN_BLOCKS.name}`);
  return { event, partition, offset: BigInt(message.offset), timestamp: Number(message.timestamp) };
}

class EventWriter {
  readonly #client: ClientBase;
  readonly #transactions: number;
  /** opening balances before the first transaction, which are not measured */
  #prelude: Recorded<ChainEvent>[] | undefined = [];
  #begun = 0;
  #rows = 0;
  #taken = 0;
  /** rows a second, once there are enough */
  rate: number | undefined;

  constructor(client: ClientBase, transactions: number) {
    this.#client = client;
    this.#transactions = transactions;
  }

  async take(recorded: Recorded<ChainEvent>): Promise<void> {
    const { event } = recorded;
    const size = event.type === 'BlockAppended' ? event.transactions.length : 0;
    if (this.#prelude !== undefined) {
      if (size === 0) {
        this.#prelude.push(recorded);
        return;
      }
      await this.#copy(foldOf({}, this.#prelude));
      this.#prelude = undefined;
      this.#begun = performance.now();
    }
    await this.#client.query('BEGIN');
    for (const [table, row] of rowsOf(foldOf(await this.#load([recorded]), [recorded]))) {
      await this.#client.query({
        name: `upsert_${table.name}`,
        text: upsertOf(table),
        values: valuesOf(table, row),
      });
      this.#rows++;
    }
    await this.#client.query('COMMIT');
    this.#taken += size;
    if (this.#taken >= this.#transactions)
      this.rate = this.#rows / ((performance.now() - this.#begun) / 1_000);
  }

  async #load(batch: readonly Recorded<ChainEvent>[]): Promise<Loaded> {
    const loaded: Record<string, readonly LoadedRow[]> = {};
    for (const { name, text, values } of explorer.loads(batch).map(selectOf))
      loaded[name] = (
        await this.#client.query<LoadedRow>({ name: `load_${name}`, text, values: [...values] })
      ).rows;
    return loaded;
  }

  async #copy(changes: Changes): Promise<void> {
    for (const rows of [...changes.appends, ...changes.upserts].map((change) =>
      CopyRows.from(change),
    )) {
      const copy = this.#client.query(copyFrom(`COPY ${rows.table.name} FROM STDIN BINARY`));
      copy.end(Buffer.concat([...rows.pieces()]));
      await once(copy, 'finish');
    }
  }
}

function foldOf(loaded: Loaded, batch: readonly Recorded<ChainEvent>[]): Changes {
  const folded = explorer.fold(loaded, batch, plainRows);
  if ('broken' in folded) throw new Error(folded.broken.reason);
  return folded.changes;
}

function* rowsOf({
  cuts,
  deletes,
  appends,
  upserts,
}: Changes): Generator<readonly [table: Table, row: Row], void> {
  if (cuts.length + deletes.reduce((sum, { rows }) => sum + rows.length, 0) > 0)
    throw new Error('this part of the chain has a reorganisation: measure fewer transactions');
  for (const change of [...appends, ...upserts])
    for (const row of rowsIn(change)) yield [change.table, row];
}

function upsertOf({ name, columns, key }: Table): string {
  const names = Object.keys(columns);
  const rest = names.filter((column) => !key.includes(column));
  return `INSERT INTO ${name} (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})
          ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${rest.map((column) => `${column} = EXCLUDED.${column}`).join(', ')}`;
}

function valuesOf({ columns }: Table, row: Row): unknown[] {
  return Object.values(columns).map((type, at) => valueOf(type, row[at] ?? null));
}

function valueOf(type: string, value: Value): unknown {
  return type === 'timestamptz' && typeof value === 'number' ? new Date(value) : value;
}
