/**
 * What of the log was read while loading but may still be undone by records to come: it is kept, decoded, until a later batch settles it. Bounded by bytes; what
 * would be more is applied as it is.
 */
import type { Projection } from '../../../projections/contract/projection.ts';
import { assert } from '../../runtime/process/errors.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';

interface Held<Event> {
  /** counts assignments and rewinds: after one, the same records are read again */
  readonly generation: number;
  readonly decoded: Decoded<Event>;
}

export class Carry<Event extends { readonly type: string }> {
  readonly #projection: Pick<Projection<Event>, 'settled'>;
  readonly #bytesMax: number;
  /** by `partitionKey` */
  readonly #held = new Map<string, Held<Event>>();

  constructor(projection: Pick<Projection<Event>, 'settled'>, bytesMax: number) {
    this.#projection = projection;
    this.#bytesMax = bytesMax;
  }

  /** Joins records to those of their partition that are held, and gives what is to be applied now: what is settled when `hold`, else all. */
  join(generation: number, decoded: Decoded<Event>, hold: boolean): Decoded<Event> {
    const key = partitionKey(decoded.topic, decoded.partition);
    const held = this.#held.get(key);
    this.#held.delete(key);
    const all = held?.generation === generation ? joined(held.decoded, decoded) : decoded;
    const { length } = all.events;
    const count =
      hold && all.poison === undefined
        ? (this.#projection.settled?.(all.events) ?? length)
        : length;
    assert(count >= 0 && count <= length, `${count} of ${length} records cannot be settled`);
    if (count === length) return all;
    const rest = part(all, count, length);
    if (bytesIn(rest) > this.#bytesMax) return all;
    this.#held.set(key, { generation, decoded: rest });
    return part(all, 0, count);
  }

  /** What is held, of all partitions. */
  get bytes(): number {
    return [...this.#held.values()].reduce((sum, { decoded }) => sum + bytesIn(decoded), 0);
  }
}

function bytesIn({ sizes }: Decoded<unknown>): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

function joined<Event>(first: Decoded<Event>, then: Decoded<Event>): Decoded<Event> {
  return {
    ...then,
    events: [...first.events, ...then.events],
    fingerprints: [...first.fingerprints, ...then.fingerprints],
    sizes: [...first.sizes, ...then.sizes],
  };
}

function part<Event>(
  { topic, partition, events, fingerprints, sizes }: Decoded<Event>,
  from: number,
  to: number,
): Decoded<Event> {
  return {
    topic,
    partition,
    events: events.slice(from, to),
    fingerprints: fingerprints.slice(from, to),
    sizes: sizes.slice(from, to),
  };
}
