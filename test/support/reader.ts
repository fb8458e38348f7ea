/** Readers of the log for tests: opened, read from, and closed when the test has ended. */
import { onTestFinished } from 'vitest';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import { LogLost, partitionKey, type Positions } from '../../services/runtime/kafka/position.ts';
import { LogReader, type LogReaderOptions } from '../../services/runtime/kafka/reader.ts';
import { fingerprint, type LogRecord } from '../../services/runtime/kafka/record.ts';
import { insisting, silentLog } from './kafka.ts';

/** A reader of one topic from its beginning that is not started yet. */
export function makeReader(
  kafka: Kafka,
  topic: string,
  options: Partial<LogReaderOptions> = {},
): LogReader {
  const reader = new LogReader({
    kafka,
    topics: [topic],
    log: silentLog(),
    retrying: insisting,
    ahead_bytes_max: 1 << 20,
    positions: () => Promise.resolve(new Map()),
    ...options,
  });
  onTestFinished(() => reader.close());
  return reader;
}

export async function openReader(
  kafka: Kafka,
  topic: string,
  options: Partial<LogReaderOptions> = {},
): Promise<LogReader> {
  const reader = makeReader(kafka, topic, options);
  await reader.start();
  return reader;
}

/** As if everything before `next` of these records had been applied. */
export function applied(topic: string, records: readonly LogRecord[], next: number): Positions {
  const last = next === 0 ? undefined : records[next - 1];
  return new Map([
    [
      partitionKey(topic, 0),
      { next_offset: BigInt(next), last_record: last === undefined ? null : fingerprint(last) },
    ],
  ]);
}

/** The offsets of the next records, until there are so many. */
export async function take(reader: LogReader, count: number): Promise<number[]> {
  const taken: number[] = [];
  while (taken.length < count) {
    const chunk = await reader.take(10_000, 1 << 30);
    if (chunk === undefined) break;
    if (!reader.isStale(chunk)) taken.push(...chunk.records.map(({ offset }) => Number(offset)));
  }
  return taken;
}

/** The loss with which reading ends. */
export async function lossOf(reader: LogReader): Promise<LogLost> {
  try {
    while ((await reader.take(10_000, 1 << 30)) !== undefined);
  } catch (error) {
    if (error instanceof LogLost) return error;
    throw error;
  }
  throw new Error('the reader was closed');
}
