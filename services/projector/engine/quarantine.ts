/** What halts a projection until a person has it skipped: kept in a table for people to see, and passed over in one transaction with the checkpoint. */
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { advanceCheckpoint, lockCheckpoint, type ProjectionId } from './checkpoint.ts';
import { anotherVersion, beginWriting, readStanding } from '../tables/live-tables.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import { anotherCluster, unreadable, type LogLost } from '../../runtime/kafka/position.ts';
import { digestNext } from '../../runtime/kafka/record.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { faultOf, withFaults } from '../../runtime/postgres/pool.ts';
import type { RecordAt, Skips } from './skips.ts';
import { untilAborted } from '../../runtime/process/retry.ts';

/** How often it is looked whether a person has decided. */
const LOOK_AGAIN_MS = 1_000;

export interface Passing {
  readonly projection: Pick<Projection, 'name' | 'version'>;
  readonly pool: Pool;
  readonly cluster_id: string;
  /** undefined: nobody may have anything passed over */
  readonly skips: Skips | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  /** told that it stands still, and with undefined when it goes on */
  readonly onHalted: (lost: LogLost | undefined) => void;
}

/** Passes over a record once a person has decided so, and waits for that; true when the checkpoint moved here. Throws `LogLost` where nobody may. */
export async function passOver(
  passing: Passing,
  record: RecordAt,
  reason: string,
): Promise<boolean> {
  const { projection, pool, skips, signal, retrying } = passing;
  if (skips === undefined) throw unreadable(record.topic, record.partition, record.offset, reason);
  if (!skips.has(record)) await standStill(passing, skips, record, reason);
  if (signal.aborted) return false;
  const id = { projection: projection.name, version: projection.version };
  return await retrying('passing over a record', () =>
    skipRecord(pool, id, passing.cluster_id, record),
  );
}

async function standStill(
  passing: Passing,
  skips: Skips,
  record: RecordAt,
  why: string,
): Promise<void> {
  const { projection, pool, log, signal, retrying, onHalted } = passing;
  await retrying('noting what cannot be applied', () =>
    noteQuarantined(pool, projection.name, record, why),
  );
  const lost = unreadable(record.topic, record.partition, record.offset, why, projection.name);
  const { message: reason, remedy } = lost;
  onHalted(lost);
  log.error({ projection: projection.name, reason, remedy }, 'projection halted');
  while (!skips.has(record)) {
    await untilAborted(LOOK_AGAIN_MS, signal);
    if (signal.aborted) return;
    await retrying('reading what is passed over', () => skips.refresh());
  }
  log.warn(
    { projection: projection.name, reason },
    'a person has this record passed over: projecting again',
  );
  onHalted(undefined);
}

/** Notes that a projection halts at this record. Again and again is once. Throws faults. */
async function noteQuarantined(
  pool: Pool,
  projection: string,
  record: RecordAt,
  error: string,
): Promise<void> {
  const { topic, partition, offset, fingerprint } = record;
  const text = `INSERT INTO projector.quarantine (projection, topic, partition, record_offset, fingerprint, error) VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT (projection, topic, partition, record_offset) DO UPDATE SET fingerprint = excluded.fingerprint, error = excluded.error`;
  await withFaults(pool.query(text, [projection, topic, partition, offset, fingerprint, error]));
}

/**
 * Moves the checkpoint over this record, which changes no row. False when the checkpoint stands elsewhere: somebody else has moved it. Throws faults, and
 * `LogLost` for another cluster's checkpoint; trying again is always right.
 */
export async function skipRecord(
  pool: Pool,
  id: ProjectionId,
  clusterId: string,
  record: RecordAt,
): Promise<boolean> {
  const { topic, partition, offset, fingerprint } = record;
  const client = await withFaults(pool.connect());
  let failed: Error | undefined;
  try {
    await beginWriting(client, id.projection);
    const standing = await readStanding(client, id.projection);
    if (standing?.version !== id.version) throw anotherVersion(id, standing);
    const from = await lockCheckpoint(client, id, topic, partition, clusterId);
    if (from.cluster_id !== clusterId)
      throw anotherCluster(topic, partition, from.cluster_id, clusterId);
    const to = {
      ...from,
      next_offset: offset + 1n,
      last_record: fingerprint,
      digest: digestNext(from.digest, fingerprint),
    };
    const isMoved = from.next_offset === offset && (await advanceCheckpoint(client, id, from, to));
    await client.query(
      `UPDATE projector.quarantine SET skipped_at = coalesce(skipped_at, now())
        WHERE projection = $1 AND topic = $2 AND partition = $3 AND record_offset = $4`,
      [id.projection, topic, partition, offset],
    );
    await client.query(isMoved ? 'COMMIT' : 'ROLLBACK');
    return isMoved;
  } catch (error) {
    failed = faultOf(error);
    throw failed;
  } finally {
    // a connection that failed is not trusted again: it may still hold the transaction
    client.release(failed);
  }
}
