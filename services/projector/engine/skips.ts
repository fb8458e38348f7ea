/**
 * The records that a person has a projection skip. They are read from the topic `projector.skips`
 * before anything is folded, so that a replay skips the same. A projection of money has none: it
 * halts until its log is right.
 */
import { SKIP_RULES } from '../../../schemas/projector.skips/rules.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import type { Projection } from '../../../projections/contract/projection.ts';
import { isSkipEvent, skipKeysOf } from '../../../schemas/projector.skips/events.ts';
import { PROJECTOR_SKIPS, TOPICS, type Topic } from '../../../schemas/topics.ts';
import type { Decoder } from '../../runtime/kafka/codec.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { readLogRange } from '../../runtime/kafka/range.ts';
import { fingerprint, type LogRecord } from '../../runtime/kafka/record.ts';

type Skipping = Pick<Projection, 'skips' | 'topics'>;

/** A record of the log, by its position and its content. */
export interface RecordAt {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly fingerprint: Buffer;
}

export interface SkipsOptions {
  readonly kafka: Kafka;
  /** of `topicsOf` the projection */
  readonly codec: Decoder;
  /** under which name in `projector.skips` */
  readonly name: string;
  readonly topics: readonly string[];
}

/** The topics to read for this projection. */
export function topicsOf({ topics, skips }: Skipping): readonly Topic[] {
  return TOPICS.filter(
    (topic) =>
      topics.includes(topic.name) || (skips !== undefined && topic.name === PROJECTOR_SKIPS.name),
  );
}

/** Undefined for a projection that may not skip. */
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
  /** fingerprints, by position */
  readonly #known = new Map<string, Buffer>();
  #end = 0n;

  constructor(options: SkipsOptions) {
    this.#options = options;
  }

  /**
   * Reads the decisions since the last call. Throws a fault with retry while brokers or schema
   * registry are away.
   */
  async refresh(): Promise<void> {
    const { kafka, codec } = this.#options;
    const end = await this.#endOfLog();
    const records: LogRecord[] = [];
    await readLogRange(kafka, PROJECTOR_SKIPS.name, 0, this.#end, end, (record) => {
      // records of other projections need not be readable here
      if (this.#isOwn(record)) records.push(record);
    });
    await codec.learn(records.map(({ value }) => value));
    for (const record of records) {
      const event = codec.decode(record.value, record.headers);
      // the first decision on a record counts
      if (isSkipEvent(event) && brokenRule(SKIP_RULES, event) === undefined) {
        const position = positionKey(event.topic, event.partition, event.record_offset);
        if (!this.#known.has(position)) this.#known.set(position, event.fingerprint);
      }
    }
    this.#end = end;
  }

  /** Whether exactly this record is skipped. */
  has({ topic, partition, offset, fingerprint: print }: RecordAt): boolean {
    return this.#known.get(positionKey(topic, partition, offset))?.equals(print) === true;
  }

  /** The same; takes the record's fingerprint only if its position is skipped. */
  hasRecord(topic: string, partition: number, record: LogRecord): boolean {
    if (this.#known.size === 0) return false;
    const known = this.#known.get(positionKey(topic, partition, record.offset));
    return known?.equals(fingerprint(record)) === true;
  }

  #isOwn({ key }: LogRecord): boolean {
    const { name, topics } = this.#options;
    const text = key?.toString() ?? '';
    return topics.some((topic) => text.startsWith(skipKeysOf(name, topic)));
  }

  /** 0 while the topic does not exist. */
  #endOfLog(): Promise<bigint> {
    return withAdmin(this.#options.kafka, async (admin) => {
      if (!(await admin.topicNames()).includes(PROJECTOR_SKIPS.name)) return 0n;
      const [end] = await admin.ends(PROJECTOR_SKIPS.name);
      return end?.high ?? 0n;
    });
  }
}

function positionKey(topic: string, partition: number, offset: bigint | number): string {
  return `${topic}/${partition}@${offset}`;
}
