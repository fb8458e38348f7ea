/**
 * Applies a batch in one transaction: locks the checkpoint, folds, writes the rows and the new
 * checkpoint, commits. While loading, a coalescer may add further batches to the transaction.
 */
import type { ClientBase, Pool } from 'pg';
import type {
  Changes,
  Folded,
  Outcomes,
  Projection,
} from '../../../projections/contract/projection.ts';
import { newCopyRows } from '../../runtime/postgres/copy-rows.ts';
import { inOrder, setPipeline } from '../../runtime/postgres/pipeline.ts';
import { faultOf, withFaults } from '../../runtime/postgres/pool.ts';
import { assert, Fault } from '../../runtime/process/errors.ts';
import { NO_SPAN } from '../../runtime/process/tracing.ts';
import {
  anotherVersion,
  beginWriting,
  enterLoad,
  LOAD_TIMEOUT_MS,
  readTableVersion,
  type LoadPhase,
} from '../tables/live-tables.ts';
import type { Batch } from './batches.ts';
import {
  advanceCheckpoint,
  advanced,
  lockCheckpoint,
  lockFoundCheckpoint,
  type Checkpoint,
} from './checkpoint.ts';
import { loadRows } from './table-reader.ts';
import { writeChanges } from './table-writer.ts';

const TIMEOUT_MS = 60_000;

/** A batch folded up to its end. */
export type Complete = Exclude<Folded, { readonly broken: unknown }>;

export interface Applied {
  readonly outcome: 'applied';
  readonly next_offset: bigint;
  readonly outcomes: Outcomes;
  readonly rows: number;
  /** change keys */
  readonly announced: readonly string[];
  /** the record at next_offset breaks the log: everything before it is applied */
  readonly broken?: { readonly offset: bigint; readonly reason: string };
}

/**
 * The checkpoint is not where these records begin: another process moved it, or a COMMIT succeeded
 * unnoticed.
 */
export interface Conflict {
  readonly outcome: 'conflict';
}

export type ApplyOutcome =
  | Applied
  | Conflict
  /** loading was requested, but the indexes are being built or exist */
  | { readonly outcome: 'not_loading'; readonly phase: Exclude<LoadPhase, 'loading'> }
  /** the tables have no indexes: they have to be loaded */
  | { readonly outcome: 'not_indexed' };

/** An open transaction that holds the lock of one checkpoint. */
export interface WriteTransaction {
  readonly client: ClientBase;
  /** the checkpoint, as it was found */
  readonly from: Checkpoint;
  /** aborted when the transaction is given up: shared state may be changed by others then */
  readonly over: AbortSignal;
}

export interface Written {
  readonly outcomes: Outcomes;
  /** rows touched */
  readonly rows: number;
}

export interface Coalesced extends Written {
  /** the checkpoint that the rows stand for */
  readonly to: Checkpoint;
}

/** Adds further batches to a transaction. */
export interface Coalescer {
  canWrite(changes: Changes): boolean;
  /** Writes a folded batch, and any number of batches after it. */
  write(transaction: WriteTransaction, first: Complete, to: Checkpoint): Promise<Coalesced>;
}

export interface ApplyOptions<Event extends { readonly type: string }> {
  readonly pool: Pool;
  readonly projection: Projection<Event>;
  readonly cluster_id: string;
  /** the tables have no indexes, and nobody builds them during the transaction */
  readonly loading?: boolean | undefined;
  readonly coalescer?: Coalescer | undefined;
  /** aborts the transaction */
  readonly signal?: AbortSignal | undefined;
  /** of the transaction; 60 s when not given, 10 min while loading */
  readonly timeout_ms?: number;
}

/**
 * Applies the part of the batch that is not applied yet. Throws a fault after any failure, and
 * nothing is written then; a retry is always right. After a COMMIT without an answer the retry
 * returns `conflict`. Throws `LogLost` for the checkpoint of another cluster.
 */
export async function applyBatch<Event extends { readonly type: string }>(
  options: ApplyOptions<Event>,
  batch: Batch<Event>,
): Promise<ApplyOutcome> {
  const { pool, loading = false, signal } = options;
  const { timeout_ms: timeoutMs = loading ? LOAD_TIMEOUT_MS : TIMEOUT_MS } = options;
  const client = await withFaults(pool.connect());
  const abandoned = Promise.withResolvers<never>();
  const fail = (code: string, message: string): void =>
    abandoned.reject(new Fault(code, message, { retry: true }));
  const timer = setTimeout(
    () => fail('storage_timeout', `Postgres did not answer within ${timeoutMs} ms`),
    timeoutMs,
  );
  const stop = (): void => fail('stopped', 'stopped before the batch was applied');
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted === true) stop();
  const over = new AbortController();
  let failed: Error | undefined;
  const { span = NO_SPAN } = batch;
  let leg = span.child('fold');
  const onFolded = (): void => {
    leg.end();
    leg = span.child('commit');
  };
  const transact = async (): Promise<ApplyOutcome> => {
    const applied = await inTransaction(options, batch, client, { over: over.signal, onFolded });
    await client.query(applied.outcome === 'applied' ? 'COMMIT' : 'ROLLBACK');
    return applied;
  };
  setPipeline(client, true);
  try {
    return await Promise.race([transact(), abandoned.promise]);
  } catch (error) {
    failed = faultOf(error);
    throw failed;
  } finally {
    leg.end(failed);
    over.abort();
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    setPipeline(client, false);
    // a failed connection may still hold the transaction: it is closed
    client.release(failed);
  }
}

/** Begins the transaction too. */
async function inTransaction<Event extends { readonly type: string }>(
  options: ApplyOptions<Event>,
  batch: Batch<Event>,
  client: ClientBase,
  { over, onFolded }: { readonly over: AbortSignal; readonly onFolded: () => void },
): Promise<ApplyOutcome> {
  const { projection, cluster_id: clusterId, loading = false, coalescer } = options;
  const began = beginWriting(client, projection.name);
  if (loading) {
    await began;
    const phase = await enterLoad(client, projection);
    if (phase !== 'loading') return { outcome: 'not_loading', phase };
  }
  const version = readTableVersion(client, projection.name);
  const { lock_table: lockTable } = projection;
  const place = [client, projection, batch.topic, batch.partition, clusterId] as const;
  // the rows are asked for behind the lock, so they are read after it
  const reads = [
    lockFoundCheckpoint(...place),
    lockTable === undefined ? loadRows(client, batch.loads) : Promise.resolve({}),
  ] as const;
  // a connection that is given up must not be answered any more, so all are waited for
  await Promise.allSettled([began, version, ...reads]);
  // whether the tables are the right ones comes first: no error of the reads counts otherwise
  const [, tables] = await inOrder([began, version]);
  if (tables?.version !== projection.version) throw anotherVersion(projection, tables);
  if (!loading && !tables.indexed) return { outcome: 'not_indexed' };
  const [found, ahead] = await inOrder(reads);
  const from = found ?? (await lockCheckpoint(...place));
  if (from.next_offset < batch.from || from.next_offset >= batch.next) return CONFLICT;
  const applied = batch.events.filter(({ offset }) => offset < from.next_offset).length;
  const events = batch.events.slice(applied);

  // the loads see what other partitions wrote only after this lock
  if (lockTable !== undefined) await client.query(`SELECT FROM ${lockTable} FOR UPDATE`);
  const loads = applied === 0 ? batch.loads : projection.loads(events);
  // where there was no checkpoint, nothing was locked when the rows were read
  const isBehindLock = found !== undefined && lockTable === undefined;
  const loaded = isBehindLock && applied === 0 ? ahead : await loadRows(client, loads);
  const advance = (to: Checkpoint): Promise<boolean> =>
    advanceCheckpoint(client, projection, from, to);
  const write = async (
    { changes, outcomes, announced }: Complete,
    to: Checkpoint,
  ): Promise<Applied | Conflict> => {
    const [rows, isMoved] = await inOrder([writeChanges(client, changes), advance(to)]);
    if (!isMoved) return CONFLICT;
    return { outcome: 'applied', next_offset: to.next_offset, outcomes, rows, announced };
  };

  const folded = projection.fold(loaded, events, newCopyRows);
  onFolded();
  if (!('broken' in folded)) {
    const to = advanced(from, batch.fingerprints.slice(applied), batch.next);
    if (coalescer?.canWrite(folded.changes) !== true) return await write(folded, to);
    const { to: end, ...written } = await coalescer.write({ client, from, over }, folded, to);
    if (!(await advance(end))) return CONFLICT;
    return { outcome: 'applied', next_offset: end.next_offset, ...written, announced: [] };
  }
  const { at, reason } = folded.broken;
  const broken = { offset: events[at]?.offset ?? batch.next, reason };
  if (at === 0) return { ...NOTHING_APPLIED, next_offset: from.next_offset, broken };
  const before = projection.fold(loaded, events.slice(0, at), newCopyRows);
  assert(!('broken' in before), `a fold of ${projection.name} broke at two different records`);
  const to = advanced(from, batch.fingerprints.slice(applied, applied + at), broken.offset);
  const outcome = await write(before, to);
  return outcome.outcome === 'applied' ? { ...outcome, broken } : outcome;
}

const CONFLICT: Conflict = { outcome: 'conflict' };

const NOTHING_APPLIED = {
  outcome: 'applied',
  outcomes: { applied: 0, replayed: 0, ignored: 0 },
  rows: 0,
  announced: [],
} as const;
