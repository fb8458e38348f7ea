/** Reads a range of one partition, for processes that must know the log before they write. */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { FETCH_BYTES_MAX, kafkaFault, withAdmin } from './client.ts';
import type { Decoder } from './codec.ts';
import { readLogEnds } from './ends.ts';
import { lossBy } from './position.ts';
import { toLogRecord, type LogRecord } from './record.ts';

const EVENTS_FETCH_BYTES = 4 * 1024 * 1024;
/** How long a new group may fail to start: after a broker's start kafkajs must join again. */
const JOIN_MS = 10_000;

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

/**
 * Calls `take` with each record, decoded. Throws as `readLogBatches`, `undecodable`, and `LogLost`
 * where `take` finds a broken chain of records.
 */
export function readLogEvents(
  { kafka, codec }: { readonly kafka: Kafka; readonly codec: Decoder },
  range: LogRange,
  take: (event: { readonly type: string }, record: LogRecord) => void,
): Promise<void> {
  return readLogBatches(kafka, { bytes_max: EVENTS_FETCH_BYTES, ...range }, async (records) => {
    await codec.learn(records.map(({ value }) => value));
    try {
      for (const record of records) take(codec.decode(record.value, record.headers), record);
    } catch (error) {
      throw lossBy(error, range.topic, range.partition);
    }
  });
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
 * Calls `take` with the records of the range, in order, a fetch at a time: memory does not depend
 * on the length of the range. Reads through a consumer group of its own, which it deletes
 * afterwards. Throws a fault with retry when the brokers fail or the log does not hold the range,
 * and what `take` throws; `take` may have had a part by then.
 */
export async function readLogBatches(
  kafka: Kafka,
  { topic, partition, from, to, bytes_max: bytes = FETCH_BYTES_MAX }: LogRange,
  take: (records: readonly LogRecord[]) => void | Promise<void>,
): Promise<void> {
  if (from >= to) return;
  const what = `records ${from} to ${to - 1n} of ${topic}/${partition} were not read`;
  const { low, high } = await readLogEnds(kafka, topic, partition);
  if (low > from || high < to)
    throw kafkaFault(what, new Error(`the log holds records ${low} to ${high - 1n}`));
  const groupId = `range-${randomUUID()}`;
  const consumer = kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    maxBytes: bytes,
    maxBytesPerPartition: bytes,
    maxWaitTimeInMs: 100,
  });
  const done = Promise.withResolvers<void>();
  let refused: { readonly error: unknown } | undefined;
  let next = from;
  const begun = performance.now();
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    const others = (payload.memberAssignment[topic] ?? []).filter((each) => each !== partition);
    consumer.pause([{ topic, partitions: others }]);
    consumer.seek({ topic, partition, offset: next.toString() });
  });
  consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
    if (!restart || next > from || performance.now() - begun > JOIN_MS) done.reject(error);
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async (payload) => {
        if (next >= to || refused !== undefined) return;
        const { records, missing } = recordsFrom(payload.batch.messages.map(toLogRecord), next, to);
        const end = next + BigInt(records.length);
        // moved before `take`: records that are fetched again meanwhile are skipped
        next = end;
        try {
          await take(records);
        } catch (error) {
          refused = { error };
        }
        if (records.length > 0) payload.resolveOffset((end - 1n).toString());
        if (missing !== undefined) done.reject(new Error(missing));
        if (end >= to || refused !== undefined) done.resolve();
      },
    });
    await done.promise;
  } catch (cause) {
    throw kafkaFault(what, cause);
  } finally {
    await consumer.disconnect();
    await withAdmin(kafka, (admin) => admin.deleteGroups([groupId])).catch(() => undefined);
  }
  if (refused !== undefined) throw refused.error;
}

/** The fetched records from offset `from` on, up to a gap or to `to`. */
function recordsFrom(
  fetched: readonly LogRecord[],
  from: bigint,
  to: bigint,
): { readonly records: readonly LogRecord[]; readonly missing?: string } {
  const records: LogRecord[] = [];
  for (const record of fetched) {
    const next = from + BigInt(records.length);
    if (next >= to) break;
    if (record.offset !== next)
      return { records, missing: `record ${next} is missing, the log goes on at ${record.offset}` };
    records.push(record);
  }
  return { records };
}
