/** Reads a range of one partition: for those who have to know what the log says before they write. */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { withAdmin, kafkaFault } from './topics.ts';
import { FETCH_BYTES_MAX } from './client.ts';
import { toLogRecord, type LogRecord } from './record.ts';

export interface LogEnds {
  readonly low: bigint;
  /** offset of the next record to be written */
  readonly high: bigint;
}

/** How long a group may take to come up: kafkajs joins again by itself, and a broker that has just started needs it to. */
const JOIN_MS = 10_000;

/** Throws a fault with retry when the brokers do not answer. */
export function readLogEnds(kafka: Kafka, topic: string, partition: number): Promise<LogEnds> {
  return withAdmin(kafka, async (admin) => {
    const found = (await admin.fetchTopicOffsets(topic)).find(
      (entry) => entry.partition === partition,
    );
    return { low: BigInt(found?.low ?? '0'), high: BigInt(found?.high ?? '0') };
  });
}

/**
 * Hands the records of offsets `from` to `to` - 1 to `visit`, in order, through a consumer group of its own that is deleted afterwards. Throws a fault with
 * retry when the brokers fail meanwhile or the range is not there any more, and what `visit` throws; `visit` has then seen a part.
 */
export function readLogRange(
  kafka: Kafka,
  topic: string,
  partition: number,
  from: bigint,
  to: bigint,
  visit: (record: LogRecord) => void,
): Promise<void> {
  return readLogBatches(kafka, { topic, partition, from, to }, (records) => {
    for (const record of records) visit(record);
  });
}

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

/** The same, a fetch at a time: the next one is handed on once `take` is done with the one before, so that memory does not depend on how long the range is. */
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
        const { records, missing } = fromBatch(payload.batch.messages.map(toLogRecord), next, to);
        const end = next + BigInt(records.length);
        // moved before it is taken: what is fetched again meanwhile begins behind it
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

/** What of a fetch belongs to the range and follows on it; and what is missing then, if anything. */
function fromBatch(
  fetched: readonly LogRecord[],
  from: bigint,
  to: bigint,
): { readonly records: readonly LogRecord[]; readonly missing: string | undefined } {
  const records: LogRecord[] = [];
  for (const record of fetched) {
    const next = from + BigInt(records.length);
    if (next >= to) break;
    if (record.offset !== next)
      return { records, missing: `record ${next} is missing, the log goes on at ${record.offset}` };
    records.push(record);
  }
  return { records, missing: undefined };
}
