/** Records as they are shown: values, each by the schema it was written with, and lines of text. */
import { isUtf8 } from 'node:buffer';
import type avro from 'avsc';
import { HEADER_BYTES, schemaIdOf } from '../../runtime/kafka/avro-schemas.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { SchemaRegistry, type RegistrySettings } from '../../runtime/kafka/schema-registry.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import { messageOf } from '../../runtime/process/errors.ts';
import { coloured, screenColumns, wrapped } from '../text.ts';
import {
  isTableTime,
  SHOWN_OPTIONS,
  shownTime,
  TABLE_TIME,
  type ColumnType,
} from './shown-types.ts';

/** A value as it is shown, or why it cannot be. */
export interface Shown {
  /** without its namespace; null where the schema is not known */
  readonly type: string | null;
  readonly schema_id: number | null;
  readonly value?: unknown;
  readonly unreadable?: string;
}

const NO_VALUE = Buffer.alloc(0);

/** Registers nothing. An event that this version of the software does not know is shown too. */
export class RecordSchemas {
  readonly #registry: SchemaRegistry;
  /** the schema, or why there is none */
  readonly #known = new Map<number, avro.Type | string>();

  constructor(settings: RegistrySettings, options = SHOWN_OPTIONS) {
    this.#registry = new SchemaRegistry(settings, { avro: options });
  }

  /** The types of all values so far. */
  get types(): readonly avro.Type[] {
    return [...this.#known.values()].filter((type) => typeof type !== 'string');
  }

  /** Whether the schema of this value, if it has one, was requested. */
  knows(value: Buffer | null): boolean {
    const id = schemaIdOf(value ?? NO_VALUE);
    return id === undefined || this.#known.has(id);
  }

  /** Asks for the schema of this value. Throws a fault with retry while the registry is away. */
  async learn(value: Buffer | null): Promise<void> {
    const id = schemaIdOf(value ?? NO_VALUE);
    if (id === undefined) return;
    const schema = await this.#registry.schema(id);
    const none =
      schema === undefined ? `no schema ${id} at the registry` : `schema ${id} is not Avro`;
    this.#known.set(id, typeof schema === 'object' ? schema : none);
  }

  /** After `learn`. */
  show(value: Buffer | null): Shown {
    const none = { type: null, schema_id: null };
    if (value === null) return { ...none, unreadable: 'the record has no value' };
    const id = schemaIdOf(value);
    if (id === undefined)
      return { ...none, unreadable: 'the value does not begin as Avro with a schema id' };
    const schema = this.#known.get(id) ?? `schema ${id} was never looked up`;
    if (typeof schema === 'string') return { type: null, schema_id: id, unreadable: schema };
    const { name = 'nameless' } = schema;
    const type = name.slice(name.lastIndexOf('.') + 1);
    try {
      const body: unknown = schema.fromBuffer(value.subarray(HEADER_BYTES));
      return { type, schema_id: id, value: spelled(body) };
    } catch (error) {
      const unreadable = `the bytes do not fit schema ${id} (${type}): ${messageOf(error)}`;
      return { type, schema_id: id, unreadable };
    }
  }
}

/** A hash of TRON is written without 0x; the field of an address may have been added as bytes. */
const TRON_HASHES = ['tx_id', 'tron_tx_id'];
const TRON_ADDRESS = { field: 'deposit_address', text: /^0x[0-9a-f]{40}$/ };

function spelled(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  for (const name of TRON_HASHES) {
    const hash: unknown = Reflect.get(body, name);
    if (typeof hash === 'string') Reflect.set(body, name, hash.replace(/^0x/, ''));
  }
  const address: unknown = Reflect.get(body, TRON_ADDRESS.field);
  if (typeof address === 'string' && TRON_ADDRESS.text.test(address))
    Reflect.set(body, TRON_ADDRESS.field, toTronAddress(Buffer.from(address.slice(2), 'hex')));
  return body;
}

/** Stands in decoded text for bytes that are not UTF-8. */
const REPLACEMENT = '\uFFFD';

/** The text where the bytes are UTF-8, otherwise 0x and hex. */
export function textOf(bytes: Buffer | string): string {
  if (typeof bytes === 'string') return bytes;
  const text = bytes.toString('utf8');
  return !text.includes(REPLACEMENT) || isUtf8(bytes) ? text : `0x${bytes.toString('hex')}`;
}

/** One object, without a line end. Offsets are text. */
export function recordJson(
  topic: string,
  partition: number,
  { offset, timestamp, key, value, headers }: LogRecord,
  shown: Shown,
): string {
  const line = {
    topic,
    partition,
    offset: offset.toString(),
    time: shownTime(timestamp),
    key: key === null ? null : textOf(key),
    headers: textsOf(headers),
    type: shown.type,
    schema_id: shown.schema_id,
  };
  if (shown.unreadable === undefined) return JSON.stringify({ ...line, value: shown.value });
  const raw = value === null ? null : `0x${value.toString('hex')}`;
  return JSON.stringify({ ...line, value: null, error: shown.unreadable, raw });
}

/** The columns of every table, whatever its topic. */
export const RECORD_COLUMNS = {
  topic: 'VARCHAR',
  partition: 'INTEGER',
  offset: 'BIGINT',
  time: TABLE_TIME,
  key: 'VARCHAR',
  headers: { map: 'VARCHAR' },
  type: 'VARCHAR',
  schema_id: 'INTEGER',
  effective: 'BOOLEAN',
  error: 'VARCHAR',
  raw: 'VARCHAR',
} as const satisfies Readonly<Record<string, ColumnType>>;

/** The column of a field, which is never that of another thing. */
export function columnName(field: string): string {
  return Object.hasOwn(RECORD_COLUMNS, field) ? `value_${field}` : field;
}

/** The row of a table as one JSON object, by the names of `RECORD_COLUMNS` and `columnName`. */
export function recordRow(
  topic: string,
  partition: number,
  { offset, timestamp, key, value, headers }: LogRecord,
  shown: Shown,
  effective: boolean | undefined,
): string {
  const { type, schema_id, value: body, unreadable: error } = shown;
  const fields: object = typeof body === 'object' && body !== null ? body : {};
  const row: Record<keyof typeof RECORD_COLUMNS, unknown> = {
    topic,
    partition,
    offset: offset.toString(),
    time: isTableTime(timestamp) ? shownTime(timestamp) : null,
    key: key === null ? null : textOf(key),
    headers: textsOf(headers),
    type,
    schema_id,
    effective,
    error,
    raw: error === undefined || value === null ? undefined : `0x${value.toString('hex')}`,
  };
  const named = Object.entries<unknown>({ ...fields }).map(([name, field]) => [
    columnName(name),
    field,
  ]);
  return JSON.stringify({ ...row, ...Object.fromEntries(named) });
}

function textsOf(headers: LogRecord['headers']): Record<string, string | readonly string[]> {
  const texts: Record<string, string | readonly string[]> = {};
  for (const name in headers) {
    const value = headers[name] ?? '';
    texts[name] = Array.isArray(value) ? value.map(textOf) : textOf(value);
  }
  return texts;
}

/** Items of a list that are shown to people. */
const ITEMS_MAX = 20;
const NAME_WIDTH = 18;
const INDENT = '    ';

/** Several lines: where and when, then the fields. A list shows its first items and its length. */
export function recordText(
  topic: string,
  partition: number,
  { offset, timestamp, key, value, headers }: LogRecord,
  shown: Shown,
): string {
  const lines = [
    ...wrapped(
      [
        `${topic}/${partition}@${offset}`,
        String(shownTime(timestamp)),
        coloured('bold', shown.type ?? '?'),
        `key ${key === null ? '-' : textOf(key)}`,
      ],
      '  ',
      screenColumns(),
    ),
  ];
  const named = Object.entries(textsOf(headers)).map(
    ([name, texts]) => `${name}=${[texts].flat().join('|')}`,
  );
  const headerLines = wrapped(named, '  ', screenColumns() - INDENT.length);
  lines.push(...headerLines.map((line) => `${INDENT}${line}`));
  if (shown.unreadable !== undefined) {
    lines.push(`${INDENT}not readable: ${shown.unreadable}`);
    if (value !== null) lines.push(`${INDENT}0x${value.toString('hex')}`);
  } else {
    const { value: body } = shown;
    const fields: object = typeof body === 'object' && body !== null ? body : { value: body };
    for (const [name, field] of Object.entries<unknown>({ ...fields })) {
      const items: readonly unknown[] = Array.isArray(field) ? field : [];
      const summary = Array.isArray(field) ? items.length : plain(field);
      lines.push(`${INDENT}${name.padEnd(NAME_WIDTH)} ${summary}`);
      for (const item of items.slice(0, ITEMS_MAX)) lines.push(`${INDENT}${INDENT}${plain(item)}`);
      if (items.length > ITEMS_MAX)
        lines.push(
          `${INDENT}${INDENT}... and ${items.length - ITEMS_MAX} more, which --json shows`,
        );
    }
  }
  return `${lines.join('\n')}\n`;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
