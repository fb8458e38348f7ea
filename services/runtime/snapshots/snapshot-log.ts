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
const ID_BYTES = 16;
/** The newest, one that was left unfinished before it, and one that is not ours. */
const LOOKS_MAX = 3;

export interface SnapshotLogOptions {
  readonly kafka: Kafka;
  readonly topic: Topic;
  /** authenticates snapshots */
  readonly key: Buffer;
}

/** `undefined`: there is none. */
export type Found = { readonly body: Buffer } | { readonly unfit: string } | undefined;

interface Part {
  /** id of the snapshot, 16 bytes in hex */
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
    const before = String(await this.#newestWhole());
    const snapshot = randomBytes(ID_BYTES).toString('hex');
    const parts = Math.max(1, Math.ceil(body.length / PART_BYTES));
    for (let part = 1; part <= parts; part++) {
      const mac = part < parts ? {} : { mac: this.#macOf(snapshot, body).toString('hex') };
      const value = body.subarray((part - 1) * PART_BYTES, part * PART_BYTES);
      const headers = { part: `${part}/${parts}`, before, ...mac };
      await writer.append(topic.name, PARTITION, [
        { key: snapshot, value, headers, timestamp: Date.now() },
      ]);
    }
  }

  /** The newest whole one of ours. Throws a fault with retry when the brokers fail. */
  async newest(): Promise<Found> {
    let unfit: string | undefined;
    for await (const { at, part, low } of this.#backwards()) {
      if (part === undefined) return { unfit: unfit ?? 'its newest record is no snapshot' };
      if (part.part < part.parts) continue;
      const body = await this.#bodyOf(part, at, low);
      if (body !== undefined) return { body };
      unfit ??= 'it is damaged, or another key than APP_MINT_KEY has signed it';
    }
    return unfit === undefined ? undefined : { unfit };
  }

  async #newestWhole(): Promise<bigint> {
    for await (const { at, part } of this.#backwards())
      if (part !== undefined && part.part === part.parts) return at;
    return NONE;
  }

  /** The newest record, and those that each names as the one before. */
  async *#backwards(): AsyncGenerator<{ at: bigint; part: Part | undefined; low: bigint }> {
    const { kafka, topic } = this.#options;
    const { low, high } = await readLogEnds(kafka, topic.name, PARTITION);
    let at = high - 1n;
    for (let looks = 0; looks < LOOKS_MAX && at >= low; looks++) {
      let part: Part | undefined;
      await this.#read(at, at + 1n, (record) => (part = partOf(record)));
      yield { at, part, low };
      // one that points forward is none of ours
      at = part !== undefined && part.before < at ? part.before : NONE;
    }
  }

  /** Undefined where a part is missing or its MAC is another. */
  async #bodyOf(
    { snapshot, parts, before, mac }: Part,
    last: bigint,
    low: bigint,
  ): Promise<Buffer | undefined> {
    const found = new Map<number, Buffer>();
    await this.#read(before >= low ? before + 1n : low, last + 1n, (record) => {
      const each = partOf(record);
      if (each?.snapshot !== snapshot || record.value === null) return;
      // a part may be there twice, after an append without an answer
      if (!found.has(each.part)) found.set(each.part, record.value);
    });
    const bodies = Array.from({ length: parts }, (_, at) => found.get(at + 1) ?? []).flat();
    const body = Buffer.concat(bodies);
    const given = Buffer.from(mac, 'hex');
    const own = this.#macOf(snapshot, body);
    return given.length === own.length && timingSafeEqual(given, own) ? body : undefined;
  }

  #read(from: bigint, to: bigint, take: (record: LogRecord) => void): Promise<void> {
    const { kafka, topic } = this.#options;
    return readLogRange(kafka, topic.name, PARTITION, from, to, take);
  }

  #macOf(snapshot: string, body: Buffer): Buffer {
    const id = Buffer.from(snapshot, 'hex');
    return createHmac('sha256', this.#options.key).update(id).update(body).digest();
  }
}

const ID = /^[0-9a-f]{32}$/;
const PART = /^([1-9][0-9]{0,5})\/([1-9][0-9]{0,5})$/;

/** Undefined for a record that no treasury wrote. */
function partOf({ key, headers }: LogRecord): Part | undefined {
  const [, part, parts] = PART.exec(String(headers['part'])) ?? [];
  const before = String(headers['before']);
  const snapshot = String(key);
  if (part === undefined || !ID.test(snapshot) || !/^-?[0-9]{1,18}$/.test(before)) return undefined;
  return {
    snapshot,
    part: Number(part),
    parts: Number(parts),
    before: BigInt(before),
    mac: String(headers['mac'] ?? ''),
  };
}
