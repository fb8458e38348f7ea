/**
 * The expected tables of the explorer, folded naively from the log: keep the list of live blocks,
 * then write out all rows of all tables from that list (`plain-fold-rows.ts`). It shares no code
 * with the projection.
 *
 *     const events = await readChainEvents(kafka, codec);
 *     expect(differences(await readTables(pool, 'explorer'), plainFold(events))).toEqual([]);
 *
 * Tables are compared as sorted text: each row a JSON object of its columns in alphabetical order
 * (bytea as hex, timestamps as Unix milliseconds, numbers as digits). `digestOf` hashes them, for
 * runs with too many rows to hold twice.
 */
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import {
  isChainEvent,
  type BlockAppended,
  type ChainEvent,
} from '../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { readLogRange } from '../../services/runtime/kafka/range.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import {
  accountRows,
  accountTransactionRows,
  activityRows,
  blockRows,
  headCounts,
  transactionRows,
  transactionTypeRows,
  validatorRows,
  type Row,
} from './plain-fold-rows.ts';

/** By table, the sorted texts of all its rows. */
export type TableTexts = Readonly<Record<string, readonly string[]>>;

interface Head {
  readonly sequence: number;
  readonly height: number;
  readonly hash: Buffer;
  readonly finalized_height: number;
}

/**
 * All rows of the explorer's tables after these events, from offset 0 on. An event at another
 * offset than it was written for has no effect.
 */
export function plainFold(events: Iterable<ChainEvent>): TableTexts {
  const blocks: BlockAppended[] = [];
  let head: Head | undefined;
  let offset = 0;
  for (const event of events) {
    const { type, sequence, height, hash } = event;
    if (sequence === offset++) {
      const finalized = head?.finalized_height ?? -1;
      if (type === 'BlockAppended') {
        blocks.push(event);
        head = { sequence, height, hash, finalized_height: finalized };
      } else if (type === 'BlockReverted') {
        blocks.pop();
        head = {
          sequence,
          height: height - 1,
          hash: event.parent_hash,
          finalized_height: finalized,
        };
      } else if (head !== undefined) {
        head = { ...head, sequence, finalized_height: height };
      }
    }
  }
  return tablesOf(blocks, head);
}

function tablesOf(blocks: readonly BlockAppended[], head: Head | undefined): TableTexts {
  return {
    head: texts(head === undefined ? [] : [{ one: true, ...head, ...headCounts(blocks) }]),
    blocks: texts(blockRows(blocks)),
    transactions: texts(transactionRows(blocks)),
    transaction_types: texts(transactionTypeRows(blocks)),
    accounts: texts(accountRows(blocks)),
    account_transactions: texts(accountTransactionRows(blocks)),
    activity: texts(activityRows(blocks)),
    validators: texts(validatorRows(blocks)),
  };
}

/** All rows of all tables of a schema, one statement a table: nothing may be written meanwhile. */
export async function readTables(pool: Pick<Pool, 'query'>, schema: string): Promise<TableTexts> {
  const { rows: columns } = await pool.query<{
    table_name: string;
    column_name: string;
    data_type: string;
  }>(
    `SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = $1 ORDER BY table_name, column_name COLLATE "C"`,
    [schema],
  );
  const tables: Record<string, readonly string[]> = {};
  for (const [table, ofTable] of Map.groupBy(columns, ({ table_name: name }) => name)) {
    const cells = ofTable.map(
      ({ column_name: name, data_type: type }) => `${asText(`"${name}"`, type)} AS "${name}"`,
    );
    const { rows } = await pool.query<Row>(
      `SELECT ${cells.join(', ')} FROM "${schema}"."${table}"`,
    );
    tables[table] = texts(rows);
  }
  return tables;
}

function asText(column: string, type: string): string {
  if (type === 'bytea') return `encode(${column}, 'hex')`;
  if (type === 'timestamp with time zone')
    return `trim_scale((extract(epoch FROM ${column}) * 1000)::numeric)::text`;
  return `${column}::text`;
}

/** Sorted JSON texts, columns in alphabetical order, every value as text. */
export function texts(rows: readonly Row[]): readonly string[] {
  return rows
    .map((row) =>
      JSON.stringify(
        Object.fromEntries(columnsOf(row).map((column) => [column, cell(row[column] ?? null)])),
      ),
    )
    .toSorted();
}

function columnsOf(row: Row): string[] {
  return Object.keys(row).toSorted();
}

function cell(value: Row[string]): string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value);
}

/** The differences of two sets of tables, a few rows a table; empty when they are equal. */
export function differences(
  actual: TableTexts,
  expected: TableTexts,
  rowsMax = 3,
): readonly string[] {
  const found: string[] = [];
  for (const table of new Set([...Object.keys(actual), ...Object.keys(expected)])) {
    const has = actual[table];
    const wants = expected[table];
    if (has === undefined || wants === undefined) {
      found.push(`${table}: ${has === undefined ? 'is missing' : 'should not be there'}`);
      continue;
    }
    if (has.length !== wants.length)
      found.push(`${table}: ${has.length} rows instead of ${wants.length}`);
    found.push(...without(wants, has, rowsMax).map((row) => `${table}: missing ${row}`));
    found.push(...without(has, wants, rowsMax).map((row) => `${table}: too much ${row}`));
  }
  return found;
}

/** The first rows of `rows` that `others` does not have (as often). Both are sorted. */
function without(rows: readonly string[], others: readonly string[], max: number): string[] {
  const left = new Map<string, number>();
  for (const row of others) left.set(row, (left.get(row) ?? 0) + 1);
  const found: string[] = [];
  for (const row of rows) {
    const times = left.get(row) ?? 0;
    if (times > 0) left.set(row, times - 1);
    else if (found.length < max) found.push(row);
  }
  return found;
}

/** One line for all rows of all tables: equal tables have equal digests. */
export function digestOf(tables: TableTexts): string {
  const hash = createHash('sha256');
  for (const table of Object.keys(tables).toSorted())
    hash.update(JSON.stringify([table, tables[table]]));
  return hash.digest('hex');
}

/** All events of topic `chain.blocks` in the order of the log, repetitions included. */
export async function readChainEvents(
  kafka: Kafka,
  codec: Codec,
  topic: string = CHAIN_BLOCKS.name,
): Promise<readonly ChainEvent[]> {
  const { high } = await readLogEnds(kafka, topic, 0);
  const values: (Buffer | null)[] = [];
  await readLogRange(kafka, topic, 0, 0n, high, ({ value }) => values.push(value));
  await codec.learn(values);
  return values.map((value) => {
    const event = codec.decode(value);
    if (!isChainEvent(event)) throw new Error(`${event.type} is no event of ${topic}`);
    return event;
  });
}
