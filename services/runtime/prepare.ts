/** Records decoded ahead of the transaction that folds them: what costs processor time, done while the batch before waits for Postgres. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Load, Projection, Recorded } from '../../projections/projection.ts';
import type { Chunk } from './chunk-queue.ts';
import { undecodable, type Codec } from './codec.ts';
import { Fault } from './errors.ts';
import { bytesOf, fingerprint } from './log-record.ts';

/** So much is decoded at a stretch (a few milliseconds): the transaction under way goes on in between. */
const STRETCH_BYTES = 256 * 1024;

export interface Prepared<Event> {
  readonly topic: string;
  readonly partition: number;
  readonly events: readonly Recorded<Event>[];
  /** the rows that folding all of these events needs */
  readonly loads: readonly Load[];
  /** one a record */
  readonly fingerprints: readonly Buffer[];
  readonly bytes: number;
  /** the record after these cannot be read by anybody */
  readonly poison?: { readonly offset: bigint; readonly reason: string };
}

/** Decodes a chunk up to the first record that cannot be. Throws a fault while the schema registry is away and a schema is not known yet. */
export async function prepare<Event extends { readonly type: string }>(
  projection: Pick<Projection<Event>, 'name' | 'isEvent' | 'loads'>,
  codec: Codec,
  chunk: Chunk,
): Promise<Prepared<Event>> {
  await codec.learn(chunk.records.map(({ value }) => value));
  const events: Recorded<Event>[] = [];
  const fingerprints: Buffer[] = [];
  const { topic, partition, bytes } = chunk;
  let poison: { offset: bigint; reason: string } | undefined;
  let decoded = 0;
  for (const record of chunk.records) {
    decoded += bytesOf(record);
    if (decoded > STRETCH_BYTES) {
      decoded = 0;
      await immediate();
    }
    try {
      const event = codec.decode(record.value);
      if (!projection.isEvent(event)) throw undecodable(`${event.type} is no event that ${projection.name} folds`);
      events.push({ event, partition, offset: record.offset, timestamp: record.timestamp });
      fingerprints.push(fingerprint(record));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      poison = { offset: record.offset, reason: error.message };
      break;
    }
  }
  const loads = projection.loads(events);
  return { topic, partition, events, loads, fingerprints, bytes, ...(poison === undefined ? {} : { poison }) };
}
