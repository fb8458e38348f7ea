/**
 * Reads tables and their indexes into Postgres' shared buffers before they are read for the first
 * time: after a load they are on disk alone, and a page of rows from all over a table would wait
 * for the disk twenty times. Source: PostgreSQL documentation, "pg_prewarm".
 */
import type { ClientBase } from 'pg';
import type { Table } from '../../../projections/contract/projection.ts';

type Client = Pick<ClientBase, 'query'>;

/** Share of the shared buffers that is filled. */
const SHARE = 0.95;
/** Read by one statement, 32 MiB. */
const PIECE_BLOCKS = 4_096;

/** A table without its indexes, or an index. */
interface Relation {
  readonly oid: number;
  readonly blocks: number;
}

export interface Warming {
  readonly signal: AbortSignal;
  /** of the shared buffers to fill at most; 0.95 when not given */
  readonly share?: number;
}

/**
 * Reads all indexes, then all tables, in the given order, while there is room; of the last one the
 * newest part. Returns the number of blocks; undefined without the extension pg_prewarm, when the
 * first reads are slow.
 */
export async function warmTables(
  client: Client,
  tables: readonly Table[],
  { signal, share = SHARE }: Warming,
): Promise<number | undefined> {
  const server = await serverOf(client);
  if (server === undefined) return undefined;
  const { prewarm, room } = server;
  let warm = 0;
  for (const { oid, blocks } of await relationsOf(client, tables)) {
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

/** The qualified name of the function, and the number of shared buffers. */
async function serverOf(
  client: Client,
): Promise<{ readonly prewarm: string; readonly room: number } | undefined> {
  const { rows } = await client.query<{ prewarm: string; room: number }>(
    `SELECT format('%I.pg_prewarm', n.nspname) AS prewarm, (SELECT setting::int FROM pg_settings WHERE name = 'shared_buffers') AS room
       FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_prewarm'`,
  );
  return rows[0];
}

/** Without tables whose columns are all in one index: they are read there. */
async function relationsOf(client: Client, tables: readonly Table[]): Promise<readonly Relation[]> {
  const { rows } = await client.query<Relation>(
    `SELECT r.oid, (pg_relation_size(r.oid) / current_setting('block_size')::int)::int AS blocks
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
