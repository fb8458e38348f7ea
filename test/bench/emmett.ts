/**
 * A rebuild by emmett, for comparison: the chain in emmett's event store, in Postgres, and a
 * projection of its own that writes with the same fold and the same batched upserts. emmett calls a
 * projection once an event.
 */
import { randomUUID } from 'node:crypto';
import type { Event } from '@event-driven-io/emmett';
import {
  getPostgreSQLEventStore,
  postgreSQLProjection,
  rebuildPostgreSQLProjections,
} from '@event-driven-io/emmett-postgresql';
import { types, type Pool } from 'pg';
import { explorer } from '../../projections/explorer/explorer.ts';
import { UNREAD } from '../../projections/explorer/events.ts';
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import type { BenchDatabase } from './databases.ts';
import { finishTables, makeTables, upsertBatch } from './batched-upserts.ts';
import { GeneratedChain, type GeneratedChainSettings } from './generator.ts';

const TYPES = ['BlockAppended', 'BlockReverted', 'BlocksFinalized'] as const;
type Stored = Event<(typeof TYPES)[number], Record<string, unknown>>;

const APPENDED_EVENTS = 50;
/** The largest that emmett's documentation names for rebuilds; the default is 100. */
const READ_EVENTS = 500;

/** The generated chain in the stream `chain`, without the fields that the fold does not read. */
export async function fillEventStore(
  database: BenchDatabase,
  settings: GeneratedChainSettings,
): Promise<void> {
  const store = getPostgreSQLEventStore(urlOf(database));
  // emmett has int8 read as bigint by every client of the process; fold and checks read text
  types.setTypeParser(types.builtins.INT8, (text) => text);
  let events: Stored[] = [];
  const append = async (): Promise<void> => {
    await store.appendToStream<Stored>('chain', events);
    events = [];
  };
  for (const { type, ...data } of new GeneratedChain(settings).events()) {
    events.push({ type, data: stored(data) });
    if (events.length === APPENDED_EVENTS) await append();
  }
  if (events.length > 0) await append();
  await store.close();
}

/** Seconds from empty tables, in the schema of the pool, until all events are there, indexed. */
export async function rebuildByEmmett(database: BenchDatabase, pool: Pool): Promise<number> {
  let offset = 0n;
  let failed: unknown;
  const projection = postgreSQLProjection<Stored>({
    name: `explorer-${randomUUID()}`,
    canHandle: [...TYPES],
    handle: async (events, { connection: { client } }) => {
      try {
        const batch = events.map(({ type, data }) => {
          const event = { type, ...revived(data) };
          if (!isChainEvent(event)) throw new Error(`${type} is no event of the chain`);
          return { event, partition: 0, offset: offset++, timestamp: 0 };
        });
        await upsertBatch(client, batch);
      } catch (error) {
        // emmett stops without telling why
        failed = error;
        throw error;
      }
    },
  });
  const begun = performance.now();
  await makeTables(pool);
  const consumer = rebuildPostgreSQLProjections<Stored>({
    connectionString: urlOf(database),
    pulling: { batchSize: READ_EVENTS, pullingFrequencyInMs: 1 },
    projections: [projection],
  });
  await consumer.start();
  await consumer.close();
  if (failed !== undefined) throw failed;
  await finishTables(pool);
  return (performance.now() - begun) / 1_000;
}

/** emmett's tables are in the schema public, those of the projection in its own. */
function urlOf({ writer_url: writer }: BenchDatabase): string {
  const url = new URL(writer);
  const options = `-c search_path=public,${explorer.name} -c TimeZone=UTC -c synchronous_commit=off`;
  url.searchParams.set('options', options);
  return url.href;
}

/** As JSON: bytes as x and hex digits (emmett makes 0x a bigint), amounts as digits and n. */
function stored(data: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data)
      .filter(([name]) => !UNREAD.some((unread) => unread === name))
      .map(([name, value]) => [name, storedValue(value)]),
  );
}

function storedValue(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (Buffer.isBuffer(value)) return `x${value.toString('hex')}`;
  if (Array.isArray(value)) return value.map(storedValue);
  return typeof value === 'object' && value !== null ? stored(value) : value;
}

/** The inverse, in place. */
function revived<Node extends object>(node: Node): Node {
  for (const [name, value] of Object.entries(node)) {
    if (typeof value === 'object' && value !== null) revived(value);
    else if (typeof value === 'string' && /^x[0-9a-f]*$/.test(value))
      Reflect.set(node, name, Buffer.from(value.slice(1), 'hex'));
    else if (typeof value === 'string' && /^-?[0-9]+n$/.test(value))
      Reflect.set(node, name, BigInt(value.slice(0, -1)));
  }
  return node;
}
