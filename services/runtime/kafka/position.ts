/** The position of a reader, and the ways in which a log can differ from the one that was read. */
import { projectorOf } from '../process/config.ts';

/** A record of the log, by its position and its content. */
export interface RecordAt {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly fingerprint: Buffer;
}

export interface Position {
  /** offset of the first record not applied yet */
  readonly next_offset: bigint;
  /** fingerprint of the record before it; null at the beginning */
  readonly last_record: Buffer | null;
}

/** An end below the position must be seen so often in a row: brokers may start with an old one. */
export const CONFIRMATIONS = 3;

/** By `partitionKey`; a partition without a position begins at 0. */
export type Positions = ReadonlyMap<string, Position>;

export function partitionKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** The log is not the one that was read. The service halts, and a person decides. */
export class LogLost extends Error {
  readonly remedy: string;

  constructor(reason: string, remedy: string) {
    super(reason);
    this.name = 'LogLost';
    this.remedy = remedy;
  }

  /** The remedy, with this projection and its service in its commands. */
  remedyFor(projection: string): string {
    const { remedy } = this;
    return remedy
      .replaceAll('PROJECTOR', projectorOf(projection))
      .replaceAll('PROJECTION', projection);
  }
}

const REBUILD =
  'or, if this log is the right one from now on, rebuild the tables from it: npx ops rebuild PROJECTION, then npx ops restart PROJECTOR';

export function recreated(topic: string, partition: number, offset: bigint): LogLost {
  return new LogLost(
    `${topic}/${partition}: the record at offset ${offset} is not the one that was applied: the topic was deleted and created again, its end was replaced, this is another cluster, or somebody changed the checkpoint in Postgres`,
    `ask npx ops verify all first: where other projections of ${topic} are what the log says, the log is right; else point the service to the right cluster or restore the topic, ${REBUILD}`,
  );
}

export function replaced(topic: string, partition: number, was: string, is: string): LogLost {
  return new LogLost(
    `${topic}/${partition}: the topic was deleted and created again while it was read (its id was ${was}, and is ${is})`,
    `restore the topic, ${REBUILD}`,
  );
}

export function anotherCluster(topic: string, partition: number, was: string, is: string): LogLost {
  return new LogLost(
    `${topic}/${partition}: the checkpoint was written against Kafka cluster ${was}, this one is ${is}`,
    `correct APP_KAFKA_BROKERS, ${REBUILD}`,
  );
}

export function startLost(
  topic: string,
  partition: number,
  low: bigint,
  expected: bigint,
): LogLost {
  return new LogLost(
    `${topic}/${partition}: the log begins at offset ${low}, records 0 to ${low - 1n} were deleted (this projection continues at ${expected}): a log that does not begin at 0 can prove nothing any more`,
    `restore the deleted records from a backup or a replica and look for who deleted them (retention.ms must be -1), then start again`,
  );
}

export function endLost(topic: string, partition: number, high: bigint, expected: bigint): LogLost {
  return new LogLost(
    `${topic}/${partition}: the log ends at offset ${high}, below the ${expected} that was applied: its end was lost, or the topic was deleted and created again`,
    `restore the topic, ${REBUILD}`,
  );
}

/** For a lenient reader, of which only its own position has to be in the log. */
export function offsetLost(topic: string, partition: number, next: bigint): LogLost {
  return new LogLost(
    `${topic}/${partition}: the log does not hold offset ${next} any more: its records were deleted, or its end was lost`,
    'look where it begins and ends (ops status), and tail from there',
  );
}

export function hole(topic: string, partition: number, expected: bigint, got: bigint): LogLost {
  return new LogLost(
    `${topic}/${partition}: the log has no record at offset ${expected}, after the one before it comes ${got}: it was compacted, or a part of it is lost`,
    'look at who writes to this topic and whether cleanup.policy is delete; restore the records that are missing',
  );
}

/** A record cannot be decoded or folded. */
export function unreadable({ topic, partition, offset }: RecordAt, reason: string): LogLost {
  const place = `${topic}/${partition}`;
  return new LogLost(
    `${place}: the record at offset ${offset} cannot be applied: ${reason}`,
    `look at that record (npx ops tail ${topic} --partition ${partition} --from ${offset} --limit 1) and at who wrote it: its header source names a writer of this system. Newer software: upgrade this one. A record before it was changed, or the registry has other schemas: restore that, then npm run up starts what has halted. Otherwise take away its writer's access to the brokers, and skip it for good and for every reader, which then go on by themselves: npx ops quarantine skip ${place}@${offset} --actor NAME --reason TEXT; afterwards npx ops audit`,
  );
}
