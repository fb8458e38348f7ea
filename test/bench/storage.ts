/** The bytes of the explorer's tables on disk, and other ways to store the transactions. */
import type { Pool } from 'pg';
import { Random } from '../support/random.ts';
import { say } from './bench.ts';
import { withPool, type BenchDatabase } from './databases.ts';
import { median, percentile, type Measured } from './report.ts';

/** Rows that each way of storing transactions gets. */
const ROWS = 5_000_000;
const PARTITIONS = 10;
/** Rows of a page. */
const LIMIT = 20;

/** Bytes of each table and index, the largest first. */
export async function relationBytes(pool: Pool): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ name: string; bytes: string }>(
    `SELECT relname AS name, pg_relation_size(oid) AS bytes FROM pg_class
      WHERE relnamespace = 'explorer'::regnamespace AND relkind IN ('r', 'i') ORDER BY 2 DESC`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

interface Way {
  readonly name: string;
  readonly index: string;
  readonly partitions: number;
}

const WAYS: readonly Way[] = [
  { name: 'one B-tree', index: 'btree (seq)', partitions: 1 },
  { name: 'BRIN', index: 'brin (seq) WITH (pages_per_range = 16)', partitions: 1 },
  { name: `${PARTITIONS} partitions`, index: 'btree (seq)', partitions: PARTITIONS },
];

export interface MeasuredWay {
  readonly way: string;
  readonly copy_s: number;
  readonly index_s: number;
  readonly index_mib: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/**
 * The list of transactions stored in each way, from the loaded table: time to copy and to index,
 * and pages anywhere in it, read in turns after `makeCold`, which restarts Postgres.
 */
export async function measureWays(
  database: BenchDatabase,
  pages: number,
  seed: number,
  makeCold: () => Promise<void>,
): Promise<readonly MeasuredWay[]> {
  const { rows, made } = await withPool(database, makeWays);
  await makeCold();
  const times = await withPool(database, (pool) => readWays(pool, rows, pages, seed));
  return made.map(({ way, copy_s, index_s, index_mib }, at) => ({
    way,
    copy_s,
    index_s,
    index_mib,
    p50_ms: median(times[at] ?? []),
    p99_ms: percentile(times[at] ?? [], 0.99),
  }));
}

type MadeWay = Omit<MeasuredWay, 'p50_ms' | 'p99_ms'>;

async function makeWays(
  pool: Pool,
): Promise<{ readonly rows: number; readonly made: readonly MadeWay[] }> {
  const { rows: counted } = await pool.query<{ rows: number }>(
    'SELECT least(max(seq) + 1, $1)::int AS rows FROM transactions',
    [ROWS],
  );
  const rows = counted[0]?.rows ?? 0;
  const made: MadeWay[] = [];
  for (const [at, way] of WAYS.entries()) {
    say(`${rows} transactions as ${way.name}`);
    made.push(await makeWay(pool, way, `way_${at}`, rows));
  }
  return { rows, made };
}

/** Milliseconds of each page, by way. */
async function readWays(
  pool: Pool,
  rows: number,
  pages: number,
  seed: number,
): Promise<readonly (readonly number[])[]> {
  const random = new Random(seed);
  const times: readonly number[][] = WAYS.map(() => []);
  for (let page = 0; page < pages; page++) {
    const from = random.below(rows - LIMIT);
    for (const [at, own] of times.entries()) {
      const begun = performance.now();
      const { rows: found } = await pool.query({
        name: `way ${at}`,
        text: `SELECT * FROM way_${at} WHERE seq >= $1 AND seq < $1 + ${LIMIT} ORDER BY seq`,
        values: [from],
      });
      own.push(performance.now() - begun);
      if (found.length !== LIMIT)
        throw new Error(`${WAYS[at]?.name}: ${found.length} rows from seq ${from} on`);
    }
  }
  return times;
}

async function makeWay(
  pool: Pool,
  { name, index, partitions }: Way,
  table: string,
  rows: number,
): Promise<MadeWay> {
  await pool.query(
    `CREATE TABLE ${table} (LIKE transactions) ${partitions > 1 ? 'PARTITION BY RANGE (seq)' : ''}`,
  );
  const share = Math.ceil(rows / partitions);
  if (partitions > 1)
    for (let at = 0; at < partitions; at++)
      await pool.query(
        `CREATE TABLE ${table}_${at} PARTITION OF ${table} FOR VALUES FROM (${at * share}) TO (${(at + 1) * share})`,
      );
  const begun = performance.now();
  await pool.query(`INSERT INTO ${table} SELECT * FROM transactions WHERE seq < $1 ORDER BY seq`, [
    rows,
  ]);
  const copied = performance.now();
  await pool.query(`CREATE INDEX ${table}_seq ON ${table} USING ${index}`);
  const indexed = performance.now();
  await pool.query(`VACUUM (ANALYZE) ${table}`);
  const { rows: sizes } = await pool.query<{ bytes: string }>(
    `SELECT sum(pg_relation_size(indexrelid)) AS bytes FROM pg_index
      WHERE indrelid = $1::regclass OR indrelid IN (SELECT relid FROM pg_partition_tree($1::regclass))`,
    [table],
  );
  return {
    way: name,
    copy_s: (copied - begun) / 1_000,
    index_s: (indexed - copied) / 1_000,
    index_mib: Number(sizes[0]?.bytes ?? 0) / 2 ** 20,
  };
}

/** Bytes a transaction of each table with its indexes, and of the log. */
export function bytesFigures(
  sizes: ReadonlyMap<string, number>,
  transactions: number,
  log: { readonly plain: number; readonly on_disk: number },
): readonly Measured[] {
  const a = (what: string, bytes: number): Measured => ({
    what,
    unit: 'bytes a transaction',
    rounds: [bytes / transactions],
  });
  const all = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  return [
    a('tables and indexes', all),
    ...[...sizes]
      .filter(([, bytes]) => bytes > all / 200)
      .map(([name, bytes]) => a(`  ${name}`, bytes)),
    a('log, values of its records', log.plain),
    a('log, on disk', log.on_disk),
  ];
}
