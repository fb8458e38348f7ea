/**
 * Builds a projection's tables anew from offset 0, beside those that are read, and puts them in their place. Killed anywhere it goes on where it was with the
 * next call; of several at once one builds. The tables that were read before are kept, and `rollback` puts them back.
 */
import { hostname } from 'node:os';
import type { Kafka } from 'kafkajs';
import type { ClientBase, Pool } from 'pg';
import type { Projection, Table } from '../../../projections/contract/projection.ts';
import { readEnds } from '../load/bulk-load.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import { Fault, type Refusal } from '../../runtime/process/errors.ts';
import { buildIndexes } from '../tables/index-build.ts';
import { readStanding, type Standing } from '../tables/live-tables.ts';
import { CONFIRMATIONS } from '../../runtime/kafka/position.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { prepareDatabase } from '../tables/migrations.ts';
import { faultOf, openWriter, withFaults } from '../../runtime/postgres/pool.ts';
import { aborted, retrying, untilAborted } from '../../runtime/process/retry.ts';
import { nextOf, previousOf } from './names.ts';
import { RebuildProgress, type RebuildStep } from './progress.ts';
import { Replay, type Ends } from './replay.ts';
import { SoleSession } from './advisory-lock.ts';
import { dropTables, endsOf, switchTables } from './switch.ts';

const TRY_AGAIN_MS = 200;
const LOOK_AGAIN_MS = 1_000;
/** Workers, of a vacuum too, would take processors from those who are read: that is not worth the seconds. */
const GENTLY = { max_parallel_maintenance_workers: '0' };

export interface RebuildOptions<Event extends { readonly type: string }> {
  readonly projection: Projection<Event>;
  readonly postgres_url: string;
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** told at each step, and about once a second while one lasts */
  readonly onStep?: (step: RebuildStep) => void;
  /** what an earlier call had begun is thrown away, not gone on with */
  readonly afresh?: boolean;
}

export interface Rebuilt {
  /** of the tables that are read now */
  readonly version: number;
  /** of those that are kept */
  readonly kept_version: number;
  /** records of the log that this call has folded */
  readonly records: number;
}

export type RebuildRefusal = Refusal<
  'busy' | 'no_tables' | 'not_loaded' | 'newer_tables' | 'nothing_kept' | 'another_version'
>;

type Client = Pick<ClientBase, 'query'>;

/** Everything that one call works with. */
export interface Work<Event extends { readonly type: string }> {
  readonly options: RebuildOptions<Event>;
  /** the only session at this task */
  readonly session: Client;
  /** also aborted when the session is lost */
  readonly signal: AbortSignal;
  readonly progress: RebuildProgress;
}

/** Throws `LogLost` and faults; one with retry when servers were away for too long or the signal was aborted: calling again goes on. */
export function rebuild<Event extends { readonly type: string }>(
  options: RebuildOptions<Event>,
): Promise<Rebuilt | RebuildRefusal> {
  return alone('rebuild', options, async (work) => {
    const { projection } = options;
    const live = await readStanding(work.session, projection.name);
    const refused = refusalOf(projection, live);
    if (refused !== undefined) return refused;
    const next = { ...projection, name: nextOf(projection.name) };
    const begun = await readStanding(work.session, next.name);
    if (begun !== undefined && (options.afresh === true || begun.version !== next.version))
      await dropTables(work.session, next.name);
    await prepareDatabase(options.postgres_url, next, { beside: projection.name });
    return await withReplay(work, next, false, async (replay, pool) => {
      if ((await readStanding(work.session, next.name))?.indexed !== true)
        await load(work, next, replay, pool);
      return await takePlace(work, replay, pool, {
        name: next.name,
        kept: live?.version ?? next.version,
        exchange: false,
      });
    });
  });
}

/** Puts the tables back that were read before the last rebuild or rollback, when they have caught up; those that are read now are kept in turn. */
export function rollback<Event extends { readonly type: string }>(
  options: RebuildOptions<Event>,
): Promise<Rebuilt | RebuildRefusal> {
  return alone('rebuild', options, async (work) => {
    const { projection } = options;
    const previous = { ...projection, name: previousOf(projection.name) };
    const [live, kept] = [
      await readStanding(work.session, projection.name),
      await readStanding(work.session, previous.name),
    ];
    if (kept === undefined || live === undefined)
      return {
        refused: 'nothing_kept',
        message: `no earlier tables of ${projection.name} are kept: they are, after a rebuild`,
      };
    if (kept.version !== projection.version)
      return {
        refused: 'another_version',
        message: `the tables kept are of version ${kept.version}, this software folds version ${projection.version} and cannot have them catch up: roll back with the software of version ${kept.version}`,
      };
    if (!kept.indexed)
      return {
        refused: 'not_loaded',
        message: `the tables kept had not been loaded when they were replaced: ops rebuild ${projection.name} builds new ones`,
      };
    return await withReplay(work, previous, false, (replay, pool) =>
      takePlace(work, replay, pool, { name: previous.name, kept: live.version, exchange: true }),
    );
  });
}

function refusalOf(
  { name, version }: Pick<Projection, 'name' | 'version'>,
  live: Standing | undefined,
): RebuildRefusal | undefined {
  if (live === undefined)
    return {
      refused: 'no_tables',
      message: `there are no tables of ${name} yet: a projector of ${name} makes and loads them`,
    };
  if (live.version > version)
    return {
      refused: 'newer_tables',
      message: `the tables of ${name} are of version ${live.version}, this software writes version ${version}: use the newer software, or --rollback where version ${version} is kept`,
    };
  if (live.version === version && !live.indexed)
    return {
      refused: 'not_loaded',
      message: `${name} is being loaded for the first time: see /ready of its projector`,
    };
  return undefined;
}

/** The only one at this task, in all processes; another is refused and told who it is. */
export async function alone<Event extends { readonly type: string }, Result>(
  task: 'rebuild' | 'verify',
  options: RebuildOptions<Event>,
  use: (work: Work<Event>) => Promise<Result | RebuildRefusal>,
): Promise<Result | RebuildRefusal> {
  const { projection, postgres_url, log, signal } = options;
  const who = `pid ${process.pid} on ${hostname()}, ${task} ${projection.name}`;
  const open = (): ReturnType<typeof SoleSession.open> =>
    SoleSession.open({ postgres_url, task: `${task} ${projection.name}`, who });
  const session = await retrying({ what: 'connecting to Postgres', log, signal }, open);
  if ('held_by' in session)
    return {
      refused: 'busy',
      message: `there is a ${task} of ${projection.name} already: ${session.held_by}`,
    };
  const progress = new RebuildProgress(options.onStep);
  try {
    return await use({
      options,
      session: session.client,
      signal: AbortSignal.any([signal, session.lost]),
      progress,
    });
  } catch (error) {
    if (signal.aborted || !session.lost.aborted) throw faultOf(error);
    const message = `Postgres has ended the session that keeps another ${task} out: the next call goes on where this one was`;
    throw new Fault('session_lost', message, { retry: true, cause: error });
  } finally {
    progress.end();
    await session.close();
  }
}

/** With a replay into the tables of that name. */
export async function withReplay<Event extends { readonly type: string }, Result>(
  { options, signal, progress }: Work<Event>,
  projection: Projection<Event>,
  exact: boolean,
  use: (replay: Replay<Event>, pool: Pool) => Promise<Result>,
): Promise<Result> {
  const { postgres_url, log } = options;
  const { name } = projection;
  const pool = openWriter(
    {
      postgres_url,
      application_name: name,
      schema: name,
      session: GENTLY,
    },
    log,
  );
  const replay = new Replay({
    ...options,
    projection,
    pool,
    signal,
    exact,
    onApplied: (records) => progress.count(records),
  });
  progress.watch(replay);
  try {
    await replay.start();
    return await use(replay, pool);
  } finally {
    await replay.close();
    await pool.end();
  }
}

async function load<Event extends { readonly type: string }>(
  { options, signal, progress }: Work<Event>,
  next: Projection<Event>,
  replay: Replay<Event>,
  pool: Pool,
): Promise<void> {
  const { kafka, log } = options;
  const patient = { log, signal };
  // where the checkpoints stand: the load of an earlier call may have come some way
  await replay.refresh();
  const ends = await retrying({ ...patient, what: 'looking where the log ends' }, () =>
    readEnds(kafka, next.topics),
  );
  progress.begin('loading', ends);
  await replay.advance(ends, { loading: true });
  progress.begin('indexing');
  const onStep = (what: string): void => progress.say(what);
  await retrying({ ...patient, what: 'building the indexes' }, () =>
    buildIndexes({ pool, projection: next, log, signal, onStep, at_once: 1, warm: false }),
  );
  await retrying({ ...patient, what: 'vacuuming the tables' }, () =>
    vacuum(pool, next.tables, onStep, signal),
  );
}

/** What the first who read them would have to do otherwise, row by row. */
async function vacuum(
  pool: Pool,
  tables: readonly Table[],
  onStep: (what: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const client = await withFaults(pool.connect());
  try {
    await client.query('SET statement_timeout = 0');
    for (const { name } of tables) {
      if (signal.aborted) break;
      onStep(`vacuum of ${name}`);
      await Promise.race([client.query(`VACUUM ${name}`), aborted(signal)]);
    }
  } catch (error) {
    throw faultOf(error);
  } finally {
    client.release(true);
  }
}

interface Place {
  readonly name: string;
  /** version of the tables that are replaced */
  readonly kept: number;
  /** those that are replaced take the name of these; else those that were kept before are dropped */
  readonly exchange: boolean;
}

/** Catches up until the switch succeeds. */
async function takePlace<Event extends { readonly type: string }>(
  work: Work<Event>,
  replay: Replay<Event>,
  pool: Pool,
  { name, kept, exchange }: Place,
): Promise<Rebuilt> {
  const { options, session, signal, progress } = work;
  const { projection, kafka, log } = options;
  const build = (await readStanding(session, name))?.build;
  let catching = Promise.resolve();
  const catchUp = (ends: Ends): Promise<void> =>
    (catching = replay.advance(ends, { loading: false }));
  const keep = previousOf(projection.name);
  const of_another_log = await isBeyondLog(work);
  for (;;) {
    await replay.refresh();
    const ends = await retrying({ what: 'looking where the log ends', log, signal }, () =>
      readEnds(kafka, projection.topics),
    );
    progress.begin('catching_up', ends);
    await catchUp(ends);
    progress.begin('switching');
    if (!exchange) await dropTables(session, keep);
    const switched = switchTables({
      session,
      projection: projection.name,
      beside: name,
      keep,
      of_another_log,
      catchUp,
    });
    // a COMMIT whose answer was lost may have happened
    const isDone = await switched.catch(async (error: unknown) => {
      if ((await readStanding(pool, projection.name))?.build !== build) throw error;
      return true;
    });
    if (isDone) break;
    await catching;
    await untilAborted(TRY_AGAIN_MS, signal);
    if (signal.aborted)
      throw new Fault('stopped', 'told to stop: the next call goes on where this one was', {
        retry: true,
      });
  }
  return { version: projection.version, kept_version: kept, records: progress.records };
}

/** Whether the tables that are read stand beyond the end of the log, as after its loss: they were made of another one, and where they stand means nothing. */
async function isBeyondLog<Event extends { readonly type: string }>({
  options,
  session,
  signal,
}: Work<Event>): Promise<boolean> {
  const { projection, kafka, log } = options;
  for (let looks = 1; ; looks++) {
    const reached = await endsOf(session, projection.name);
    const ends = await retrying({ what: 'looking where the log ends', log, signal }, () =>
      readEnds(kafka, projection.topics),
    );
    if ([...reached].every(([key, next]) => next <= (ends.get(key) ?? 0n))) return false;
    if (looks === CONFIRMATIONS) return true;
    await untilAborted(LOOK_AGAIN_MS, signal);
  }
}
