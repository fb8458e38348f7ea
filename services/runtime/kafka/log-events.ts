/** Reads the events of a range of one partition, over what a person has had skipped. */
import { poisonReason, type Decoder } from './codec.ts';
import { learnSchemas } from './decode.ts';
import type { Kafka } from './port.ts';
import { readLogBatches, type LogRange } from './range.ts';
import { fingerprint, type LogRecord } from './record.ts';
import { Skips } from './skips.ts';

const EVENTS_FETCH_BYTES = 4 * 1024 * 1024;

/**
 * Calls `take` with each record, decoded; it may throw `undecodable` or `BrokenChain`, before it
 * has changed anything. A record that cannot be decoded or taken goes to `onSkipped` where a person
 * has it skipped. Throws as `readLogBatches`, and `unreadable_record` for any other.
 */
export function readLogEvents(
  { kafka, codec }: { readonly kafka: Kafka; readonly codec: Decoder },
  range: LogRange,
  take: (event: { readonly type: string }, record: LogRecord) => void,
  onSkipped: (record: LogRecord) => void = () => undefined,
): Promise<void> {
  const { topic, partition } = range;
  const skips = new Skips({ kafka, codec });
  return readLogBatches(kafka, { bytes_max: EVENTS_FETCH_BYTES, ...range }, async (records) => {
    await learnSchemas(codec, { topic, partition, records });
    for (const record of records) {
      try {
        take(codec.decode(record.value, record.headers), record);
      } catch (error) {
        const { offset } = record;
        const at = { topic, partition, offset, fingerprint: fingerprint(record) };
        await skips.demand(at, poisonReason(error));
        onSkipped(record);
      }
    }
  });
}
