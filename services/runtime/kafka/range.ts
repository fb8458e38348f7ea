/** Reads a range of one partition, for processes that must know the log before they write. */
import { disconnect } from './client.ts';
import { readLogEnds } from './ends.ts';
import { PartitionLog } from './partition-log.ts';
import { kafkaFault, type Kafka } from './port.ts';
import type { LogRecord } from './record.ts';

const FETCH_BYTES = 8 * 1024 * 1024;
const WAIT_MS = 500;

export interface LogRange {
  readonly topic: string;
  readonly partition: number;
  /** first offset */
  readonly from: bigint;
  /** the offset after the last one */
  readonly to: bigint;
  /** how much is fetched at once; a batch of one writer is never cut */
  readonly bytes_max?: number;
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
  range: LogRange,
  take: (records: readonly LogRecord[]) => void | Promise<void>,
): Promise<void> {
  const { topic, partition, from, to, bytes_max = FETCH_BYTES } = range;
  if (from >= to) return;
  const what = `records ${from} to ${to - 1n} of ${topic}/${partition} were not read`;
  const fault = (cause: unknown): never => {
    throw kafkaFault(what, cause);
  };
  const fetcher = kafka.fetcher();
  try {
    await assertHeld(kafka, range);
    const log = new PartitionLog({
      fetcher,
      topic,
      topic_id: await fetcher.topicId(topic),
      partition,
      next_offset: from,
      last_record: null,
      bytes_max,
      wait_ms: WAIT_MS,
    });
    let reading = log.read();
    for (let position = from, isOpen = true; isOpen;) {
      const records = await reading.catch(fault);
      isOpen = log.next < to;
      // the end of the log may have been lost meanwhile
      if (log.next === position) await assertHeld(kafka, range);
      position = log.next;
      if (isOpen) reading = log.read();
      // an error is thrown where the records are awaited
      reading.catch(() => undefined);
      const wanted = records.filter(({ offset }) => offset < to);
      if (wanted.length > 0) await take(wanted);
    }
  } finally {
    await disconnect(fetcher);
  }
}

async function assertHeld(kafka: Kafka, { topic, partition, from, to }: LogRange): Promise<void> {
  const { low, high } = await readLogEnds(kafka, topic, partition);
  if (low > from || high < to)
    throw kafkaFault(
      `records ${from} to ${to - 1n} of ${topic}/${partition} were not read`,
      new Error(`the log holds records ${low} to ${high - 1n}`),
    );
}
