/**
 * Brings tables and their indexes into Postgres' own memory, before they are read for the first time: what a load or an index build has written is on the disk alone,
 * and a page of rows from all over a table would wait for it twenty times. Source: PostgreSQL documentation, "pg_prewarm".
 */
import type { ClientBase } from 'pg';
import type { Table } from '../../projections/projection.ts';

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

export interface Bringing {
  readonly signal: AbortSignal;
  /** all when not given */
  readonly only?: (relation: Relation) => boolean;
  /** of the memory, for all that was brought so far and this: 0.95 when not given */
  readonly share?: number;
}

/** Of some tables what is there and was not brought yet, piece by piece. */
export class Warming {
  readonly #tables: readonly Table[];
  /** of blocks */
  readonly #room: number;
  /** the function by its full name */
  readonly #prewarm: string;
  /** of each relation the block from which on it was */
  readonly #brought = new Map<number, number>();
  #blocks = 0;

  private constructor(tables: readonly Table[], room: number, prewarm: string) {
    this.#tables = tables;
    this.#room = room;
    this.#prewarm = prewarm;
  }

  /** Undefined where the server has no `pg_prewarm`, without which the tables are as right, and slow at first. */
  static async open(client: Client, tables: readonly Table[]): Promise<Warming | undefined> {
    const { rows } = await client.query<{ prewarm: string; room: string }>(
      `SELECT format('%I.pg_prewarm', n.nspname) AS prewarm, (SELECT setting FROM pg_settings WHERE name = 'shared_buffers') AS room
         FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_prewarm'`,
    );
    return rows[0] === undefined ? undefined : new Warming(tables, Number(rows[0].room), rows[0].prewarm);
  }

  /** How many blocks were brought. */
  get blocks(): number {
    return this.#blocks;
  }

  /** In the order in which the tables are given, of each its indexes first, as long as there is room; of what has no more room the newest part. */
  async bring(client: Client, { signal, only = () => true, share = SHARE }: Bringing): Promise<void> {
    for (const { oid, blocks } of (await relationsOf(client, this.#tables)).filter(only)) {
      const end = this.#brought.get(oid) ?? blocks;
      const begin = end - Math.min(end, Math.max(0, Math.floor(this.#room * share) - this.#blocks));
      for (let from = begin; from < end; from += PIECE_BLOCKS) {
        if (signal.aborted) return;
        const to = Math.min(from + PIECE_BLOCKS, end) - 1;
        await client.query(`SELECT ${this.#prewarm}($1::oid::regclass, 'buffer', 'main', $2::bigint, $3::bigint)`, [oid, from, to]);
        this.#blocks += to - from + 1;
      }
      this.#brought.set(oid, begin);
    }
  }
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
      ORDER BY t.place, r.is_index DESC, r.oid`,
    [tables.map(({ name }) => name)],
  );
  return rows;
}
