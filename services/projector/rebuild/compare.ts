/**
 * Compares two schemas, table by table, by hashes independent of row order: sums of the hashes of
 * each row's text. Rows are grouped into buckets by key, so that of two tables that differ only one
 * bucket is read.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { Table } from '../../../projections/contract/projection.ts';

/** One schema as one connection sees it. */
export interface Side {
  readonly client: Pick<ClientBase, 'query'>;
  readonly schema: string;
}

/** The first difference. Cells are text of Postgres; undefined where there is no row or table. */
export interface Difference {
  readonly key: Readonly<Record<string, string | null>>;
  /** undefined: one side lacks the row, or columns of the table */
  readonly column: string | undefined;
  readonly live: string | null | undefined;
  readonly fresh: string | null | undefined;
}

export interface Compared {
  readonly table: string;
  /** of the live side */
  readonly rows: bigint;
  /** of the live side, 32 hex digits, independent of row order */
  readonly digest: string;
  /** undefined: equal */
  readonly difference: Difference | undefined;
}

interface Bucket {
  readonly rows: bigint;
  readonly sums: readonly [bigint, bigint];
}

interface Shape {
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

const BUCKETS = 1024;
const HALF = 1n << 64n;

/** With these settings a value has one text in all sessions. */
export const TEXT_SETTINGS =
  "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET bytea_output = 'hex'; SET extra_float_digits = 1";

/** All tables of both schemas, by name. `tables` gives keys; without it all columns are the key. */
export async function compareTables(
  live: Side,
  fresh: Side,
  tables: readonly Table[],
): Promise<readonly Compared[]> {
  const [ofLive, ofFresh] = [await columnsOf(live), await columnsOf(fresh)];
  const compared: Compared[] = [];
  for (const table of [...new Set([...ofLive.keys(), ...ofFresh.keys()])].toSorted()) {
    const columns = ofLive.get(table) ?? [];
    const wanted = ofFresh.get(table) ?? [];
    const key = tables.find(({ name }) => name === table)?.key ?? wanted;
    compared.push(
      columns.join() === wanted.join()
        ? await compareTable(live, fresh, table, { columns, key })
        : {
            table,
            rows: 0n,
            digest: '',
            difference: {
              key: {},
              column: undefined,
              live: listed(columns),
              fresh: listed(wanted),
            },
          },
    );
  }
  return compared;
}

function listed(columns: readonly string[]): string | undefined {
  return columns.length === 0 ? undefined : `columns ${columns.join(', ')}`;
}

async function columnsOf({
  client,
  schema,
}: Side): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `SELECT c.relname::text AS table, array_agg(a.attname::text ORDER BY a.attname) AS columns
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE n.nspname = $1 AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped GROUP BY c.relname`,
    [schema],
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

async function compareTable(
  live: Side,
  fresh: Side,
  table: string,
  shape: Shape,
): Promise<Compared> {
  const [one, other] = await Promise.all([
    bucketsOf(live, table, shape),
    bucketsOf(fresh, table, shape),
  ]);
  const differing = Array.from({ length: BUCKETS }, (_, at) => at).find(
    (at) => textOf(one.get(at)) !== textOf(other.get(at)),
  );
  const whole = sumOf(one);
  return {
    table,
    rows: whole.rows,
    digest: whole.sums.map((sum) => sum.toString(16).padStart(16, '0')).join(''),
    difference:
      differing === undefined
        ? undefined
        : await differenceIn(live, fresh, table, shape, differing),
  };
}

async function bucketsOf(
  { client, schema }: Side,
  table: string,
  shape: Shape,
): Promise<ReadonlyMap<number, Bucket>> {
  const { rows } = await client.query<{ bucket: number; rows: string; one: string; other: string }>(
    // OFFSET 0: the text of a row is made once
    `SELECT ${bucketOf('key')} AS bucket, count(*)::text AS rows, sum(hashtextextended(cells, 0))::text AS one, sum(hashtextextended(cells, 1))::text AS other
       FROM (SELECT ${rowText(shape.key)} AS key, ${rowText(shape.columns)} AS cells FROM ${escapeIdentifier(schema)}.${escapeIdentifier(table)} OFFSET 0) t GROUP BY 1`,
  );
  return new Map(
    rows.map(({ bucket, rows: count, one, other }) => [
      bucket,
      { rows: BigInt(count), sums: [wrapped(BigInt(one)), wrapped(BigInt(other))] },
    ]),
  );
}

function bucketOf(key: string): string {
  return `(hashtextextended(${key}, 2) & ${BUCKETS - 1})::int`;
}

function rowText(columns: readonly string[]): string {
  return `ROW(${columns.map(escapeIdentifier).join(', ')})::text`;
}

function wrapped(sum: bigint): bigint {
  return ((sum % HALF) + HALF) % HALF;
}

function sumOf(buckets: ReadonlyMap<number, Bucket>): Bucket {
  let [rows, one, other] = [0n, 0n, 0n];
  for (const bucket of buckets.values()) {
    rows += bucket.rows;
    one += bucket.sums[0];
    other += bucket.sums[1];
  }
  return { rows, sums: [wrapped(one), wrapped(other)] };
}

function textOf(bucket: Bucket | undefined): string {
  return bucket === undefined ? '' : [bucket.rows, ...bucket.sums].join();
}

/** The first difference of one bucket, by key. */
async function differenceIn(
  live: Side,
  fresh: Side,
  table: string,
  shape: Shape,
  bucket: number,
): Promise<Difference> {
  const [ours, theirs] = await Promise.all([
    cellsIn(live, table, shape, bucket),
    cellsIn(fresh, table, shape, bucket),
  ]);
  const keys = [...new Set([...ours.keys(), ...theirs.keys()])].toSorted();
  for (const key of keys) {
    const [one, other] = [ours.get(key) ?? [], theirs.get(key) ?? []];
    for (let at = 0; at < Math.max(one.length, other.length); at++) {
      const difference = differenceOf(shape, one[at]?.cells, other[at]?.cells);
      if (difference !== undefined) return difference;
    }
  }
  throw new Error(
    `bucket ${bucket} of ${table} differs and has the same rows: its rows change while they are compared`,
  );
}

/** The rows of one bucket, by the text of their key, sorted. */
async function cellsIn(
  { client, schema }: Side,
  table: string,
  { columns, key }: Shape,
  bucket: number,
): Promise<ReadonlyMap<string, readonly { readonly cells: readonly (string | null)[] }[]>> {
  const { rows } = await client.query<{ key: string; cells: (string | null)[] }>(
    `SELECT key, cells FROM (SELECT ${rowText(key)} AS key, ARRAY[${columns.map((column) => `${escapeIdentifier(column)}::text`).join(', ')}] AS cells
       FROM ${escapeIdentifier(schema)}.${escapeIdentifier(table)} OFFSET 0) t WHERE ${bucketOf('key')} = $1 ORDER BY cells COLLATE "C"`,
    [bucket],
  );
  return Map.groupBy(rows, (row) => row.key);
}

function differenceOf(
  { columns, key }: Shape,
  live: readonly (string | null)[] | undefined,
  fresh: readonly (string | null)[] | undefined,
): Difference | undefined {
  const some = live ?? fresh ?? [];
  const named = Object.fromEntries(
    key.map((column) => [column, some[columns.indexOf(column)] ?? null]),
  );
  if (live === undefined || fresh === undefined)
    return { key: named, column: undefined, live: said(live), fresh: said(fresh) };
  const at = columns.findIndex((_, each) => live[each] !== fresh[each]);
  return at === -1
    ? undefined
    : { key: named, column: columns[at], live: live[at], fresh: fresh[at] };

  function said(cells: readonly (string | null)[] | undefined): string | undefined {
    return cells === undefined
      ? undefined
      : columns.map((column, each) => `${column} ${cells[each] ?? 'null'}`).join(', ');
  }
}
