/**
 * Builds new tables of a projection from offset 0, next to the live ones, and puts them in their
 * place. After a kill the next call goes on; of several calls at once one builds. The replaced
 * tables are kept, and `rollback` puts them back.
 */
import { hostname } from 'node:os';
import type { ClientBase, Pool } from 'pg';
import type { Projection, Table } from '../../../projections/contract/projection.ts';
import { Engine } from '../engine/engine.ts';
import { readEnds, recordsBehind, recordsIn, type Offsets } from '../engine/progress.ts';
import type { Decoder } from '../../runtime/kafka/codec.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { Fault, type Refusal } from '../../runtime/process/errors.ts';
import { readTableVersion, type TableVersion } from '../tables/live-tables.ts';
import { CONFIRMATIONS } from '../../runtime/kafka/position.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { prepareDatabase } from '../tables/migrations.ts';
import { guardWriters } from '../tables/readers.ts';
import { WORK_CONNECT_MS } from '../../runtime/postgres/host-client.ts';
import { faultOf, openWriter, withFaults } from '../../runtime/postgres/pool.ts';
import { aborted, retrying, untilAborted } from '../../runtime/process/retry.ts';
import { Rate } from '../../runtime/process/rate.ts';
import { takeAdvisoryLock } from './advisory-lock.ts';
import { dropTables, nextName, previousName, readOffsets, switchTables } from './switch.ts';

const REPORT_MS = 1_000;
const RETRY_MS = 200;
const POLL_MS = 1_000;
/** Parallel workers would take processors from the readers of the live tables. */
const SESSION = { max_parallel_maintenance_workers: '0' };

export interface RebuildStep {
  readonly step: 'loading' | 'indexing' | 'catching_up' | 'switching' | 'comparing';
  /** the current part of the step, such as `index 3 of 9 (blocks_hash)` */
  readonly what?: string;
  /** records folded by this call */
  readonly records: number;
  /** of the records that were in the log when the step began */
  readonly records_behind: bigint;
  readonly records_per_second: number | undefined;
  readonly seconds_left: number | undefined;
}

export interface RebuildOptions<Event extends { readonly type: string }> {
  readonly projection: Projection<Event>;
  readonly postgres_url: string;
  /** the role that may read all tables */
  readonly postgres_reader_role?: string | undefined;
  readonly kafka: Kafka;
  readonly codec: Decoder;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** called at each step, and about once a second during it */
  readonly onStep?: (step: RebuildStep) => void;
  /** drops the unfinished tables of an earlier call */
  readonly afresh?: boolean;
  /**
   * Share of the time in which it loads, above 0 and at most 1. Default 0.5, with which readers of
   * the live tables wait hardly longer. With 1 it takes all of the machine that a load takes.
   */
  readonly pace?: number;
}

const PACE = 0.5;

export interface Rebuilt {
  /** of the live tables */
  readonly version: number;
  /** of the tables that are kept */
  readonly kept_version: number;
  /** records folded by this call */
  readonly records: number;
}

export type RebuildRefusal = Refusal<
  'busy' | 'no_tables' | 'not_loaded' | 'newer_tables' | 'nothing_kept' | 'another_version'
>;

type Client = Pick<ClientBase, 'query'>;

/** The resources of one call. */
export interface Work<Event extends { readonly type: string }> {
  readonly options: RebuildOptions<Event>;
  /** holds the advisory lock of the task */
  readonly session: Client;
  /** aborted by the caller, and when the session is lost */
  readonly signal: AbortSignal;
  readonly progress: RebuildProgress;
}

/**
 * Throws `LogLost` and faults; one with retry when a server was away for too long or the signal was
 * aborted: the next call goes on.
 */
export function rebuild<Event extends { readonly type: string }>(
  options: RebuildOptions<Event>,
): Promise<Rebuilt | RebuildRefusal> {
  return alone('rebuild', options, async (work) => {
    const { projection } = options;
    const live = await readTableVersion(work.session, projection.name);
    const refused = refusalOf(projection, live);
    if (refused !== undefined) return refused;
    const next = { ...projection, name: nextName(projection.name) };
    const begun = await readTableVersion(work.session, next.name);
    if (begun !== undefined && (options.afresh === true || begun.version !== next.version))
      await dropTables(work.session, next.name);
    await prepareDatabase(options.postgres_url, next, {
      postgres_reader_role: options.postgres_reader_role,
      log: options.log,
      beside: projection.name,
    });
    return await withEngine(work, next, false, async (engine, pool) => {
      if ((await readTableVersion(work.session, next.name))?.indexed !== true)
        await load(work, next, engine, pool);
      const kept = live?.version ?? next.version;
      return await switchOver(work, engine, pool, next.name, kept, { exchange: false });
    });
  });
}

/**
 * Puts back the tables that were replaced last, once they have caught up, and keeps the live ones.
 */
export function rollback<Event extends { readonly type: string }>(
  options: RebuildOptions<Event>,
): Promise<Rebuilt | RebuildRefusal> {
  return alone('rebuild', options, async (work) => {
    const { projection } = options;
    const previous = { ...projection, name: previousName(projection.name) };
    const live = await readTableVersion(work.session, projection.name);
    const kept = await readTableVersion(work.session, previous.name);
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
    return await withEngine(work, previous, false, (engine, pool) =>
      switchOver(work, engine, pool, previous.name, live.version, { exchange: true }),
    );
  });
}

function refusalOf(
  { name, version }: Pick<Projection, 'name' | 'version'>,
  live: TableVersion | undefined,
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

/** Runs a task that only one process may run at a time; another is refused, with its holder. */
export async function alone<Event extends { readonly type: string }, Result>(
  task: 'rebuild' | 'verify',
  options: RebuildOptions<Event>,
  use: (work: Work<Event>) => Promise<Result | RebuildRefusal>,
): Promise<Result | RebuildRefusal> {
  const { projection, postgres_url, log, signal } = options;
  const holder = `pid ${process.pid} on ${hostname()}, ${task} ${projection.name}`;
  const session = await retrying({ what: 'connecting to Postgres', log, signal }, () =>
    takeAdvisoryLock(postgres_url, `${task} ${projection.name}`, holder),
  );
  if ('held_by' in session)
    return {
      refused: 'busy',
      message: `there is a ${task} of ${projection.name} already: ${session.held_by}`,
    };
  const progress = new RebuildProgress(options.onStep);
  const letGo = guardWriters({ postgres_url, log });
  try {
    return await use({
      options,
      session: session.client,
      signal: AbortSignal.any([signal, session.lost]),
      progress,
    });
  } catch (error) {
    if (signal.aborted || !session.lost.aborted) throw faultOf(error);
    const message = `Postgres has ended the session that keeps another ${task} out: the next call goes on from here`;
    throw new Fault('session_lost', message, { retry: true, cause: error });
  } finally {
    progress.end();
    letGo();
    await session.client.end().catch(() => undefined);
  }
}

/** Opens an engine that folds into the tables of that name. `exact`: as of `EngineOptions`. */
export async function withEngine<Event extends { readonly type: string }, Result>(
  { options, signal: stop, progress }: Work<Event>,
  projection: Projection<Event>,
  exact: boolean,
  use: (engine: Engine<Event>, pool: Pool) => Promise<Result>,
): Promise<Result> {
  const { postgres_url, kafka, codec, log, pace = PACE } = options;
  const pool = openWriter(
    {
      postgres_url,
      postgres_connect_ms: WORK_CONNECT_MS,
      application_name: projection.name,
      schema: projection.name,
      session: SESSION,
    },
    log,
  );
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  const applied = new Map<string, bigint>();
  const engine = new Engine({
    projection,
    kafka,
    codec,
    log,
    pool,
    signal,
    applied,
    pace,
    exact,
    retrying: (what, attempt) => retrying({ what, log, signal, onFault: throwForPerson }, attempt),
    // the tables must not displace those that are read in Postgres' buffers
    indexes: { at_once: pace < 1 ? 1 : 2, warm: false, onStep: (what) => progress.index(what) },
    onApplied: (_batch, { outcomes }) => progress.count(recordsIn(outcomes)),
  });
  progress.watch(applied);
  try {
    await engine.start();
    return await use(engine, pool);
  } finally {
    over.abort();
    await engine.close();
    await pool.end();
  }
}

/** A person has to mend the registry, and hears of it from the caller. */
function throwForPerson(fault: Fault | undefined): void {
  if (fault?.code === 'another_registry') throw fault;
}

function endsOf<Event extends { readonly type: string }>({
  options: { projection, kafka, log },
  signal,
}: Work<Event>): Promise<Offsets> {
  return retrying({ what: 'reading the end of the log', log, signal }, () =>
    readEnds(kafka, projection.topics),
  );
}

async function load<Event extends { readonly type: string }>(
  work: Work<Event>,
  next: Projection<Event>,
  engine: Engine<Event>,
  pool: Pool,
): Promise<void> {
  const { options, signal, progress } = work;
  // an earlier call may have loaded a part
  await engine.refresh();
  progress.begin('loading', await endsOf(work));
  await engine.begin();
  await engine.finishLoad();
  const onStep = (what: string): void => progress.say(what);
  await retrying({ what: 'vacuuming the tables', log: options.log, signal }, () =>
    vacuum(pool, next.tables, onStep, signal),
  );
}

/** Sets the visibility map and hint bits, which the first readers would have to set row by row. */
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

/**
 * Catches up until the switch to the tables of that name succeeds. `keptVersion` is that of the
 * replaced tables. With `exchange` those get the name of the new ones; otherwise the tables kept
 * earlier are dropped.
 */
async function switchOver<Event extends { readonly type: string }>(
  work: Work<Event>,
  engine: Engine<Event>,
  pool: Pool,
  name: string,
  keptVersion: number,
  { exchange }: { readonly exchange: boolean },
): Promise<Rebuilt> {
  const { options, session, signal, progress } = work;
  const { projection } = options;
  const build = (await readTableVersion(session, name))?.build;
  let catching = Promise.resolve();
  const catchUp = (ends: Offsets): Promise<void> => (catching = engine.reach(ends));
  const keep = previousName(projection.name);
  const of_another_log = await isBeyondLog(work);
  for (;;) {
    await engine.refresh();
    await engine.begin();
    const ends = await endsOf(work);
    progress.begin('catching_up', ends);
    await catchUp(ends);
    progress.begin('switching');
    if (!exchange) await dropTables(session, keep);
    const switched = switchTables({
      session,
      projection: projection.name,
      staged: name,
      keep,
      of_another_log,
      catchUp,
    });
    // a COMMIT without an answer may have happened
    const isDone = await switched.catch(async (error: unknown) => {
      if ((await readTableVersion(pool, projection.name))?.build !== build) throw error;
      return true;
    });
    if (isDone) break;
    await catching;
    await untilAborted(RETRY_MS, signal);
    if (signal.aborted)
      throw new Fault('stopped', 'stopped: the next call goes on from here', { retry: true });
  }
  return { version: projection.version, kept_version: keptVersion, records: progress.records };
}

/** Whether the live tables are beyond the end of the log: they were made of another one. */
async function isBeyondLog<Event extends { readonly type: string }>(
  work: Work<Event>,
): Promise<boolean> {
  const { options, session, signal } = work;
  for (let looks = 1; ; looks++) {
    const reached = await readOffsets(session, options.projection.name);
    const ends = await endsOf(work);
    if ([...reached].every(([key, next]) => next <= (ends.get(key) ?? 0n))) return false;
    if (looks === CONFIRMATIONS) return true;
    await untilAborted(POLL_MS, signal);
  }
}

/** The progress of a rebuild, reported at each step and about once a second during it. */
class RebuildProgress {
  readonly #report: (step: RebuildStep) => void;
  readonly #rate = new Rate();
  readonly #timer: NodeJS.Timeout;
  #step: RebuildStep['step'] | undefined;
  #what: string | undefined;
  #records = 0;
  #ends: Offsets = new Map();
  #applied: Offsets = new Map();

  constructor(report: (step: RebuildStep) => void = () => undefined) {
    this.#report = report;
    this.#timer = setInterval(() => this.#now(), REPORT_MS);
  }

  get records(): number {
    return this.#records;
  }

  /** The offsets that count as applied. */
  watch(applied: Offsets): void {
    this.#applied = applied;
  }

  begin(step: RebuildStep['step'], ends: Offsets = new Map()): void {
    this.#step = step;
    this.#what = undefined;
    this.#ends = ends;
    this.#now();
  }

  say(what: string): void {
    this.#what = what;
    this.#now();
  }

  index(what: string): void {
    if (this.#step !== 'indexing') this.begin('indexing');
    this.say(what);
  }

  count(records: number): void {
    this.#records += records;
    this.#rate.count(records);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #now(): void {
    if (this.#step === undefined) return;
    const behind = recordsBehind(this.#ends, this.#applied);
    this.#report({
      step: this.#step,
      ...(this.#what === undefined ? {} : { what: this.#what }),
      records: this.#records,
      records_behind: behind,
      ...this.#rate.estimate(behind),
    });
  }
}
