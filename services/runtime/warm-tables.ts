/**
 * Brings tables and their indexes into Postgres' own memory, before they are read for the first time: what a load or an index build has written is on the disk alone,
 * and a page of rows from all over a table would wait for it twenty times. Source: PostgreSQL documentation, "pg_prewarm".
 */
import type { ClientBase } from 'pg';
import type { Table } from '../../projections/projection.ts';

type Client = Pick<ClientBase, 'query'>;

/** Of that memory: the rest is for what others read. */
const SHARE = 0.9;
/** Read by one statement: 32 MiB. */
const PIECE_BLOCKS = 4_096;

interface Relation {
  readonly oid: number;
  readonly blocks: number;
}

/**
 * In the order in which the tables are given, of each its indexes first, as long as there is room; of what has no more room the newest part. Returns how many
 * blocks; undefined where the server has no `pg_prewarm`, without which the tables are as right, and slow at first.
 */
export async function warmTables(client: Client, tables: readonly Table[], signal: AbortSignal): Promise<number | undefined> {
  const { rows: found } = await client.query<{ warm: string; room: string }>(
    `SELECT format('%I.pg_prewarm', n.nspname) AS warm, (SELECT setting FROM pg_settings WHERE name = 'shared_buffers') AS room
       FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_prewarm'`,
  );
  if (found[0] === undefined) return undefined;
  const { warm, room } = found[0];
  let left = Math.floor(Number(room) * SHARE);
  let blocks = 0;
  for (const relation of await relationsOf(client, tables)) {
    const taken = Math.min(left, relation.blocks);
    left -= taken;
    for (let from = relation.blocks - taken; from < relation.blocks; from += PIECE_BLOCKS) {
      if (signal.aborted) return blocks;
      const to = Math.min(from + PIECE_BLOCKS, relation.blocks) - 1;
      await client.query(`SELECT ${warm}($1::oid::regclass, 'buffer', 'main', $2::bigint, $3::bigint)`, [relation.oid, from, to]);
      blocks += to - from + 1;
    }
  }
  return blocks;
}

/** A table that one of its indexes holds whole is read there. */
async function relationsOf(client: Client, tables: readonly Table[]): Promise<readonly Relation[]> {
  const { rows } = await client.query<Relation>(
    `SELECT r.oid, (pg_relation_size(r.oid) / current_setting('block_size')::int)::int AS blocks
       FROM unnest($1::text[]) WITH ORDINALITY AS t (name, place)
      CROSS JOIN LATERAL (SELECT indexrelid AS oid, 0 AS place FROM pg_index WHERE indrelid = t.name::regclass
                          UNION ALL
                          SELECT c.oid, 1 FROM pg_class c
                           WHERE c.oid = t.name::regclass AND NOT EXISTS (
                             SELECT FROM pg_index WHERE indrelid = c.oid AND indnatts = c.relnatts AND indexprs IS NULL AND indpred IS NULL)) r
      ORDER BY t.place, r.place, r.oid`,
    [tables.map(({ name }) => name)],
  );
  return rows;
}
