/**
 * Folds the log of a projection into tables of its own, compares every row of the live tables with
 * them at the same offsets, and drops them. The projector goes on meanwhile.
 */
import type { Client, ClientBase } from 'pg';
import { partitionKey } from '../../runtime/kafka/position.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { readTableVersion } from '../tables/live-tables.ts';
import { prepareDatabase } from '../tables/migrations.ts';
import { HostClient, WORK_CONNECT_MS } from '../../runtime/postgres/host-client.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';
import { compareTables, TEXT_SETTINGS, type Compared } from './compare.ts';
import {
  alone,
  withEngine,
  type RebuildOptions,
  type RebuildRefusal,
  type Work,
} from './rebuild.ts';
import { dropTables, readOffsets, verifyName } from './switch.ts';
import { readCheckpoints, type ProjectionId } from '../engine/checkpoint.ts';
import type { Engine } from '../engine/engine.ts';
import type { Offsets } from '../engine/progress.ts';

export interface Verified {
  readonly version: number;
  /** checkpoints of both sides, by `partitionKey` */
  readonly positions: Offsets;
  /** every table, by name */
  readonly tables: readonly Compared[];
  /** partitions, as `partitionKey`, that have other records now than those that were applied */
  readonly rewritten: readonly string[];
}

/**
 * Throws `LogLost` and faults; one with retry when a server was away for too long or the signal was
 * aborted: the next call goes on.
 */
export function verify<Event extends { readonly type: string }>(
  options: RebuildOptions<Event>,
): Promise<Verified | RebuildRefusal> {
  return alone('verify', options, async (work) => {
    const { projection } = options;
    const live = await readTableVersion(work.session, projection.name);
    if (live === undefined || !live.indexed)
      return {
        refused: 'not_loaded',
        message: `${projection.name} is not loaded yet: see /ready of its projector`,
      };
    if (live.version !== projection.version)
      return {
        refused: 'another_version',
        message: `the tables of ${projection.name} are of version ${live.version}, this software folds version ${projection.version}: only software of the same version can verify them`,
      };
    const fresh = { ...projection, name: verifyName(projection.name) };
    if (await isUseless(work, fresh.name)) await dropTables(work.session, fresh.name);
    await prepareDatabase(options.postgres_url, fresh, {
      postgres_reader_role: options.postgres_reader_role,
      log: options.log,
      beside: projection.name,
    });
    const verified = await withEngine(work, fresh, true, (engine) =>
      compare(work, fresh.name, engine),
    );
    await dropTables(work.session, fresh.name);
    return verified;
  });
}

/** The tables of an earlier call are of another version, or beyond the live ones. */
async function isUseless<Event extends { readonly type: string }>(
  { options, session }: Work<Event>,
  name: string,
): Promise<boolean> {
  const { projection, afresh = false } = options;
  const begun = await readTableVersion(session, name);
  if (begun === undefined) return false;
  const ends = await readOffsets(session, projection.name);
  const reached = await readOffsets(session, name);
  return (
    afresh ||
    begun.version !== projection.version ||
    [...reached].some(([key, next]) => next > (ends.get(key) ?? 0n))
  );
}

async function compare<Event extends { readonly type: string }>(
  { options, session, progress }: Work<Event>,
  name: string,
  engine: Engine<Event>,
): Promise<Verified> {
  const { projection, postgres_url } = options;
  const load = async (step: 'loading' | 'catching_up', ends: Offsets): Promise<void> => {
    await engine.refresh();
    progress.begin(step, ends);
    // comparing needs no indexes
    await engine.begin(ends);
    await engine.reach(ends);
  };
  await load('loading', await readOffsets(session, projection.name));
  return await withClient(postgres_url, async (snapshot) => {
    await snapshot.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const ends = await readOffsets(snapshot, projection.name);
    const build = (await readTableVersion(snapshot, projection.name))?.build;
    await load('catching_up', ends);
    const rewritten = await findRewritten(snapshot, session, projection, name);
    progress.begin('comparing');
    const tables = await withClient(postgres_url, (client) =>
      compareTables(
        { client: snapshot, schema: projection.name },
        { client, schema: name },
        projection.tables,
      ),
    );
    // the snapshot finds tables by name
    if ((await readTableVersion(session, projection.name))?.build !== build)
      throw new Fault(
        'tables_replaced',
        `the tables of ${projection.name} were replaced during the comparison: verify again`,
        { retry: true },
      );
    return { version: projection.version, positions: ends, tables, rewritten };
  });
}

type Queries = Pick<ClientBase, 'query'>;

/** Compares the digests of the checkpoints of both sides, which stand at the same offsets. */
async function findRewritten(
  live: Queries,
  fresh: Queries,
  { name, version }: ProjectionId,
  freshName: string,
): Promise<readonly string[]> {
  const digests = await digestsOf(fresh, { name: freshName, version });
  return [...(await digestsOf(live, { name, version }))].flatMap(([key, digest]) =>
    digests.get(key)?.equals(digest) === true ? [] : [key],
  );
}

async function digestsOf(client: Queries, id: ProjectionId): Promise<ReadonlyMap<string, Buffer>> {
  return new Map(
    (await readCheckpoints(client, id)).map(({ topic, partition, digest }) => [
      partitionKey(topic, partition),
      digest,
    ]),
  );
}

async function withClient<Result>(
  url: string,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new HostClient(url, 'read-write', {
    application_name: 'verify',
    connectionTimeoutMillis: WORK_CONNECT_MS,
    keepAlive: true,
  });
  // thrown by the query in flight too
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(TEXT_SETTINGS);
    return await use(client);
  } catch (error) {
    throw faultOf(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
