/**
 * Reads one topic, decoded, from where its fold stands. As the only member of a group of its own: nobody can take a partition away, and two treasuries both read
 * everything. Sharing partitions in a group would gain nothing, since what counts is decided in the one order of the ledger and not by who reads. Nothing is ever
 * committed to the group; the broker forgets it, also after a kill.
 */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import type { Codec } from '../../runtime/kafka/codec.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import type { Positions } from '../../runtime/kafka/position.ts';
import { LogReader } from '../../runtime/kafka/reader.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { decode, type Decoded } from '../../runtime/kafka/decode.ts';
import { aborted } from '../../runtime/process/retry.ts';

const AHEAD_BYTES_MAX = 8 * 1024 * 1024;
const RECORDS_MAX = 500;
const BYTES_MAX = 1024 * 1024;

export interface TopicReaderOptions<Event extends { readonly type: string }> {
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  readonly topic: string;
  /** any other event halts the treasury */
  readonly isEvent: (event: { readonly type: string }) => event is Event;
  readonly positions: () => Positions;
  /** resolves when the fold can take more */
  readonly room?: () => Promise<void>;
  /** takes records of one partition, in order, none left out since the position; may throw `LogLost` */
  readonly fold: (decoded: Decoded<Event>) => void;
}

export class TopicReader<Event extends { readonly type: string }> {
  readonly #options: TopicReaderOptions<Event>;
  readonly #groupId = `treasury-${randomUUID()}`;
  readonly #reader: LogReader;

  constructor(options: TopicReaderOptions<Event>) {
    this.#options = options;
    this.#reader = new LogReader({
      ...options,
      group_id: this.#groupId,
      topics: [options.topic],
      positions: () => Promise.resolve(options.positions()),
      ahead_bytes_max: AHEAD_BYTES_MAX,
    });
  }

  /** Goes back to the positions. */
  rewind(): void {
    this.#reader.rewind();
  }

  /** Reads until the signal is aborted. Throws `LogLost` or `log_damaged` for a log that cannot be right, and what the fold throws. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    // closing it is what makes `take` answer
    const closed = aborted(signal).then(() => this.#close());
    await Promise.race([this.#reader.start(), closed]);
    while (!signal.aborted) {
      await this.#options.room?.();
      await this.#step();
    }
    await closed;
  }

  async #step(): Promise<void> {
    const { topic, codec, isEvent, retrying, fold } = this.#options;
    const chunk = await this.#reader.take(RECORDS_MAX, BYTES_MAX);
    if (chunk === undefined) return;
    const decoded = await retrying(`decoding ${topic}`, () =>
      decode({ name: 'the treasury', isEvent }, codec, chunk),
    );
    if (this.#reader.isStale(chunk)) return;
    fold(decoded);
    if (decoded.poison === undefined) return;
    const { offset, reason } = decoded.poison;
    throw new Fault(
      'log_damaged',
      `${topic}/${chunk.partition}: the record at offset ${offset} cannot be read: ${reason}. What to do: look at that record with a console consumer and at who wrote it; once this software can read it, or the topic is restored, start the treasury again`,
      { retry: false },
    );
  }

  async #close(): Promise<void> {
    const { kafka, log } = this.#options;
    try {
      await this.#reader.close();
      await withAdmin(kafka, (admin) => admin.deleteGroups([this.#groupId]));
    } catch (error) {
      log.debug({ err: error }, 'a consumer group was left to the broker to forget');
    }
  }
}
