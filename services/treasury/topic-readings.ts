/**
 * Topics that are read and decoded once for all who fold them. For a fold that comes later the
 * reading goes back, and the others ignore records that they have folded. A fold that fails is left
 * out from then on, and the others go on.
 */
import type { Decoder } from '../runtime/kafka/codec.ts';
import { decode, type Decoded, type Poison } from '../runtime/kafka/decode.ts';
import type { Retrying } from '../runtime/kafka/ends.ts';
import type { Kafka } from '../runtime/kafka/port.ts';
import type { Position, Positions } from '../runtime/kafka/position.ts';
import { LogReader } from '../runtime/kafka/reader.ts';
import type { LogRecord } from '../runtime/kafka/record.ts';
import { Skips } from '../runtime/kafka/skips.ts';
import type { Activity } from '../runtime/process/health.ts';
import type { Logger } from '../runtime/process/log.ts';
import { aborted } from '../runtime/process/retry.ts';

const AHEAD_BYTES_MAX = 8 * 1024 * 1024;
const RECORDS_MAX = 500;
const BYTES_MAX = 1024 * 1024;

type AnyEvent = { readonly type: string };

/** A fold of a topic. */
export interface Fold {
  readonly isEvent: (event: AnyEvent) => boolean;
  /** where it goes on */
  readonly positions: () => Positions;
  /** resolves when it can take more */
  readonly room?: (() => Promise<void>) | undefined;
  /** gets each event with the headers of its record, before it is folded */
  readonly onRecord?: ((event: AnyEvent, headers: LogRecord['headers']) => void) | undefined;
  /** folds up to the first record that cannot be applied, and returns that */
  readonly take: (decoded: Decoded<AnyEvent>, bytes: number) => Poison | undefined;
  /** gets what `take` throws, and what ends the reading of the topic */
  readonly onFailure: (error: unknown) => void;
}

export interface TopicReadingsOptions {
  readonly kafka: Kafka;
  readonly codec: Decoder;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** retries, also at a record that cannot be applied, until a person has it skipped */
  readonly retrying: Retrying;
  /** resolves when records may be folded; undefined: now */
  readonly paused?: (() => Promise<void> | undefined) | undefined;
}

/** Readings that several share, and what keeps them from going on. */
export interface SharedReadings {
  readonly readings: TopicReadings;
  readonly activity: Activity;
}

interface Feed {
  readonly topic: string;
  readonly reader: LogReader;
  readonly folds: Fold[];
}

export class TopicReadings {
  readonly #options: TopicReadingsOptions;
  /** by topic */
  readonly #feeds = new Map<string, Feed>();

  constructor(options: TopicReadingsOptions) {
    this.#options = options;
  }

  /** Reads the topic, all of its partitions, for this fold too. */
  attach(topic: string, fold: Fold): void {
    const known = this.#feeds.get(topic);
    if (known !== undefined) {
      known.folds.push(fold);
      return known.reader.rewind();
    }
    const { kafka, log, retrying } = this.#options;
    const folds = [fold];
    const reader = new LogReader({
      kafka,
      log,
      retrying: (what, attempt) => retrying(`${what} (${topic})`, attempt),
      topics: [topic],
      positions: () => Promise.resolve(lowest(folds)),
      ahead_bytes_max: AHEAD_BYTES_MAX,
    });
    const feed: Feed = { topic, reader, folds };
    this.#feeds.set(topic, feed);
    void this.#readToEnd(feed);
  }

  /** Leaves the fold out: it gets nothing any more. */
  async detach(topic: string, fold: Fold): Promise<void> {
    const feed = this.#feeds.get(topic);
    const at = feed?.folds.indexOf(fold) ?? -1;
    if (feed === undefined || at === -1) return;
    feed.folds.splice(at, 1);
    if (feed.folds.length === 0) await this.#end(feed);
  }

  async #readToEnd(feed: Feed): Promise<void> {
    try {
      await this.#read(feed);
    } catch (error) {
      for (const each of feed.folds.splice(0)) each.onFailure(error);
    }
    await this.#end(feed);
  }

  /** Nobody folds the topic any more: for a later fold it is read anew. */
  async #end(feed: Feed): Promise<void> {
    if (this.#feeds.get(feed.topic) === feed) this.#feeds.delete(feed.topic);
    await feed.reader.close();
  }

  /** Reads until the abort, or until nobody folds the topic. Throws `LogLost`. */
  async #read(feed: Feed): Promise<void> {
    const { reader, folds } = feed;
    const { signal } = this.#options;
    const skips = new Skips(this.#options);
    // closing the reader ends a pending `take`
    const closed = aborted(signal).then(() => reader.close());
    await Promise.race([reader.start(), closed]);
    while (!signal.aborted && folds.length > 0) {
      for (const { room } of folds.slice()) await room?.();
      await this.#takeChunk(feed, skips);
    }
  }

  /** Stays at a record that cannot be applied until a person has it skipped. */
  async #takeChunk({ topic, reader, folds }: Feed, skips: Skips): Promise<void> {
    const chunk = await reader.take(RECORDS_MAX, BYTES_MAX);
    if (chunk === undefined) return;
    const { codec, retrying, paused } = this.#options;
    const { partition } = chunk;
    const isEvent = (event: AnyEvent): event is AnyEvent => folds[0]?.isEvent(event) !== false;
    for (let { from, records } = chunk; ;) {
      const rest = { ...chunk, from, records };
      const decoded = await retrying(`decoding ${topic}`, () =>
        decode({ name: 'the treasury', isEvent }, codec, rest),
      );
      for (let wait = paused?.(); wait !== undefined; wait = paused?.()) await wait;
      if (reader.isStale(chunk)) return;
      for (const { onRecord } of folds)
        for (const [at, { event }] of decoded.events.entries())
          onRecord?.(event, records[at]?.headers ?? {});
      const poison = foldAll(folds, decoded, chunk.bytes) ?? decoded.poison;
      if (poison === undefined || folds.length === 0) return;
      const { offset, reason, fingerprint } = poison;
      await retrying(`reading ${topic}/${partition}@${offset}`, async () => {
        if (folds.length > 0) await skips.demand({ topic, partition, offset, fingerprint }, reason);
      });
      if (reader.isStale(chunk)) return;
      from = offset + 1n;
      records = records.filter((record) => record.offset > offset);
    }
  }
}

/** Where the fold that is behind goes on, in each partition. */
function lowest(folds: readonly Fold[]): Positions {
  const found = new Map<string, Position>();
  for (const [key, position] of folds.flatMap(({ positions }) => [...positions()])) {
    const known = found.get(key);
    if (known === undefined || position.next_offset < known.next_offset) found.set(key, position);
  }
  return found;
}

/** The first record that a fold cannot apply. */
function foldAll(folds: Fold[], decoded: Decoded<AnyEvent>, bytes: number): Poison | undefined {
  let first: Poison | undefined;
  for (const fold of folds.slice()) {
    try {
      const poison = fold.take(decoded, bytes);
      if (poison !== undefined && (first === undefined || poison.offset < first.offset))
        first = poison;
    } catch (error) {
      folds.splice(folds.indexOf(fold), 1);
      fold.onFailure(error);
    }
  }
  return first;
}
