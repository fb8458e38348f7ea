/**
 * Whether a projection is being loaded (its tables have no indexes yet), as Postgres knows it. An advisory lock keeps loads and the build of the indexes apart:
 * a batch that is loaded shares it for its transaction, the one that builds has it alone.
 */
import type { ClientBase } from 'pg';
import type { Table } from '../../../projections/contract/projection.ts';
import type { ProjectionId } from '../engine/checkpoint.ts';
import { lockKeyOf } from '../tables/live-tables.ts';

/** loading: without indexes; building: somebody is making the indexes; live: with all of them */
export type LoadPhase = 'loading' | 'building' | 'live';

type Client = Pick<ClientBase, 'query'>;

/** The first of two keys of the lock: what it is for. The second is of the projection. */
const LOCK = 7_301_978;

function lockOf({ projection }: ProjectionId): readonly [number, number] {
  return [LOCK, lockKeyOf(projection)];
}

/** A projection that nobody knows has nothing to be loaded. */
export async function isIndexed(
  client: Client,
  { projection, version }: ProjectionId,
): Promise<boolean> {
  const { rows } = await client.query<{ indexed: boolean }>({
    name: 'load_indexed',
    text: 'SELECT indexed_at IS NOT NULL AS indexed FROM projector.projections WHERE projection = $1 AND version = $2',
    values: [projection, version],
  });
  return rows[0]?.indexed ?? true;
}

/** What one transaction of a load may take, milliseconds: should it have to undo rows, it reads whole tables. */
export const LOAD_PATIENCE_MS = 600_000;

/** At the beginning of a transaction that loads. When the answer is `loading`, nobody begins to build before it ends. */
export async function enterLoad(client: Client, id: ProjectionId): Promise<LoadPhase> {
  const { rows } = await client.query<{ entered: boolean }>({
    name: 'load_enter',
    // a backend whose client has gone does not go on, and holds no lock
    text: `SELECT pg_try_advisory_xact_lock_shared($1, $2) AS entered, set_config('statement_timeout', $3, true),
                  set_config('client_connection_check_interval', '1s', true)`,
    values: [...lockOf(id), String(LOAD_PATIENCE_MS)],
  });
  if (rows[0]?.entered !== true) return 'building';
  // asked under the lock: whoever held it alone before has committed
  return (await isIndexed(client, id)) ? 'live' : 'loading';
}

/** Takes the lock for the session, to build; false while others load or build. */
export async function tryBuildLock(client: Client, id: ProjectionId): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>({
    text: 'SELECT pg_try_advisory_lock($1, $2) AS locked',
    values: [...lockOf(id)],
  });
  return rows[0]?.locked === true;
}

/** Outside a transaction: it has its own. From then on the server vacuums the tables as any other. */
export async function markIndexed(
  client: Client,
  { projection, version }: ProjectionId,
  tables: readonly Table[],
): Promise<void> {
  await client.query(`BEGIN; ${autovacuum(tables, 'on')}`);
  await client.query(
    'UPDATE projector.projections SET indexed_at = now() WHERE projection = $1 AND version = $2',
    [projection, version],
  );
  await client.query('COMMIT');
}

/** DDL. Off while tables are loaded: the server would go over all of their rows again and again, of which next to none is ever dead. */
export function autovacuum(tables: readonly Table[], to: 'on' | 'off'): string {
  return tables
    .map(({ name }) => `ALTER TABLE ${name} SET (autovacuum_enabled = ${to})`)
    .join('; ');
}
