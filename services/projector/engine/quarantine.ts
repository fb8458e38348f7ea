/**
 * A poison record halts its projection until a person has it skipped. The record is listed in a
 * table meanwhile; skipping it is one transaction with the checkpoint.
 */
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { PROJECTOR_SKIPS, TOPICS, type Topic } from '../../../schemas/topics.ts';
import { advanceCheckpoint, advanced, lockCheckpoint, type ProjectionId } from './checkpoint.ts';
import { anotherVersion, beginWriting, readTableVersion } from '../tables/live-tables.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import { unreadable, type LogLost } from '../../runtime/kafka/position.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { faultOf, withFaults } from '../../runtime/postgres/pool.ts';
import type { Skips } from '../../runtime/kafka/skips.ts';
import type { RecordAt } from '../../runtime/kafka/position.ts';
import { untilAborted } from '../../runtime/process/retry.ts';

const POLL_MS = 1_000;

/** The topics to read for this projection: its own, and the decisions to skip records. */
export function topicsOf({ topics }: Pick<Projection, 'topics'>): readonly Topic[] {
  return TOPICS.filter(({ name }) => topics.includes(name) || name === PROJECTOR_SKIPS.name);
}

export interface SkipOptions {
  readonly projection: ProjectionId;
  readonly pool: Pool;
  readonly cluster_id: string;
  readonly skips: Skips;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  /**
   * called when the projection halts, and with undefined when it goes on; a record that nobody has
   * skipped throws `LogLost` when not given
   */
  readonly onHalted?: ((lost: LogLost | undefined) => void) | undefined;
}

/**
 * Waits until a person skips the record, then moves the checkpoint over it; false when the
 * checkpoint was moved elsewhere.
 */
export async function skipPoison(
  options: SkipOptions,
  record: RecordAt,
  reason: string,
): Promise<boolean> {
  const { projection, pool, skips, signal, retrying } = options;
  if (!skips.has(record)) await retrying('reading the skips', () => skips.refresh());
  if (!skips.has(record)) await awaitSkip(options, record, reason);
  if (signal.aborted) return false;
  return await retrying('skipping a record', () =>
    skipRecord(pool, projection, options.cluster_id, record),
  );
}

async function awaitSkip(options: SkipOptions, record: RecordAt, why: string): Promise<void> {
  const { projection, pool, skips, log, signal, retrying, onHalted } = options;
  const { topic, partition, offset, fingerprint } = record;
  const lost = unreadable(record, why);
  if (onHalted === undefined) throw lost;
  const text = `INSERT INTO projector.quarantine (projection, topic, partition, record_offset, fingerprint, error) VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT (projection, topic, partition, record_offset) DO UPDATE SET fingerprint = excluded.fingerprint, error = excluded.error`;
  const values = [projection.name, topic, partition, offset, fingerprint, why];
  await retrying('quarantining a record', () => withFaults(pool.query(text, values)));
  const { message: reason, remedy } = lost;
  onHalted(lost);
  log.error({ projection: projection.name, reason, remedy }, 'projection halted');
  while (!skips.has(record)) {
    await untilAborted(POLL_MS, signal);
    if (signal.aborted) return;
    await retrying('reading the skips', () => skips.refresh());
  }
  log.warn({ projection: projection.name, reason }, 'record skipped by a person: projecting again');
  onHalted(undefined);
}

/**
 * Moves the checkpoint over this record, which changes no row. False when another process has moved
 * the checkpoint. Throws faults, and `LogLost` for the checkpoint of another cluster; a retry is
 * always right.
 */
export async function skipRecord(
  pool: Pool,
  projection: ProjectionId,
  clusterId: string,
  record: RecordAt,
): Promise<boolean> {
  const { topic, partition, offset, fingerprint } = record;
  const client = await withFaults(pool.connect());
  let failed: Error | undefined;
  try {
    await beginWriting(client, projection.name);
    const tables = await readTableVersion(client, projection.name);
    if (tables?.version !== projection.version) throw anotherVersion(projection, tables);
    const from = await lockCheckpoint(client, projection, topic, partition, clusterId);
    const isMoved =
      from.next_offset === offset &&
      (await advanceCheckpoint(
        client,
        projection,
        from,
        advanced(from, [fingerprint], offset + 1n),
      ));
    await client.query(
      `UPDATE projector.quarantine SET skipped_at = coalesce(skipped_at, now())
        WHERE projection = $1 AND topic = $2 AND partition = $3 AND record_offset = $4`,
      [projection.name, topic, partition, offset],
    );
    await client.query(isMoved ? 'COMMIT' : 'ROLLBACK');
    return isMoved;
  } catch (error) {
    failed = faultOf(error);
    throw failed;
  } finally {
    // a failed connection may still hold the transaction: it is closed
    client.release(failed);
  }
}
