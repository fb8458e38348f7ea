/**
 * Snapshots in their topic: bytes in records of limited size, the last of which carries a MAC. None
 * counts that was made without the key. A writer that was killed leaves a part: each record names
 * the last record of the newest whole snapshot before it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Topic } from '../../../schemas/topics.ts';
import { readLogEnds } from '../kafka/ends.ts';
import type { Kafka } from '../kafka/port.ts';
import { readLogRange } from '../kafka/range.ts';
import type { LogRecord } from '../kafka/record.ts';
import type { KafkaWriter } from '../kafka/writer.ts';

const PARTITION = 0;
/** A record is half of what the topic takes. */
const PART_BYTES = 512 * 1024;
const NONE = -1n;

export interface SnapshotLogOptions {
  readonly kafka: Kafka;
  readonly topic: Topic;
  /** authenticates snapshots */
  readonly key: Buffer;
}

/** `undefined`: there is none. */
export type Found = { readonly body: Buffer } | { readonly unfit: string } | undefined;

interface Part {
  readonly snapshot: string;
  /** from 1 on */
  readonly part: number;
  readonly parts: number;
  /** the last record of the newest whole snapshot before; -1: none */
  readonly before: bigint;
  /** hex; of the last part only */
  readonly mac: string;
}

export class SnapshotLog {
  readonly #options: SnapshotLogOptions;

  constructor(options: SnapshotLogOptions) {
    this.#options = options;
  }

  /** Throws faults of the writer; a part may be in the log by then, and counts for nothing. */
  async append(body: Buffer, writer: KafkaWriter): Promise<void> {
    const { topic } = this.#options;
    const { last } = await this.#newestWhole();
    const snapshot = randomBytes(16).toString('hex');
    const parts = Math.max(1, Math.ceil(body.length / PART_BYTES));
    for (let part = 1; part <= parts; part++) {
      const headers = {
        part: `${part}/${parts}`,
        before: String(last),
        ...(part < parts ? {} : { mac: this.#macOf(snapshot, body).toString('hex') }),
      };
      const value = body.subarray((part - 1) * PART_BYTES, part * PART_BYTES);
      await writer.append(topic.name, PARTITION, [
        { key: snapshot, value, headers, timestamp: Date.now() },
      ]);
    }
  }

  /** The newest whole one. Throws a fault with retry when the brokers fail. */
  async newest(): Promise<Found> {
    const { last, part, low } = await this.#newestWhole();
    if (part === undefined) return undefined;
    const { snapshot, parts, mac } = part;
    const first = last - BigInt(parts) + 1n;
    if (first < low) return { unfit: 'its beginning is deleted' };
    const bodies: Buffer[] = [];
    await this.#read(first, last + 1n, ({ key, value }) => {
      if (key?.toString() === snapshot && value !== null) bodies.push(value);
    });
    const body = Buffer.concat(bodies);
    const given = Buffer.from(mac, 'hex');
    const own = this.#macOf(snapshot, body);
    return given.length === own.length && timingSafeEqual(given, own)
      ? { body }
      : { unfit: 'it is damaged, or another key than APP_MINT_KEY has signed it' };
  }

  async #newestWhole(): Promise<{ last: bigint; part: Part | undefined; low: bigint }> {
    const { kafka, topic } = this.#options;
    const { low, high } = await readLogEnds(kafka, topic.name, PARTITION);
    for (let last = high - 1n; last >= low;) {
      let part: Part | undefined;
      await this.#read(last, last + 1n, (record) => (part = partOf(record)));
      if (part === undefined || part.part === part.parts) return { last, part, low };
      // a part of a snapshot without an end; one that points forward is none of ours
      last = part.before < last ? part.before : NONE;
    }
    return { last: NONE, part: undefined, low };
  }

  #read(from: bigint, to: bigint, take: (record: LogRecord) => void): Promise<void> {
    const { kafka, topic } = this.#options;
    return readLogRange(kafka, topic.name, PARTITION, from, to, take);
  }

  #macOf(snapshot: string, body: Buffer): Buffer {
    return createHmac('sha256', this.#options.key).update(snapshot).update(body).digest();
  }
}

const PART = /^([1-9][0-9]{0,5})\/([1-9][0-9]{0,5})$/;

/** Undefined for a record that no treasury wrote. */
function partOf({ key, headers }: LogRecord): Part | undefined {
  const [, part, parts] = PART.exec(String(headers['part'])) ?? [];
  const before = String(headers['before']);
  if (part === undefined || key === null || !/^-?[0-9]{1,18}$/.test(before)) return undefined;
  return {
    snapshot: key.toString(),
    part: Number(part),
    parts: Number(parts),
    before: BigInt(before),
    mac: String(headers['mac'] ?? ''),
  };
}
