/** Reads a range of one partition as events, a fetch at a time: however long it is, no more of it is in memory. */
import type { Kafka } from 'kafkajs';
import type { Codec } from './codec.ts';
import { readLogBatches, type LogRange } from './range.ts';
import type { LogRecord } from './record.ts';

const FETCH_BYTES = 4 * 1024 * 1024;

/** Hands each record of the range to `take`, decoded, in order. Throws as `readLogRange` does, and `undecodable` for a record that cannot be read. */
export function readLogEvents(
  { kafka, codec }: { readonly kafka: Kafka; readonly codec: Pick<Codec, 'learn' | 'decode'> },
  range: LogRange,
  take: (event: { readonly type: string }, record: LogRecord) => void,
): Promise<void> {
  return readLogBatches(kafka, { bytes_max: FETCH_BYTES, ...range }, async (records) => {
    await codec.learn(records.map(({ value }) => value));
    for (const record of records) take(codec.decode(record.value), record);
  });
}
