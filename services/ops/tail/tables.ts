/**
 * Tables of records, written by DuckDB, which no other file knows and which is loaded for them
 * alone: rows as JSON lines, compressed with zstd, become a file of Parquet or CSV.
 */
import { FORMULA, SIGNED_NUMBER } from '../../../schemas/csv.ts';
import { Misuse } from '../usage.ts';
import type { Columns, ColumnType } from './shown-types.ts';

export interface Table {
  readonly format: 'csv' | 'parquet';
  readonly columns: Columns;
  /** the file of the rows */
  readonly rows: string;
  /** of the longest row */
  readonly row_bytes_max: number;
  /** is made */
  readonly file: string;
  /** for what does not fit into memory */
  readonly folder: string;
}

/** DuckDB takes the present end of a row from a buffer of this size. */
const BUFFER_BYTES_MIN = 16 * 1024 * 1024;
const MEMORY = '1GB';
/** Rows of a part of a Parquet file, which is made in memory: as few as DuckDB can, for blocks. */
const PART_ROWS = 2_048;
const CSV = `FORMAT csv, HEADER, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%gZ'`;
const PARQUET = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${PART_ROWS}`;

/** Throws when a row does not fit, and when the signal is aborted. */
export async function writeTable(table: Table, signal: AbortSignal): Promise<void> {
  const { DuckDBInstance } = await loadDuckDb();
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: MEMORY,
    temp_directory: table.folder,
  });
  const connection = await instance.connect();
  const interrupt = (): void => connection.interrupt();
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    signal.throwIfAborted();
    await connection.run(`SET TimeZone = 'UTC'`);
    await connection.run(statement(table));
  } finally {
    signal.removeEventListener('abort', interrupt);
    connection.closeSync();
    instance.closeSync();
  }
}

/** An optional package: an image of the services is a third of its size without it. */
async function loadDuckDb() {
  try {
    return await import('@duckdb/node-api');
  } catch {
    throw new Misuse(
      'csv and parquet need the optional package @duckdb/node-api, which is not installed: run npm ci where the project is checked out, or take --format ndjson',
      'no_duckdb',
    );
  }
}

function statement({ format, columns, rows, row_bytes_max, file }: Table): string {
  const types = Object.entries(columns).map(([name, type]) => `${text(name)}: ${text(sql(type))}`);
  const source = `read_json(${text(rows)}, format = 'newline_delimited', compression = 'zstd', maximum_object_size = ${Math.max(row_bytes_max + 1, BUFFER_BYTES_MIN)}, columns = {${types.join()}})`;
  const shown = Object.entries(columns).map(([name, type]) =>
    format === 'csv' ? `${csvValue(quoted(name), type)} AS ${quoted(name)}` : quoted(name),
  );
  return `COPY (SELECT ${shown.join()} FROM ${source}) TO ${text(file)} (${format === 'csv' ? CSV : PARQUET})`;
}

/**
 * A spreadsheet computes a text that begins like a formula, also in quotes: an apostrophe before it
 * keeps it a text. Signed numbers stay as they are.
 */
function csvValue(column: string, type: ColumnType): string {
  if (typeof type !== 'string') return `to_json(${column})`;
  if (type !== 'VARCHAR') return column;
  return `CASE WHEN regexp_matches(${column}, ${text(FORMULA.source)}) AND NOT regexp_matches(${column}, ${text(SIGNED_NUMBER.source)}) THEN chr(39) || ${column} ELSE ${column} END`;
}

function sql(type: ColumnType): string {
  if (typeof type === 'string') return type;
  if ('list' in type) return `${sql(type.list)}[]`;
  if ('map' in type) return `MAP(VARCHAR, ${sql(type.map)})`;
  const fields = Object.entries(type.fields).map(
    ([name, field]) => `${quoted(name)} ${sql(field)}`,
  );
  return `STRUCT(${fields.join()})`;
}

/** A column of both, for records that were written with different schemas. */
export function merged(left: ColumnType, right: ColumnType): ColumnType {
  if (typeof left === 'string' || typeof right === 'string') return left === right ? left : 'JSON';
  if ('list' in left && 'list' in right) return { list: merged(left.list, right.list) };
  if ('map' in left && 'map' in right) return { map: merged(left.map, right.map) };
  if ('fields' in left && 'fields' in right)
    return { fields: mergedColumns(left.fields, right.fields) };
  return 'JSON';
}

export function mergedColumns(left: Columns, right: Columns): Columns {
  const columns = { ...left };
  for (const [name, type] of Object.entries(right))
    columns[name] = merged(columns[name] ?? type, type);
  return columns;
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
