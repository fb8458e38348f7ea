/**
 * Folds a projection's log anew, into tables of its own that are thrown away afterwards, and holds every row that is read against them: both at the same offsets,
 * while the projector goes on.
 */
import { Client } from 'pg';
import { Fault } from '../../runtime/process/errors.ts';
import { readStanding } from '../tables/live-tables.ts';
import { prepareDatabase } from '../tables/migrations.ts';
import { faultOf } from '../../runtime/postgres/pool.ts';
import { compareTables, TEXT_SETTINGS, type Compared } from './compare.ts';
import { verifyOf } from './names.ts';
import {
  alone,
  withReplay,
  type RebuildOptions,
  type RebuildRefusal,
  type Work,
} from './rebuild.ts';
import { dropTables, endsOf } from './switch.ts';
import type { Ends, Replay } from './replay.ts';

export interface Verified {
  readonly version: number;
  /** first offset not applied, by topic and partition: where both stood */
  readonly positions: Ends;
  /** every table, by name */
  readonly tables: readonly Compared[];
}

/** Throws `LogLost` and faults; one with retry when servers were away for too long or the signal was aborted: calling again goes on where this one was. */
export function verify<Event extends { readonly type: string }>(
  options: RebuildOptions<Event>,
): Promise<Verified | RebuildRefusal> {
  return alone('verify', options, async (work) => {
    const { projection } = options;
    const live = await readStanding(work.session, projection.name);
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
    const fresh = { ...projection, name: verifyOf(projection.name) };
    if (await isOfNoUse(work, fresh.name)) await dropTables(work.session, fresh.name);
    await prepareDatabase(options.postgres_url, fresh, { beside: projection.name });
    const verified = await withReplay(work, fresh, true, (replay) =>
      compare(work, fresh.name, replay),
    );
    await dropTables(work.session, fresh.name);
    return verified;
  });
}

/** What an earlier call has begun: of another version, or further than what is read now. */
async function isOfNoUse<Event extends { readonly type: string }>(
  { options, session }: Work<Event>,
  name: string,
): Promise<boolean> {
  const { projection, afresh = false } = options;
  const begun = await readStanding(session, name);
  if (begun === undefined) return false;
  const [ends, reached] = [await endsOf(session, projection.name), await endsOf(session, name)];
  return (
    afresh ||
    begun.version !== projection.version ||
    [...reached].some(([key, next]) => next > (ends.get(key) ?? 0n))
  );
}

async function compare<Event extends { readonly type: string }>(
  { options, session, progress }: Work<Event>,
  name: string,
  replay: Replay<Event>,
): Promise<Verified> {
  const { projection, postgres_url } = options;
  const load = async (step: 'loading' | 'catching_up', ends: Ends): Promise<void> => {
    await replay.refresh();
    progress.begin(step, ends);
    // their indexes would be of no use
    await replay.advance(ends, { loading: true });
  };
  await load('loading', await endsOf(session, projection.name));
  return await withClient(postgres_url, async (snapshot) => {
    await snapshot.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const ends = await endsOf(snapshot, projection.name);
    const build = (await readStanding(snapshot, projection.name))?.build;
    await load('catching_up', ends);
    progress.begin('comparing');
    const tables = await withClient(postgres_url, (client) =>
      compareTables(
        { client: snapshot, schema: projection.name },
        { client, schema: name },
        projection.tables,
      ),
    );
    // by its name the snapshot would have found the others
    if ((await readStanding(session, projection.name))?.build !== build)
      throw new Fault(
        'tables_replaced',
        `other tables were put in place of ${projection.name} meanwhile: verify them again`,
        {
          retry: true,
        },
      );
    return { version: projection.version, positions: ends, tables };
  });
}

async function withClient<Result>(
  url: string,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({
    connectionString: url,
    application_name: 'verify',
    connectionTimeoutMillis: 2_000,
    keepAlive: true,
  });
  // comes out of the query in hand
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
