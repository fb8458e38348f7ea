/**
 * The records that persons have skipped, from `projector.skips`. A decision is for one record, by
 * its position and its content, and for every reader. It counts where that reader cannot apply the
 * record: whoever forges one cannot take a true record away.
 */
import { isSkipEvent, type RecordSkipped } from '../../../schemas/projector.skips/events.ts';
import { SKIP_RULES } from '../../../schemas/projector.skips/rules.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import { PROJECTOR_SKIPS } from '../../../schemas/topics.ts';
import { Fault } from '../process/errors.ts';
import type { Decoder } from './codec.ts';
import { readTopicEnds } from './ends.ts';
import type { Kafka } from './port.ts';
import { unreadable, type RecordAt } from './position.ts';
import { readLogRange } from './range.ts';
import type { LogRecord } from './record.ts';

export interface SkipsOptions {
  readonly kafka: Kafka;
  readonly codec: Decoder;
}

export class Skips {
  readonly #options: SkipsOptions;
  /** as `keyOf` gives them */
  readonly #known = new Map<string, RecordAt>();
  #end = 0n;

  constructor(options: SkipsOptions) {
    this.#options = options;
  }

  /**
   * Reads the decisions since the last call. Throws a fault with retry while brokers or schema
   * registry are away. A record that is no decision says nothing: it must not stop all readers.
   */
  async refresh(): Promise<void> {
    const { kafka, codec } = this.#options;
    const { name: topic } = PROJECTOR_SKIPS;
    // none while the topic does not exist
    const [end] = await readTopicEnds(kafka, [topic]);
    const to = end?.high ?? 0n;
    // restored with fewer records
    if (to < this.#end) this.#end = 0n;
    const records: LogRecord[] = [];
    await readLogRange(kafka, topic, 0, this.#end, to, (record) => records.push(record));
    await codec.learn(records.map(({ value }) => value));
    for (const { value, headers } of records) {
      try {
        const event = codec.decode(value, headers);
        if (isSkipEvent(event) && brokenRule(SKIP_RULES, event) === undefined) this.#note(event);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
      }
    }
    this.#end = to;
  }

  /** The records that persons have skipped, as far as the decisions are read. */
  get decided(): readonly RecordAt[] {
    return [...this.#known.values()];
  }

  #note({ topic, partition, record_offset, fingerprint }: RecordSkipped): void {
    const record = { topic, partition, offset: BigInt(record_offset), fingerprint };
    this.#known.set(keyOf(record), record);
  }

  /** Whether exactly this record is skipped, as far as the decisions are read. */
  has(record: RecordAt): boolean {
    return this.#known.has(keyOf(record));
  }

  /**
   * Resolves where this record, which cannot be applied, is skipped. Throws `unreadable_record`
   * with retry where it is not yet.
   */
  async demand(record: RecordAt, reason: string): Promise<void> {
    if (!this.has(record)) await this.refresh();
    if (this.has(record)) return;
    const { message, remedy } = unreadable(record, reason);
    const text = `${message}. What to do: ${remedy}`;
    throw new Fault('unreadable_record', text, { retry: true, shown: text });
  }
}

function keyOf({ topic, partition, offset, fingerprint }: RecordAt): string {
  return `${topic}/${partition}@${offset} ${fingerprint.toString('hex')}`;
}
