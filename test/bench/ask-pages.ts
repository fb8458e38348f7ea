/**
 * The same requests to a small and a large explorer, alternating, so that disturbances of the
 * machine meet both.
 */
import { Random } from '../support/random.ts';
import { KeepAlive } from './keep-alive.ts';
import type { PageMix } from './page-mix.ts';
import { median, percentile } from './report.ts';

export interface Asked {
  /** of the gateway, without a path */
  readonly url: string;
  readonly mix: PageMix;
}

/** Milliseconds of each request, in order, by the mix's own names. */
export type Timings = ReadonlyMap<string, number[]>;

const WARM_UP = 0.2;
const NO_ITEMS = Buffer.from('"items":[]');

/**
 * Sends this many requests of each kind to each; throws when an answer is not 200 or a page is
 * empty. The mixes have the same names.
 */
export async function askInTurns(
  all: readonly Asked[],
  requests: number,
  seed: number,
): Promise<readonly Timings[]> {
  const random = new Random(seed);
  const connections = await Promise.all(all.map(({ url }) => KeepAlive.open(url)));
  try {
    await ask(Math.ceil(requests * WARM_UP));
    return await ask(requests);
  } finally {
    for (const connection of connections) connection.close();
  }

  async function ask(times: number): Promise<readonly Timings[]> {
    const kinds = Object.keys(all[0]?.mix ?? {});
    const timings = all.map(() => new Map(kinds.map((kind): [string, number[]] => [kind, []])));
    for (let time = 0; time < times; time++) {
      // in random order: garbage collection must not hit one kind for minutes, nor one server first
      for (const kind of shuffled(kinds)) {
        for (let at = 0; at < all.length; at++) {
          const whom = (at + time) % all.length;
          timings[whom]?.get(kind)?.push(await timed(whom, kind));
        }
      }
    }
    return timings;
  }

  function shuffled(kinds: readonly string[]): readonly string[] {
    return kinds
      .map((kind) => ({ kind, place: random.uint32() }))
      .toSorted((one, other) => one.place - other.place)
      .map(({ kind }) => kind);
  }

  async function timed(whom: number, kind: string): Promise<number> {
    const connection = connections[whom];
    const path = all[whom]?.mix[kind]?.(random);
    if (connection === undefined || path === undefined)
      throw new Error(`nothing to ask for as ${kind}`);
    const begun = performance.now();
    const { status, body } = await connection.get(path);
    const took = performance.now() - begun;
    if (status !== 200 || body.includes(NO_ITEMS))
      throw new Error(`${path} answered ${status}: ${body.toString().slice(0, 500)}`);
    return took;
  }
}

export interface Compared {
  readonly list: string;
  readonly p50_small_ms: number;
  readonly p50_large_ms: number;
  readonly p50_ratio: number;
  readonly p99_small_ms: number;
  readonly p99_large_ms: number;
  readonly p99_ratio: number;
}

/**
 * The median of the p99 of several stretches: one pause of the machine makes the p99 of its
 * stretch.
 */
const STRETCHES = 5;

export function compare(small: Timings, large: Timings): readonly Compared[] {
  return [...small].map(([list, ofSmall]) => {
    const ofLarge = large.get(list) ?? [];
    const [p50Small, p50Large, p99Small, p99Large] = [
      median(ofSmall),
      median(ofLarge),
      p99Of(ofSmall),
      p99Of(ofLarge),
    ];
    return {
      list,
      p50_small_ms: p50Small,
      p50_large_ms: p50Large,
      p50_ratio: p50Large / p50Small,
      p99_small_ms: p99Small,
      p99_large_ms: p99Large,
      p99_ratio: p99Large / p99Small,
    };
  });
}

function p99Of(timings: readonly number[]): number {
  const length = Math.ceil(timings.length / STRETCHES);
  const stretches = Array.from({ length: STRETCHES }, (_, at) =>
    timings.slice(at * length, (at + 1) * length),
  );
  return median(
    stretches.filter((stretch) => stretch.length > 0).map((stretch) => percentile(stretch, 0.99)),
  );
}
