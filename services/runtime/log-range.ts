/** Reads a range of one partition: for those who have to know what the log says before they write. */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { withAdmin, kafkaFault } from './kafka-topics.ts';
import { FETCH_BYTES_MAX } from './kafka.ts';
import { toLogRecord, type LogRecord } from './log-record.ts';

export interface LogEnds {
  readonly low: bigint;
  /** offset of the next record to be written */
  readonly high: bigint;
}

/** Throws a fault with retry when the brokers do not answer. */
export function readLogEnds(kafka: Kafka, topic: string, partition: number): Promise<LogEnds> {
  return withAdmin(kafka, async (admin) => {
    const found = (await admin.fetchTopicOffsets(topic)).find((entry) => entry.partition === partition);
    return { low: BigInt(found?.low ?? '0'), high: BigInt(found?.high ?? '0') };
  });
}

/**
 * Hands the records of offsets `from` to `to` - 1 to `visit`, in order, through a consumer group of its own that is deleted afterwards. Throws a fault with
 * retry when the brokers fail meanwhile or the range is not there any more; `visit` has then seen a part.
 */
export async function readLogRange(kafka: Kafka, topic: string, partition: number, from: bigint, to: bigint, visit: (record: LogRecord) => void): Promise<void> {
  if (from >= to) return;
  const groupId = `range-${randomUUID()}`;
  const consumer = kafka.consumer({ groupId, allowAutoTopicCreation: false, maxBytes: FETCH_BYTES_MAX, maxBytesPerPartition: FETCH_BYTES_MAX, maxWaitTimeInMs: 100 });
  const done = Promise.withResolvers<void>();
  let next = from;
  consumer.on(consumer.events.GROUP_JOIN, () => {
    consumer.seek({ topic, partition, offset: next.toString() });
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => done.reject(payload.error));
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: ({ batch, resolveOffset }) => {
        if (batch.partition !== partition) return Promise.resolve();
        for (const message of batch.messages) {
          const record = toLogRecord(message);
          if (record.offset < next || next >= to) continue;
          if (record.offset > next) {
            done.reject(new Error(`records ${next} to ${record.offset - 1n} are missing`));
            return Promise.resolve();
          }
          visit(record);
          next++;
        }
        const last = batch.messages.at(-1);
        if (last !== undefined) resolveOffset(last.offset);
        if (next >= to) done.resolve();
        return Promise.resolve();
      },
    });
    await done.promise;
  } catch (cause) {
    throw kafkaFault(`records ${from} to ${to - 1n} of ${topic}/${partition} were not read`, cause);
  } finally {
    await consumer.disconnect();
    await withAdmin(kafka, (admin) => admin.deleteGroups([groupId])).catch(() => undefined);
  }
}
