/** The bytes of the explorer's tables on disk. */
import type { Pool } from 'pg';
import type { Measured } from './report.ts';

/** Bytes of each table and index, the largest first. */
export async function relationBytes(pool: Pool): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ name: string; bytes: string }>(
    `SELECT relname AS name, pg_relation_size(oid) AS bytes FROM pg_class
      WHERE relnamespace = 'explorer'::regnamespace AND relkind IN ('r', 'i') ORDER BY 2 DESC`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
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
