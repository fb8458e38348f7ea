/**
 * The records that a projection passes over because a person said so. They are in the log, in `projector.skips`, and read before anything is folded: a replay
 * passes over the same. Only projections that no money hangs on may: one that has no `skips` halts until its log is right.
 */
import type { Kafka } from 'kafkajs';
import type { Projection } from '../../../projections/contract/projection.ts';
import { isSkipEvent, skipKeysOf } from '../../../schemas/projector.skips/events.ts';
import { PROJECTOR_SKIPS, TOPICS, type Topic } from '../../../schemas/topics.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import { readLogRange } from '../../runtime/kafka/range.ts';
import { fingerprint, type LogRecord } from '../../runtime/kafka/record.ts';

type Skipping = Pick<Projection, 'skips' | 'topics'>;

/** A record of the log, by its place and its content. */
export interface RecordAt {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly fingerprint: Buffer;
}

export interface SkipsOptions {
  readonly kafka: Kafka;
  /** of `topicsOf` the projection */
  readonly codec: Codec;
  /** under which name in `projector.skips` */
  readonly name: string;
  readonly topics: readonly string[];
}

/** The topics that whoever folds this projection reads. */
export function topicsOf({ topics, skips }: Skipping): readonly Topic[] {
  return TOPICS.filter(
    (topic) =>
      topics.includes(topic.name) || (skips !== undefined && topic.name === PROJECTOR_SKIPS.name),
  );
}

/** Undefined for a projection that passes over nothing. */
export function skipsOf(
  projection: Skipping,
  { kafka, codec }: Pick<SkipsOptions, 'kafka' | 'codec'>,
): Skips | undefined {
  return projection.skips === undefined
    ? undefined
    : new Skips({ kafka, codec, name: projection.skips, topics: projection.topics });
}

export class Skips {
  readonly #options: SkipsOptions;
  /** fingerprints by place */
  readonly #known = new Map<string, Buffer>();
  #end = 0n;

  constructor(options: SkipsOptions) {
    this.#options = options;
  }

  /** Reads what was decided since the last time. Throws a fault with retry while brokers or schema registry are away. */
  async refresh(): Promise<void> {
    const { kafka, codec } = this.#options;
    const end = await this.#endOfLog();
    const records: LogRecord[] = [];
    await readLogRange(kafka, PROJECTOR_SKIPS.name, 0, this.#end, end, (record) => {
      // those of others need not be readable here
      if (this.#isOwn(record)) records.push(record);
    });
    await codec.learn(records.map(({ value }) => value));
    for (const record of records) {
      const event = codec.decode(record.value);
      // the first decision on a place stands
      if (isSkipEvent(event)) {
        const place = placeOf(event.topic, event.partition, event.record_offset);
        if (!this.#known.has(place)) this.#known.set(place, event.fingerprint);
      }
    }
    this.#end = end;
  }

  /** Whether this very record is passed over. */
  has({ topic, partition, offset, fingerprint: print }: RecordAt): boolean {
    return this.#known.get(placeOf(topic, partition, offset))?.equals(print) === true;
  }

  /** The same of a record whose fingerprint is not known yet, and costs something. */
  hasRecord(topic: string, partition: number, record: LogRecord): boolean {
    const known =
      this.#known.size === 0
        ? undefined
        : this.#known.get(placeOf(topic, partition, record.offset));
    return known?.equals(fingerprint(record)) === true;
  }

  #isOwn({ key }: LogRecord): boolean {
    const { name, topics } = this.#options;
    const text = key?.toString() ?? '';
    return topics.some((topic) => text.startsWith(skipKeysOf(name, topic)));
  }

  /** 0 while nobody has ever made the topic. */
  #endOfLog(): Promise<bigint> {
    return withAdmin(this.#options.kafka, async (admin) => {
      if (!(await admin.listTopics()).includes(PROJECTOR_SKIPS.name)) return 0n;
      const [end] = await admin.fetchTopicOffsets(PROJECTOR_SKIPS.name);
      return BigInt(end?.high ?? 0);
    });
  }
}

function placeOf(topic: string, partition: number, offset: bigint | number): string {
  return `${topic}/${partition}@${offset}`;
}
