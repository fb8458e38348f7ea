/** Decodes records while the batch before waits for Postgres. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Projection, Recorded } from '../../../projections/contract/projection.ts';
import { hashOfValue } from '../../../schemas/hash-chain.ts';
import type { Chunk } from './chunk-queue.ts';
import { undecodable, type Decoder } from './codec.ts';
import { assert, Fault } from '../process/errors.ts';
import { bytesOf, fingerprint, type LogRecord } from './record.ts';

/** Decoding yields to the event loop after this many bytes, a millisecond or two. */
const STRETCH_BYTES = 64 * 1024;

/** A record that is not applied. */
export interface Poison {
  readonly offset: bigint;
  readonly reason: string;
  readonly fingerprint: Buffer;
}

/** Records of one partition as events, in order, without a gap. */
export interface Decoded<Event> {
  readonly topic: string;
  readonly partition: number;
  /** the first offset; marks of transactions take offsets too, and are no events */
  readonly from: bigint;
  /** the offset after its last one */
  readonly next: bigint;
  readonly events: readonly Recorded<Event>[];
  /** a fingerprint for each record */
  readonly fingerprints: readonly Buffer[];
  /** for each record its approximate bytes in memory before decoding */
  readonly sizes: readonly number[];
  /** the record after these: it cannot be decoded */
  readonly poison?: Poison;
}

/** The record of a batch that its fold cannot apply. */
export function poisonAt<Event>(
  { events, fingerprints }: Decoded<Event>,
  offset: bigint,
  reason: string,
): Poison {
  const found = fingerprints[events.findIndex((event) => event.offset === offset)];
  assert(found !== undefined, 'the record that breaks a batch is not one of its records');
  return { offset, reason, fingerprint: found };
}

/** Learns the schemas of these records. A fault names the first record that it is about. */
export async function learnSchemas(
  codec: Decoder,
  { topic, partition, records }: Pick<Chunk, 'topic' | 'partition' | 'records'>,
): Promise<void> {
  try {
    await codec.learn(records.map(({ value }) => value));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    for (const { offset, value } of records)
      await codec.learn([value]).catch((cause: unknown) => {
        if (!(cause instanceof Fault)) throw cause;
        const { code, message, retry } = cause;
        const shown = `the schema of the record ${topic}/${partition}@${offset} is not known yet: start the schema registry or correct APP_REGISTRY_URL`;
        throw new Fault(code, `${topic}/${partition}@${offset}: ${message}`, {
          retry,
          cause,
          shown,
        });
      });
  }
}

/** Decodes up to the first poison record. Throws a fault while a schema cannot be read. */
export async function decode<Event extends { readonly type: string }>(
  projection: Pick<Projection<Event>, 'name' | 'isEvent'>,
  codec: Decoder,
  chunk: Pick<Chunk, 'topic' | 'partition' | 'from' | 'next' | 'records'>,
): Promise<Decoded<Event>> {
  await learnSchemas(codec, chunk);
  const events: Recorded<Event>[] = [];
  const fingerprints: Buffer[] = [];
  const sizes: number[] = [];
  const { topic, partition, from, next } = chunk;
  let stretch = 0;
  for (const record of chunk.records) {
    const size = bytesOf(record);
    stretch += size;
    if (stretch > STRETCH_BYTES) {
      stretch = 0;
      await immediate();
    }
    try {
      const event = codec.decode(record.value, record.headers);
      if (!projection.isEvent(event))
        throw undecodable(`${event.type} is no event that ${projection.name} folds`);
      events.push(recordedOf(event, partition, record));
      fingerprints.push(fingerprint(record));
      sizes.push(size);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return {
        topic,
        partition,
        from,
        next: record.offset,
        events,
        fingerprints,
        sizes,
        poison: { offset: record.offset, reason: error.message, fingerprint: fingerprint(record) },
      };
    }
  }
  return { topic, partition, from, next, events, fingerprints, sizes };
}

/** The value is hashed only where records are chained: those of the chain are large. */
function recordedOf<Event extends object>(
  event: Event,
  partition: number,
  { offset, timestamp, value }: LogRecord,
): Recorded<Event> {
  const recorded = { event, partition, offset, timestamp };
  return 'previous' in event ? { ...recorded, value_hash: hashOfValue(value) } : recorded;
}
