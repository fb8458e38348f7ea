/** One batch, one transaction: the checkpoint is locked, the batch folded into it, rows and checkpoint committed together, or nothing at all. */
import type { ClientBase, Pool } from 'pg';
import type { Changes, Folded, Loaded, LoadedRow, Outcomes, Projection } from '../../projections/projection.ts';
import { advanceCheckpoint, lockCheckpoint, type Checkpoint } from './checkpoint.ts';
import { digestNext } from './log-record.ts';
import { faultOf } from './postgres.ts';
import type { Prepared } from './prepare.ts';
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
  | { readonly outcome: 'conflict' };

export interface Applying<Event> {
  readonly pool: Pool;
  readonly projection: Projection<Event>;
  readonly cluster_id: string;
}

/** Applies what of the batch is not applied yet. Any failure leaves nothing behind and is thrown as a fault; trying again is always right. */
export async function applyBatch<Event>(to: Applying<Event>, batch: Prepared<Event>): Promise<Applied> {
  const client = await to.pool.connect().catch((error: unknown) => {
    throw faultOf(error);
  });
  let failed: Error | undefined;
  try {
    await client.query('BEGIN');
    const applied = await inTransaction(client, to, batch);
    await client.query(applied.outcome === 'applied' ? 'COMMIT' : 'ROLLBACK');
    return applied;
  } catch (error) {
    failed = faultOf(error);
    throw failed;
  } finally {
    // a connection that failed is not trusted again: it may still hold the transaction
    client.release(failed);
  }
}

async function inTransaction<Event>(client: ClientBase, { projection, cluster_id: clusterId }: Applying<Event>, batch: Prepared<Event>): Promise<Applied> {
  const id = { projection: projection.name, version: projection.version };
  const checkpoint = await lockCheckpoint(client, id, batch.topic, batch.partition, clusterId);
  const skipped = batch.events.findIndex(({ offset }) => offset >= checkpoint.next_offset);
  const fresh = skipped === -1 ? [] : batch.events.slice(skipped);
  if (fresh[0] === undefined || fresh[0].offset !== checkpoint.next_offset) return { outcome: 'conflict' };

  const loaded = await load(client, projection, fresh);
  let folded = projection.fold(loaded, fresh);
  let count = fresh.length;
  let broken: { offset: bigint; reason: string } | undefined;
  if ('broken' in folded) {
    count = folded.broken.at;
    broken = { offset: fresh[count]?.offset ?? checkpoint.next_offset, reason: folded.broken.reason };
    folded = projection.fold(loaded, fresh.slice(0, count));
  }
  const { changes, outcomes, announced } = whole(folded);
  const rows = await writeChanges(client, changes);
  const to = advanced(checkpoint, batch.fingerprints.slice(skipped, skipped + count));
  if (count > 0 && !(await advanceCheckpoint(client, id, checkpoint, to))) return { outcome: 'conflict' };
  return { outcome: 'applied', next_offset: to.next_offset, outcomes, rows, announced, ...(broken === undefined ? {} : { broken }) };
}

async function load<Event>(client: ClientBase, projection: Projection<Event>, events: Parameters<Projection<Event>['loads']>[0]): Promise<Loaded> {
  const loaded: Record<string, readonly LoadedRow[]> = {};
  for (const { name, text, values } of projection.loads(events)) {
    const { rows } = await client.query<LoadedRow>({ name: `load_${name}`, text, values: [...values] });
    loaded[name] = rows;
  }
  return loaded;
}

/** What stands before a break cannot itself be broken. */
function whole(folded: Folded): { changes: Changes; outcomes: Outcomes; announced: readonly string[] } {
  if ('broken' in folded) throw new Error(`a fold broke at ${folded.broken.at} of what it had folded before: ${folded.broken.reason}`);
  return folded;
}

function advanced(checkpoint: Checkpoint, fingerprints: readonly Buffer[]): Checkpoint {
  return {
    ...checkpoint,
    next_offset: checkpoint.next_offset + BigInt(fingerprints.length),
    last_record: fingerprints.at(-1) ?? checkpoint.last_record,
    digest: fingerprints.reduce(digestNext, checkpoint.digest),
  };
}
