/** Decoded records that later records may still undo, held back while loading. Bounded by bytes. */
import type { Projection } from '../../../projections/contract/projection.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import { assert } from '../../runtime/process/errors.ts';

const BYTES_MAX = 32 * 1024 * 1024;

interface Held<Event> {
  readonly generation: number;
  readonly decoded: Decoded<Event>;
}

export class UnfinalizedBuffer<Event extends { readonly type: string }> {
  readonly #projection: Pick<Projection<Event>, 'settled'>;
  readonly #bytesMax: number;
  /** by `partitionKey` */
  readonly #held = new Map<string, Held<Event>>();

  constructor(projection: Pick<Projection<Event>, 'settled'>, bytesMax = BYTES_MAX) {
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
    events: [...first.events, ...then.events],
    fingerprints: [...first.fingerprints, ...then.fingerprints],
    sizes: [...first.sizes, ...then.sizes],
  };
}

function slice<Event>(decoded: Decoded<Event>, from: number, to: number): Decoded<Event> {
  return {
    topic: decoded.topic,
    partition: decoded.partition,
    events: decoded.events.slice(from, to),
    fingerprints: decoded.fingerprints.slice(from, to),
    sizes: decoded.sizes.slice(from, to),
  };
}
