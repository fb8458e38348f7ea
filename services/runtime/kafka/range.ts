/** Reads a range of one partition, for processes that must know the log before they write. */
import { Fault } from '../process/errors.ts';
import { NO_LOG } from '../process/log.ts';
import type { Retrying } from './ends.ts';
import type { Kafka } from './port.ts';
import { partitionKey } from './position.ts';
import { LogReader } from './reader.ts';
import type { LogRecord } from './record.ts';

export interface LogRange {
  readonly topic: string;
  readonly partition: number;
  /** first offset */
  readonly from: bigint;
  /** the offset after the last one */
  readonly to: bigint;
  /** how much is fetched at once; a batch of one writer is never cut */
  readonly bytes_max?: number;
  /** retries faults of the brokers; by default they end the reading */
  readonly retrying?: Retrying | undefined;
}

/** Calls `take` with each record of offsets `from` to `to` - 1. Throws as `readLogBatches`. */
export function readLogRange(
  kafka: Kafka,
  topic: string,
  partition: number,
  from: bigint,
  to: bigint,
  take: (record: LogRecord) => void,
): Promise<void> {
  return readLogBatches(kafka, { topic, partition, from, to }, (records) => {
    for (const record of records) take(record);
  });
}

/**
 * Calls `take` with the records of the range, in order, a fetch at a time; one more is under way
 * meanwhile. Memory does not depend on the length of the range. Throws a fault with retry when the
 * brokers fail or the log does not hold the range, `LogLost` where a record is missing, and what
 * `take` throws; `take` may have had a part by then.
 */
export async function readLogBatches(
  kafka: Kafka,
  { topic, partition, from, to, bytes_max, retrying = once }: LogRange,
  take: (records: readonly LogRecord[]) => void | Promise<void>,
): Promise<void> {
  if (from >= to) return;
  const key = partitionKey(topic, partition);
  const reader = new LogReader({
    kafka,
    topics: [topic],
    log: NO_LOG,
    retrying,
    positions: () => Promise.resolve(new Map([[key, { next_offset: from, last_record: null }]])),
    ends: new Map([[key, to]]),
    // one fetch
    ahead_bytes_max: 1,
    ...(bytes_max === undefined ? {} : { fetch_bytes: bytes_max }),
  });
  try {
    await reader.start();
    for (let next = from; next < to;) {
      const chunk = await reader.take(Infinity, Infinity);
      if (chunk === undefined) throw new Fault('kafka', missing(key), { retry: true });
      if (chunk.records.length > 0) await take(chunk.records);
      next = chunk.next;
    }
  } finally {
    await reader.close();
  }
}

function missing(key: string): string {
  return `there is no ${key}: create the topic with all its partitions, with the commands that infra/kafka/commands.ts prints, or name a partition that it has`;
}

const once: Retrying = (_what, attempt) => attempt();
