/** From the log to batches that are ready to be applied: taken, decoded, and while loading cut where nothing can be undone any more. */
import type { Projection } from '../../../projections/contract/projection.ts';
import { Carry } from '../load/carry.ts';
import type { Chunk } from '../../runtime/kafka/chunk-queue.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import type { Ahead, More } from '../load/load-group.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import { decode } from '../../runtime/kafka/decode.ts';
import { withLoads, type Prepared } from './prepare.ts';
import type { Skips } from './skips.ts';

/** A live batch holds at most this, but always one record. */
const RECORDS_MAX = 5_000;
const BYTES_MAX = 8 * 1024 * 1024;
/**
 * Of a load whose batches are written together. Smaller than a fetch: what is decoded is then folded, and gone, before the garbage collector moves it; with less,
 * what each batch costs is more.
 */
export const GROUPED_BYTES_MAX = 2 * 1024 * 1024;
const CARRY_BYTES_MAX = 32 * 1024 * 1024;

export interface BatchesOptions<Event extends { readonly type: string }> {
  readonly projection: Pick<
    Projection<Event>,
    'name' | 'isEvent' | 'loads' | 'settled' | 'records_max'
  >;
  readonly codec: Codec;
  /** the next records of one partition within the limits; undefined when there will be none */
  readonly take: (recordsMax: number, bytesMax: number) => Promise<Chunk | undefined>;
  readonly retrying: Retrying;
  /** what is passed over; nothing when not given */
  readonly skips?: Skips | undefined;
  readonly load: {
    /** whether tables are being loaded, at this moment */
    readonly isOn: boolean;
    /** whether records that come after this offset are to be loaded too */
    readonly goesBeyond: (topic: string, partition: number, offset: bigint) => boolean;
  };
  /** of a batch, while loading; as live when not given */
  readonly load_bytes_max?: number;
  /** of what is not settled, while loading; 32 MB when not given */
  readonly carry_bytes_max?: number;
}

export interface Batch<Event> {
  readonly generation: number;
  readonly prepared: Prepared<Event>;
}

export class Batches<Event extends { readonly type: string }> {
  readonly #options: BatchesOptions<Event>;
  readonly #carry: Carry<Event>;
  #ahead: Promise<Batch<Event> | undefined> | undefined;

  constructor(options: BatchesOptions<Event>) {
    this.#options = options;
    this.#carry = new Carry(options.projection, options.carry_bytes_max ?? CARRY_BYTES_MAX);
  }

  /**
   * Undefined when closed. Throws what `take` throws. One call at a time. While loading, the batch after this one is decoded as soon as this one is: the one being
   * written, the one being folded and the one being decoded need not wait for each other.
   */
  next(): Promise<Batch<Event> | undefined> {
    const batch = this.#ahead ?? this.#read();
    this.#ahead = this.#options.load.isOn
      ? batch.then((found) => found && this.#read())
      : undefined;
    // thrown where it is awaited, which may be later
    batch.catch(() => undefined);
    this.#ahead?.catch(() => undefined);
    return batch;
  }

  async #read(): Promise<Batch<Event> | undefined> {
    const {
      projection,
      codec,
      take,
      retrying,
      load,
      load_bytes_max: loadBytesMax = BYTES_MAX,
    } = this.#options;
    const { records_max: recordsMax = Number.POSITIVE_INFINITY } = projection;
    for (;;) {
      const chunk = await (load.isOn
        ? take(recordsMax, loadBytesMax)
        : take(Math.min(RECORDS_MAX, recordsMax), BYTES_MAX));
      if (chunk === undefined) return undefined;
      const decoded = await retrying('decoding a batch', () =>
        decode(projection, codec, chunk, this.#options.skips),
      );
      const { generation } = chunk;
      const due = this.#carry.join(generation, decoded, this.#holds(chunk));
      if (due.events.length > 0 || due.poison !== undefined)
        return { generation, prepared: withLoads(projection, due) };
    }
  }

  /** Held is only what more is sure to come after. */
  #holds({ topic, partition, records }: Chunk): boolean {
    const { load } = this.#options;
    const last = records.at(-1);
    return last !== undefined && load.isOn && load.goesBeyond(topic, partition, last.offset);
  }
}

/** The batches that come next, the first of them decoded ahead. */
export class Coming<Event extends { readonly type: string }> {
  readonly #batches: Pick<Batches<Event>, 'next'>;
  readonly #isStale: (batch: Batch<Event>) => boolean;
  readonly #load: BatchesOptions<Event>['load'];
  #following: Promise<Batch<Event> | undefined>;
  #hasTaken = false;

  /** `isStale`: that a batch must not be applied any more. */
  constructor(
    batches: Pick<Batches<Event>, 'next'>,
    isStale: (batch: Batch<Event>) => boolean,
    load: BatchesOptions<Event>['load'],
  ) {
    this.#batches = batches;
    this.#isStale = isStale;
    this.#load = load;
    this.#following = batches.next();
  }

  get following(): Promise<Batch<Event> | undefined> {
    return this.#following;
  }

  /** On to the one after it, which nothing is taken with yet. */
  advance(): void {
    this.#hasTaken = false;
    this.#following = this.#batches.next();
  }

  /** What may be applied together with this batch. */
  after({ topic, partition }: Prepared<Event>): Omit<Ahead<Event>, 'fold'> {
    const comesAt = (next: bigint): boolean => this.#load.goesBeyond(topic, partition, next - 1n);
    const take: More<Event>['take'] = async (following) => {
      // an attempt that was given up asks for what another has taken since
      if (following !== this.#following) return undefined;
      const batch = await this.#following;
      if (batch === undefined || following !== this.#following || this.#isStale(batch))
        return undefined;
      this.advance();
      this.#hasTaken = true;
      return { following: this.#following };
    };
    return { following: this.#following, more: { comesAt, take, hasTaken: () => this.#hasTaken } };
  }
}
