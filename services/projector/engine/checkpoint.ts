/**
 * How far a projection has come in each partition. A checkpoint moves by compare-and-set, in the
 * transaction of the rows that it stands for.
 */
import type { ClientBase, Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { anotherCluster, partitionKey, type Position } from '../../runtime/kafka/position.ts';
import { DIGEST_OF_NOTHING, digestNext } from '../../runtime/kafka/record.ts';
import { withFaults } from '../../runtime/postgres/pool.ts';

export type ProjectionId = Pick<Projection, 'name' | 'version'>;

export interface Checkpoint {
  readonly topic: string;
  readonly partition: number;
  /** the cluster whose log was read */
  readonly cluster_id: string;
  /** offset of the first record not applied yet */
  readonly next_offset: bigint;
  /** fingerprint of the record at next_offset - 1, to recognise the log; null at the beginning */
  readonly last_record: Buffer | null;
  /** running digest of all records applied */
  readonly digest: Buffer;
}

const COLUMNS = 'topic, partition, cluster_id, next_offset, last_record, digest';

type CheckpointRow = Omit<Checkpoint, 'next_offset'> & { readonly next_offset: string };

function fromRow(row: CheckpointRow): Checkpoint {
  return { ...row, next_offset: BigInt(row.next_offset) };
}

/** The checkpoint at `next_offset`, after the records with these fingerprints. */
export function advanced(
  from: Checkpoint,
  fingerprints: readonly Buffer[],
  next_offset: bigint,
): Checkpoint {
  return {
    ...from,
    next_offset,
    last_record: fingerprints.at(-1) ?? from.last_record,
    digest: fingerprints.reduce(digestNext, from.digest),
  };
}

/** All checkpoints of a projection. */
export async function readCheckpoints(
  client: Pick<ClientBase, 'query'>,
  { name, version }: ProjectionId,
): Promise<readonly Checkpoint[]> {
  const text = `SELECT ${COLUMNS} FROM projector.checkpoints WHERE projection = $1 AND version = $2`;
  const { rows } = await client.query<CheckpointRow>(text, [name, version]);
  return rows.map(fromRow);
}

/** The next offsets, by `partitionKey`. */
export function offsetsOf(checkpoints: readonly Checkpoint[]): ReadonlyMap<string, bigint> {
  return new Map(
    checkpoints.map(({ topic, partition, next_offset: nextOffset }) => [
      partitionKey(topic, partition),
      nextOffset,
    ]),
  );
}

/**
 * Where to read from, by `partitionKey`. Throws `LogLost` for the checkpoint of another cluster.
 */
export async function readPositions(
  kafka: Kafka,
  pool: Pool,
  id: ProjectionId,
): Promise<{ readonly cluster_id: string; readonly positions: ReadonlyMap<string, Position> }> {
  const clusterId = await withAdmin(kafka, (admin) => admin.clusterId());
  const positions = new Map<string, Position>();
  for (const checkpoint of await withFaults(readCheckpoints(pool, id))) {
    const { topic, partition, cluster_id, next_offset, last_record } = checkpoint;
    if (cluster_id !== clusterId) throw anotherCluster(topic, partition, cluster_id, clusterId);
    positions.set(partitionKey(topic, partition), { next_offset, last_record });
  }
  return { cluster_id: clusterId, positions };
}

/**
 * Locks a checkpoint until the transaction ends, so that two projectors take turns. Undefined:
 * there is none yet. Throws `LogLost` for the checkpoint of another cluster.
 */
export async function lockFoundCheckpoint(
  client: ClientBase,
  { name, version }: ProjectionId,
  topic: string,
  partition: number,
  clusterId: string,
): Promise<Checkpoint | undefined> {
  const { rows } = await client.query<CheckpointRow>({
    name: 'checkpoint_lock',
    text: `SELECT ${COLUMNS} FROM projector.checkpoints WHERE projection = $1 AND version = $2 AND topic = $3 AND partition = $4 FOR UPDATE`,
    values: [name, version, topic, partition],
  });
  const [found] = rows;
  if (found === undefined) return undefined;
  if (found.cluster_id !== clusterId)
    throw anotherCluster(topic, partition, found.cluster_id, clusterId);
  return fromRow(found);
}

/** The checkpoint, locked by `lockFoundCheckpoint`; created at offset 0 where there is none. */
export async function lockCheckpoint(
  client: ClientBase,
  id: ProjectionId,
  topic: string,
  partition: number,
  clusterId: string,
): Promise<Checkpoint> {
  const place = [client, id, topic, partition, clusterId] as const;
  let found = await lockFoundCheckpoint(...place);
  if (found === undefined) {
    await client.query(
      `INSERT INTO projector.checkpoints (projection, version, topic, partition, cluster_id, next_offset, last_record, digest)
       VALUES ($1, $2, $3, $4, $5, 0, NULL, $6) ON CONFLICT DO NOTHING`,
      [id.name, id.version, topic, partition, clusterId, DIGEST_OF_NOTHING],
    );
    found = await lockFoundCheckpoint(...place);
  }
  if (found === undefined)
    throw new Error(`the checkpoint of ${id.name} on ${topic} vanished while it was created`);
  return found;
}

/** Moves a checkpoint from where it was read; false when another process has moved it. */
export async function advanceCheckpoint(
  client: ClientBase,
  { name, version }: ProjectionId,
  from: Checkpoint,
  to: Checkpoint,
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'checkpoint_advance',
    text: `UPDATE projector.checkpoints SET next_offset = $6, last_record = $7, digest = $8, updated_at = now()
            WHERE projection = $1 AND version = $2 AND topic = $3 AND partition = $4 AND next_offset = $5`,
    values: [
      name,
      version,
      from.topic,
      from.partition,
      from.next_offset,
      to.next_offset,
      to.last_record,
      to.digest,
    ],
  });
  return rowCount === 1;
}
