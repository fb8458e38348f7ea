/** Cuts the records of a log into batches, decoded while the batch before is written. */
import type { Load, Projection } from '../../../projections/contract/projection.ts';
import type { Chunk } from '../../runtime/kafka/chunk-queue.ts';
import type { Decoder } from '../../runtime/kafka/codec.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import { decode, type Decoded } from '../../runtime/kafka/decode.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import { assert } from '../../runtime/process/errors.ts';
import { NO_SPAN, NO_TRACING, type Span, type Tracing } from '../../runtime/process/tracing.ts';

/** Limits of a live batch, which has one record at least. */
const RECORDS_MAX = 5_000;
const BYTES_MAX = 8 * 1024 * 1024;
const UNFINALIZED_BYTES_MAX = 32 * 1024 * 1024;

/** Decoded records of one partition, in order, without a gap. */
export interface Batch<Event> extends Decoded<Event> {
  /** counts assignments and rewinds of the reader */
  readonly generation: number;
  /** the rows that folding these events needs */
  readonly loads: readonly Load[];
  /** in the trace of its newest record; `NO_SPAN` when not given */
  readonly span?: Span;
}

/** Whether tables are being loaded, and how far. */
export interface LoadExtent {
  readonly is_loading: boolean;
  /** whether records after this offset are part of the load */
  readonly goesBeyond: (topic: string, partition: number, offset: bigint) => boolean;
}

export interface BatchesOptions<Event extends { readonly type: string }> {
  readonly projection: Pick<
    Projection<Event>,
    'name' | 'isEvent' | 'loads' | 'settled' | 'records_max'
  >;
  readonly codec: Decoder;
  /** the next records of one partition within the limits; undefined when there will be none */
  readonly take: (recordsMax: number, bytesMax: number) => Promise<Chunk | undefined>;
  readonly retrying: Retrying;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  readonly load: LoadExtent;
  /** of a batch while loading; 8 MiB when not given */
  readonly load_bytes_max?: number | undefined;
  /** of the unfinalized buffer; 32 MiB when not given */
  readonly unfinalized_bytes_max?: number;
}

export class BatchLookahead<Event extends { readonly type: string }> {
  readonly #options: BatchesOptions<Event>;
  readonly #unfinalized: UnfinalizedBuffer<Event>;
  #next: Promise<Batch<Event> | undefined> | undefined;

  constructor(options: BatchesOptions<Event>) {
    this.#options = options;
    this.#unfinalized = new UnfinalizedBuffer(options.projection, options.unfinalized_bytes_max);
  }

  /** The next batch, which stays the next one; undefined at the end. Throws what `take` throws. */
  peek(): Promise<Batch<Event> | undefined> {
    if (this.#next === undefined) {
      this.#next = this.#read();
      // an error is thrown where the batch is awaited
      this.#next.catch(() => undefined);
    }
    return this.#next;
  }

  /** Takes the batch that `peek` has returned, and begins to decode the one after it. */
  advance(): void {
    this.#next = undefined;
    void this.peek();
  }

  /** Takes the next batch; the one after it is not read before it is wanted. */
  async next(): Promise<Batch<Event> | undefined> {
    const batch = await this.peek();
    this.#next = undefined;
    return batch;
  }

  async #read(): Promise<Batch<Event> | undefined> {
    const { projection, codec, take, retrying, load, tracing } = this.#options;
    const { load_bytes_max: loadBytesMax = BYTES_MAX } = this.#options;
    const { records_max: recordsMax = Number.POSITIVE_INFINITY } = projection;
    for (;;) {
      const chunk = await (load.is_loading
        ? take(recordsMax, loadBytesMax)
        : take(Math.min(RECORDS_MAX, recordsMax), BYTES_MAX));
      if (chunk === undefined) return undefined;
      // a load reads records whose traces ended long ago
      const span = load.is_loading ? NO_SPAN : fetchedIn(tracing, chunk);
      const decoded = await retrying('decoding a batch', () => decode(projection, codec, chunk));
      span.end();
      const { generation } = chunk;
      const due = this.#unfinalized.add(generation, decoded, this.#isWithinLoad(chunk));
      if (due.next > due.from || due.poison !== undefined)
        return { ...due, generation, loads: projection.loads(due.events), span };
    }
  }

  /** More records are sure to follow, which settle these. */
  #isWithinLoad({ topic, partition, next }: Chunk): boolean {
    const { load } = this.#options;
    return load.is_loading && load.goesBeyond(topic, partition, next - 1n);
  }
}

/** From the brokers' answer to the decoded batch. */
function fetchedIn(tracing: Tracing = NO_TRACING, { fetched_at, ...chunk }: Chunk): Span {
  const span = tracing.continued('fetch', chunk.records, fetched_at);
  span.set('messaging.destination.name', chunk.topic);
  span.set('messaging.batch.message_count', chunk.records.length);
  return span;
}

/** Decoded records that later records may still undo, held back while loading. Bounded by bytes. */
export class UnfinalizedBuffer<Event extends { readonly type: string }> {
  readonly #projection: Pick<Projection<Event>, 'settled'>;
  readonly #bytesMax: number;
  /** by `partitionKey` */
  readonly #held = new Map<
    string,
    { readonly generation: number; readonly decoded: Decoded<Event> }
  >();

  constructor(projection: Pick<Projection<Event>, 'settled'>, bytesMax = UNFINALIZED_BYTES_MAX) {
    this.#projection = projection;
    this.#bytesMax = bytesMax;
  }

  /**
   * Adds records to those held of their partition and returns those to apply now: with `hold` only
   * the final ones, else all. Records held in an earlier generation are dropped: they are read
   * again.
   */
  add(generation: number, decoded: Decoded<Event>, hold: boolean): Decoded<Event> {
    const key = partitionKey(decoded.topic, decoded.partition);
    const held = this.#held.get(key);
    this.#held.delete(key);
    const all = held?.generation === generation ? concat(held.decoded, decoded) : decoded;
    const { length } = all.events;
    const count =
      hold && all.poison === undefined
        ? (this.#projection.settled?.(all.events) ?? length)
        : length;
    assert(count >= 0 && count <= length, `${count} of ${length} records cannot be final`);
    if (count === length) return all;
    const rest = slice(all, count, length);
    if (bytesIn(rest) > this.#bytesMax) return all;
    this.#held.set(key, { generation, decoded: rest });
    return slice(all, 0, count);
  }

  /** of all partitions */
  get bytes(): number {
    return [...this.#held.values()].reduce((sum, { decoded }) => sum + bytesIn(decoded), 0);
  }
}

function bytesIn({ sizes }: Decoded<unknown>): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

function concat<Event>(first: Decoded<Event>, then: Decoded<Event>): Decoded<Event> {
  return {
    ...then,
    from: first.from,
    events: [...first.events, ...then.events],
    fingerprints: [...first.fingerprints, ...then.fingerprints],
    sizes: [...first.sizes, ...then.sizes],
  };
}

function slice<Event>(decoded: Decoded<Event>, from: number, to: number): Decoded<Event> {
  return {
    topic: decoded.topic,
    partition: decoded.partition,
    from: from === 0 ? decoded.from : (decoded.events[from]?.offset ?? decoded.next),
    next: decoded.events[to]?.offset ?? decoded.next,
    events: decoded.events.slice(from, to),
    fingerprints: decoded.fingerprints.slice(from, to),
    sizes: decoded.sizes.slice(from, to),
  };
}
