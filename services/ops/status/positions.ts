/** How far each projection is, by its checkpoints and the ends of the log. */
import { setTimeout as after } from 'node:timers/promises';
import type * as answers from '../../../schemas/operations-api/answers.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import type { Kafka, LogEnd } from '../../runtime/kafka/port.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';

export interface Position extends Omit<answers.Position, 'next_offset' | 'lag'> {
  readonly next_offset: bigint;
  readonly lag: bigint | null;
}

type Checkpoint = Omit<Position, 'lag' | 'rate'>;

/** Between two reads of the checkpoints. */
const RATE_MS = 1_000;

/** Reads twice, for the rate. */
export async function readMoving(reader: Reader): Promise<readonly Omit<Position, 'lag'>[]> {
  const before = new Map(
    (await readCheckpoints(reader)).map((position) => [nameOf(position), position.next_offset]),
  );
  const begun = performance.now();
  await after(RATE_MS);
  const positions = await readCheckpoints(reader);
  const seconds = (performance.now() - begun) / 1_000;
  return positions.map((position) => {
    const moved = position.next_offset - (before.get(nameOf(position)) ?? position.next_offset);
    return Object.assign(position, { rate: Math.round(Number(moved) / seconds) });
  });
}

function nameOf({ projection, version, topic, partition }: Checkpoint): string {
  return `${projection} ${version} ${partitionKey(topic, partition)}`;
}

async function readCheckpoints(reader: Reader): Promise<readonly Checkpoint[]> {
  const rows = await reader.rows({
    name: 'ops_positions',
    text: `SELECT c.projection, c.version, c.topic, c.partition, c.next_offset, round(extract(epoch FROM now() - c.updated_at), 1),
                  p.projection IS NOT NULL AND p.indexed_at IS NULL
             FROM projector.checkpoints c LEFT JOIN projector.projections p ON p.projection = c.projection
            WHERE p.beside IS NULL
            ORDER BY c.projection, c.version, c.topic, c.partition`,
    values: [],
  });
  return rows.map(([projection, version, topic, partition, next, idle, isLoading]) => ({
    projection: projection ?? '',
    version: Number(version),
    topic: topic ?? '',
    partition: Number(partition),
    next_offset: BigInt(next ?? 0),
    idle_seconds: Number(idle),
    loading: isLoading === 't',
  }));
}

/** Seconds that a replica is behind its primary; 0 on a primary. */
export async function readReplicaSeconds(reader: Reader): Promise<number> {
  const [row] = await reader.rows({
    name: 'ops_replica',
    // a replica that has all of a silent primary is not behind
    text: `SELECT CASE WHEN NOT pg_is_in_recovery() OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
                       ELSE coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 0) END`,
    values: [],
  });
  return Number(row?.[0]);
}

export function lagOf(
  { topic, partition, next_offset: nextOffset }: Checkpoint,
  log: readonly LogEnd[] | null,
): bigint | null {
  const end = log?.find((entry) => entry.topic === topic && entry.partition === partition);
  return end === undefined ? null : end.high - nextOffset;
}

/** The ends of those topics that exist, and the first offsets younger than `seconds`. */
export function readLog(
  kafka: Kafka,
  topics: readonly string[],
  seconds: number,
): Promise<{ readonly ends: readonly LogEnd[]; readonly recent: ReadonlyMap<string, bigint> }> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.topicNames());
    const time = Date.now() - seconds * 1_000;
    const found = await Promise.all(
      topics
        .filter((topic) => existing.has(topic))
        .map(async (topic) => ({
          ends: await admin.ends(topic),
          recent: [...(await admin.offsetsAt(topic, time))].map(
            ([partition, offset]) => [partitionKey(topic, partition), offset] as const,
          ),
        })),
    );
    return {
      ends: found.flatMap(({ ends }) => ends),
      recent: new Map(found.flatMap(({ recent }) => recent)),
    };
  });
}
