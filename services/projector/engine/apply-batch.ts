/** One batch, and while loading many, in one transaction: the checkpoint is locked, the batch folded into it, rows and checkpoint committed together, or nothing at all. */
import type { ClientBase, Pool } from 'pg';
import type { Outcomes, Projection } from '../../../projections/contract/projection.ts';
import {
  advanceCheckpoint,
  advanced,
  lockCheckpoint,
  type Checkpoint,
  type ProjectionId,
} from './checkpoint.ts';
import { assert, Fault } from '../../runtime/process/errors.ts';
import type { Whole } from '../load/fold-ahead.ts';
import { anotherVersion, beginWriting, readStanding } from '../tables/live-tables.ts';
import { writeGroup, type Ahead } from '../load/load-group.ts';
import { loadRows } from '../load/load-rows.ts';
import { enterLoad, LOAD_PATIENCE_MS, type LoadPhase } from '../load/load-state.ts';
import { anotherCluster } from '../../runtime/kafka/position.ts';
import { newCopyRows } from '../../runtime/postgres/copy-rows.ts';
import { faultOf, withFaults } from '../../runtime/postgres/pool.ts';
import type { Prepared } from './prepare.ts';
import type { RowMemory } from '../load/row-memory.ts';
import { writeChanges } from './table-writer.ts';

export type Applied =
  | {
      readonly outcome: 'applied';
      readonly next_offset: bigint;
      readonly outcomes: Outcomes;
      readonly rows: number;
      readonly announced: readonly string[];
      /** the record at next_offset breaks the log: everything before it is applied */
      readonly broken?: { readonly offset: bigint; readonly reason: string };
    }
  /** the checkpoint stands elsewhere than these records begin: somebody else moved it, or an answer was lost */
  | { readonly outcome: 'conflict' }
  /** the tables are not to be loaded now: somebody builds their indexes, or has built them */
  | { readonly outcome: 'not_loading'; readonly phase: Exclude<LoadPhase, 'loading'> }
  /** the tables are new ones, without indexes: they have to be loaded */
  | { readonly outcome: 'not_indexed' };

export type Done = Extract<Applied, { readonly outcome: 'applied' }>;

const NOTHING: Outcomes = { applied: 0, replayed: 0, ignored: 0 };

/** What every event carries. */
interface Typed {
  readonly type: string;
}

export interface Applying<Event extends Typed> {
  readonly pool: Pool;
  readonly projection: Projection<Event>;
  readonly cluster_id: string;
  /** that the tables have no indexes yet, and get none while this batch is applied */
  readonly loading?: boolean;
  /** of what was written last; only where these tables change with one partition alone */
  readonly memory?: RowMemory;
  /** folds the batch that follows while this one is written, and may apply it together with this one */
  readonly ahead?: Ahead<Event>;
  /** gives the batch up at once, with nothing of it left behind */
  readonly signal?: AbortSignal;
  /** how long a transaction may take before its connection is given up; when not given 60 s, and while loading 10 min */
  readonly patience_ms?: number;
}

/**
 * Applies what of the batch is not applied yet. Any failure leaves nothing behind and is thrown as a fault; trying again is always right. A COMMIT whose answer
 * was lost may have happened: the next attempt finds the checkpoint moved and answers `conflict`. Throws `LogLost` for another cluster's checkpoint.
 */
export async function applyBatch<Event extends Typed>(
  to: Applying<Event>,
  batch: Prepared<Event>,
): Promise<Applied> {
  // by an attempt that failed: what it took is not to be had any more
  if (to.ahead?.more?.hasTaken() === true) return { outcome: 'conflict' };
  const client = await withFaults(to.pool.connect());
  const silence = Promise.withResolvers<never>();
  const { patience_ms: patience = to.loading === true ? LOAD_PATIENCE_MS : 60_000 } = to;
  const timer = setTimeout(
    () =>
      silence.reject(
        new Fault('storage_timeout', `Postgres did not answer within ${patience} ms`, {
          retry: true,
        }),
      ),
    patience,
  );
  const giveUp = (): void =>
    silence.reject(
      new Fault('stopped', 'told to stop before the batch was applied', { retry: true }),
    );
  to.signal?.addEventListener('abort', giveUp, { once: true });
  if (to.signal?.aborted === true) giveUp();
  const over = new AbortController();
  let failed: Error | undefined;
  let outcome: Applied['outcome'] | undefined;
  try {
    const applied = await Promise.race([transact(client, to, batch, over.signal), silence.promise]);
    ({ outcome } = applied);
    return applied;
  } catch (error) {
    failed = faultOf(error);
    throw failed;
  } finally {
    over.abort();
    // remembered is what was to be written
    if (outcome !== 'applied') to.memory?.clear();
    clearTimeout(timer);
    to.signal?.removeEventListener('abort', giveUp);
    // a connection that failed is not trusted again: it may still hold the transaction
    client.release(failed);
  }
}

async function transact<Event extends Typed>(
  client: ClientBase,
  to: Applying<Event>,
  batch: Prepared<Event>,
  over: AbortSignal,
): Promise<Applied> {
  await beginWriting(client, to.projection.name);
  const applied = await inTransaction(client, to, batch, over);
  await client.query(applied.outcome === 'applied' ? 'COMMIT' : 'ROLLBACK');
  return applied;
}

/** `over`: it was given up, and whatever is shared is somebody else's now. */
async function inTransaction<Event extends Typed>(
  client: ClientBase,
  applying: Applying<Event>,
  batch: Prepared<Event>,
  over: AbortSignal,
): Promise<Applied> {
  const { projection, cluster_id: clusterId } = applying;
  const id = { projection: projection.name, version: projection.version };
  const phase = applying.loading === true ? await enterLoad(client, id) : 'loading';
  if (phase !== 'loading') return { outcome: 'not_loading', phase };
  const standing = await readStanding(client, projection.name);
  if (standing?.version !== projection.version) throw anotherVersion(id, standing);
  if (applying.loading !== true && !standing.indexed) return { outcome: 'not_indexed' };
  const checkpoint = await lockCheckpoint(client, id, batch.topic, batch.partition, clusterId);
  if (checkpoint.cluster_id !== clusterId)
    throw anotherCluster(batch.topic, batch.partition, checkpoint.cluster_id, clusterId);
  const skipped = batch.events.findIndex(({ offset }) => offset >= checkpoint.next_offset);
  const fresh = skipped === -1 ? [] : batch.events.slice(skipped);
  if (fresh[0] === undefined || fresh[0].offset !== checkpoint.next_offset)
    return { outcome: 'conflict' };
  assert(
    fresh.at(-1)?.offset === checkpoint.next_offset + BigInt(fresh.length - 1),
    `records are missing inside a batch of ${batch.topic}`,
  );

  // what other partitions have written is visible to the loads only after this
  if (projection.lock_table !== undefined)
    await client.query(`SELECT FROM ${projection.lock_table} FOR UPDATE`);
  // what the batch itself put on before, the rest of it has to load
  applying.memory?.at(checkpoint.next_offset, standing.build);
  const foldedAhead =
    skipped === 0
      ? await applying.ahead?.fold.take(batch, {
          build: standing.build,
          next_offset: checkpoint.next_offset,
        })
      : undefined;
  // its fold was asked for over another connection, which may have been silent for longer than this one's patience
  over.throwIfAborted();
  const loaded =
    foldedAhead === undefined
      ? await loadRows(
          client,
          skipped === 0 ? batch.loads : projection.loads(fresh),
          applying.memory,
        )
      : {};
  const folded = foldedAhead ?? projection.fold(loaded, fresh, newCopyRows);
  if (!('broken' in folded)) {
    const to = advanced(checkpoint, batch.fingerprints.slice(skipped));
    const { memory, ahead } = applying;
    if (ahead !== undefined && memory?.holds(folded.changes) === true) {
      const written = await writeGroup(
        client,
        { ahead, memory, build: standing.build, over },
        { whole: folded, to },
      );
      return commit(client, id, checkpoint, { ...written, announced: folded.announced });
    }
    memory?.remember(folded.changes, to.next_offset);
    ahead?.fold.drop();
    return write(client, id, checkpoint, to, folded);
  }
  const { at, reason } = folded.broken;
  const broken = { offset: checkpoint.next_offset + BigInt(at), reason };
  if (at === 0)
    return {
      outcome: 'applied',
      next_offset: checkpoint.next_offset,
      outcomes: NOTHING,
      rows: 0,
      announced: [],
      broken,
    };
  const whole = projection.fold(loaded, fresh.slice(0, at), newCopyRows);
  assert(!('broken' in whole), `a fold of ${projection.name} broke where it had not broken before`);
  const to = advanced(checkpoint, batch.fingerprints.slice(skipped, skipped + at));
  applying.memory?.remember(whole.changes, to.next_offset);
  const applied = await write(client, id, checkpoint, to, whole);
  return applied.outcome === 'applied' ? { ...applied, broken } : applied;
}

async function write(
  client: ClientBase,
  id: ProjectionId,
  from: Checkpoint,
  to: Checkpoint,
  folded: Whole,
): Promise<Applied> {
  const { changes, outcomes, announced } = folded;
  const rows = await writeChanges(client, changes);
  return commit(client, id, from, { to, outcomes, rows, announced });
}

async function commit(
  client: ClientBase,
  id: ProjectionId,
  from: Checkpoint,
  { to, ...written }: Pick<Done, 'outcomes' | 'rows' | 'announced'> & { readonly to: Checkpoint },
): Promise<Applied> {
  if (!(await advanceCheckpoint(client, id, from, to))) return { outcome: 'conflict' };
  return { outcome: 'applied', next_offset: to.next_offset, ...written };
}
