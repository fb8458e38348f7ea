/**
 * Brings tables and their indexes into Postgres' own memory, before they are read for the first time: what a load or an index build has written is on the disk alone,
 * and a page of rows from all over a table would wait for it twenty times. Source: PostgreSQL documentation, "pg_prewarm".
 */
import type { ClientBase } from 'pg';
import type { Table } from '../../../projections/contract/projection.ts';

type Client = Pick<ClientBase, 'query'>;

/** Of that memory: the rest is for what others read. */
const SHARE = 0.95;
/** Read by one statement: 32 MiB. */
const PIECE_BLOCKS = 4_096;

/** A table without its indexes, or an index. */
export interface Relation {
  readonly oid: number;
  readonly blocks: number;
  /** itself, or what it is an index of */
  readonly table: string;
  readonly is_index: boolean;
}

export interface Warming {
  readonly signal: AbortSignal;
  /** all when not given */
  readonly only?: (relation: Relation) => boolean;
  /** of the memory: 0.95 when not given */
  readonly share?: number;
}

/**
 * Indexes first, then tables, both in the order in which the tables are given, as long as there is room; of what has no more room the newest part. What is in memory
 * already costs next to nothing, and stays there rather than what a load has left and nobody reads. Resolves to how many blocks are there now; undefined where the server has
 * no `pg_prewarm`, without which the tables are as right, and slow at first.
 */
export async function warmTables(
  client: Client,
  tables: readonly Table[],
  { signal, only = () => true, share = SHARE }: Warming,
): Promise<number | undefined> {
  const server = await serverOf(client);
  if (server === undefined) return undefined;
  const { prewarm, room } = server;
  let warm = 0;
  for (const { oid, blocks } of (await relationsOf(client, tables)).filter(only)) {
    for (
      let from = blocks - Math.min(blocks, Math.floor(room * share) - warm);
      from < blocks;
      from += PIECE_BLOCKS
    ) {
      if (signal.aborted) return warm;
      const to = Math.min(from + PIECE_BLOCKS, blocks) - 1;
      await client.query(
        `SELECT ${prewarm}($1::oid::regclass, 'buffer', 'main', $2::bigint, $3::bigint)`,
        [oid, from, to],
      );
      warm += to - from + 1;
    }
  }
  return warm;
}

/** The full name of the function, and the memory's blocks. */
async function serverOf(
  client: Client,
): Promise<{ readonly prewarm: string; readonly room: number } | undefined> {
  const { rows } = await client.query<{ prewarm: string; room: number }>(
    `SELECT format('%I.pg_prewarm', n.nspname) AS prewarm, (SELECT setting::int FROM pg_settings WHERE name = 'shared_buffers') AS room
       FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_prewarm'`,
  );
  return rows[0];
}

/** A table that one of its indexes holds whole is read there. */
async function relationsOf(client: Client, tables: readonly Table[]): Promise<readonly Relation[]> {
  const { rows } = await client.query<Relation>(
    `SELECT r.oid, (pg_relation_size(r.oid) / current_setting('block_size')::int)::int AS blocks, t.name AS table, r.is_index
       FROM unnest($1::text[]) WITH ORDINALITY AS t (name, place)
      CROSS JOIN LATERAL (SELECT indexrelid AS oid, true AS is_index FROM pg_index WHERE indrelid = t.name::regclass
                          UNION ALL
                          SELECT c.oid, false FROM pg_class c
                           WHERE c.oid = t.name::regclass AND NOT EXISTS (
                             SELECT FROM pg_index WHERE indrelid = c.oid AND indnatts = c.relnatts AND indexprs IS NULL AND indpred IS NULL)) r
      ORDER BY r.is_index DESC, t.place, r.oid`,
    [tables.map(({ name }) => name)],
  );
  return rows;
}
