/**
 * What the explorer's tables must hold, folded from the log in the most obvious way: keep the list of blocks that stand, then write out every row of every
 * table from that list. It shares no code with the projection. Use it as
 *
 *     const events = await readChainEvents(kafka, codec);
 *     expect(differences(await readTables(pool, 'explorer'), plainFold(events))).toEqual([]);
 *
 * Tables are compared as text: each row a JSON object of its columns in alphabetical order (bytea as hex, timestamps as Unix milliseconds, numbers as digits),
 * the rows sorted. `digestOf` makes one line of them, for runs whose rows are too many to hold twice.
 */
import { createHash } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import type { Pool } from 'pg';
import {
  isChainEvent,
  type BalanceEffect,
  type BlockAppended,
  type BlockTransaction,
  type ChainEvent,
} from '../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import type { Codec } from '../../services/runtime/codec.ts';
import { readLogEnds, readLogRange } from '../../services/runtime/log-range.ts';

/** By table, the sorted texts of all its rows. */
export type TableTexts = Readonly<Record<string, readonly string[]>>;

type Row = Record<string, bigint | boolean | Buffer | number | string | null>;

interface Head {
  readonly sequence: number;
  readonly height: number;
  readonly hash: Buffer;
  readonly finalized_height: number;
}

/** Every row that the explorer's tables must hold after these events, given from offset 0 on. An event that does not stand where it was written for has no effect. */
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
        head = { sequence, height: height - 1, hash: event.parent_hash, finalized_height: finalized };
      } else if (head !== undefined) {
        head = { ...head, sequence, finalized_height: height };
      }
    }
  }
  return tablesOf(blocks, head);
}

function tablesOf(blocks: readonly BlockAppended[], head: Head | undefined): TableTexts {
  const all = blocks.flatMap((block) => {
    const paid = Map.groupBy(
      block.balance_effects.filter(({ kind }) => kind === 'tx_fee_paid'),
      ({ tx_index: index }) => index,
    );
    return block.transactions.map((transaction, position) => ({ block, transaction, position, paid: paid.get(position) ?? [] }));
  });
  const blockRows: Row[] = [];
  let before = 0;
  for (const block of blocks) {
    blockRows.push(blockRow(block, before));
    before += block.transactions.length;
  }
  const ofType = new Map<string, number>();
  const ofAccount = new Map<string, number>();
  const transactionRows: Row[] = [];
  const accountTransactionRows: Row[] = [];
  for (const [seq, { block, transaction, position, paid }] of all.entries()) {
    const type = transaction.function_call_type;
    const typeOrdinal = ofType.get(type) ?? 0;
    ofType.set(type, typeOrdinal + 1);
    transactionRows.push({ seq, type_ordinal: typeOrdinal, ...transactionRow(block, transaction, position, paid) });
    for (const address of new Set([transaction.from.toString('hex'), transaction.to.toString('hex')])) {
      const ordinal = ofAccount.get(address) ?? 0;
      ofAccount.set(address, ordinal + 1);
      accountTransactionRows.push({ address, ordinal, seq });
    }
  }
  return {
    head: texts(head === undefined ? [] : [{ one: true, transactions: all.length, ...head }]),
    blocks: texts(blockRows),
    transactions: texts(transactionRows),
    transaction_types: texts([...ofType].map(([type, transactions]) => ({ function_call_type: type, transactions }))),
    accounts: texts([...ofAccount].map(([address, transactions]) => ({ address, transactions }))),
    account_transactions: texts(accountTransactionRows),
  };
}

function blockRow(block: BlockAppended, firstSeq: number): Row {
  const earned = block.balance_effects.filter(({ kind, address }) => kind === 'tx_fee_earned' && address.equals(block.producer));
  return {
    height: block.height,
    hash: block.hash,
    parent_hash: block.parent_hash,
    producer: block.producer,
    reward_recipient: block.reward_recipient,
    block_reward: block.block_reward,
    total_fees: earned.reduce((sum, { delta }) => sum + delta, 0n),
    timestamp: block.timestamp,
    tx_count: block.transactions.length,
    first_seq: firstSeq,
  };
}

function transactionRow(block: BlockAppended, transaction: BlockTransaction, position: number, paid: readonly BalanceEffect[]): Row {
  const free = transaction.from.equals(block.producer) || transaction.function_call_type === 'RideAcceptance';
  return {
    hash: transaction.hash,
    block_height: block.height,
    tx_index: position,
    from_address: transaction.from,
    to_address: transaction.to,
    nonce: transaction.nonce,
    amount: transaction.amount,
    fee: free ? 0n : paid.reduce((sum, { delta }) => sum - delta, 0n),
    function_call_type: transaction.function_call_type,
    is_ride_related: transaction.function_call_type.startsWith('Ride'),
    timestamp: block.timestamp,
    referrer: transaction.referrer,
    request_referrer: transaction.request_referrer,
    offer_referrer: transaction.offer_referrer,
    request_referrer_fee: transaction.request_referrer_fee,
    offer_referrer_fee: transaction.offer_referrer_fee,
  };
}

/** Every row of every table of a schema, whatever tables there are. One statement a table: nobody may be writing meanwhile. */
export async function readTables(pool: Pick<Pool, 'query'>, schema: string): Promise<TableTexts> {
  const { rows: columns } = await pool.query<{ table_name: string; column_name: string; data_type: string }>(
    `SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = $1 ORDER BY table_name, column_name COLLATE "C"`,
    [schema],
  );
  const tables: Record<string, readonly string[]> = {};
  for (const [table, ofTable] of Map.groupBy(columns, ({ table_name: name }) => name)) {
    const cells = ofTable.map(({ column_name: name, data_type: type }) => `${asText(`"${name}"`, type)} AS "${name}"`);
    const { rows } = await pool.query<Row>(`SELECT ${cells.join(', ')} FROM "${schema}"."${table}"`);
    tables[table] = texts(rows);
  }
  return tables;
}

function asText(column: string, type: string): string {
  if (type === 'bytea') return `encode(${column}, 'hex')`;
  if (type === 'timestamp with time zone') return `trim_scale((extract(epoch FROM ${column}) * 1000)::numeric)::text`;
  return `${column}::text`;
}

/** Sorted JSON texts, columns in alphabetical order, every value as text. */
export function texts(rows: readonly Row[]): readonly string[] {
  return rows
    .map((row) => JSON.stringify(Object.fromEntries(columnsOf(row).map((column) => [column, cell(row[column] ?? null)]))))
    .toSorted();
}

function columnsOf(row: Row): string[] {
  return Object.keys(row).toSorted();
}

function cell(value: Row[string]): string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value);
}

/** Where two sets of tables differ, in words, at most a few rows a table; empty when they are equal. */
export function differences(actual: TableTexts, expected: TableTexts, rowsMax = 3): readonly string[] {
  const found: string[] = [];
  for (const table of new Set([...Object.keys(actual), ...Object.keys(expected)])) {
    const has = actual[table];
    const wants = expected[table];
    if (has === undefined || wants === undefined) {
      found.push(`${table}: ${has === undefined ? 'is missing' : 'should not be there'}`);
      continue;
    }
    if (has.length !== wants.length) found.push(`${table}: ${has.length} rows instead of ${wants.length}`);
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
  for (const table of Object.keys(tables).toSorted()) hash.update(JSON.stringify([table, tables[table]]));
  return hash.digest('hex');
}

/** All events of topic `chain.blocks` as they stand now, repetitions included, in the order of the log. */
export async function readChainEvents(kafka: Kafka, codec: Codec, topic: string = CHAIN_BLOCKS.name): Promise<readonly ChainEvent[]> {
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
