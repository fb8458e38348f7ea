/** Which parts of the system stand still although there is something for them to do. */
import type { Status } from '../../../../schemas/explorer-api/network.ts';

/** A projection by its name, or `blocks`: the record of the chain's blocks in the log. */
export type Part = string;

interface Position {
  readonly part: Part;
  /** where it stands, as text */
  readonly at: string;
  /** Unix milliseconds of the first look at it here, with something to do */
  readonly since: number;
}

/** The state after the latest look. */
interface Looks {
  /** Unix milliseconds of the latest look */
  readonly latest: number;
  /** the parts that had something to do then, by partition */
  readonly positions: ReadonlyMap<string, Position>;
}

export const NO_LOOK: Looks = { latest: 0, positions: new Map() };

/** Nothing that works stands at one place for so long. */
const STILL_MS = 5_000;

/** Looks further apart prove nothing: a page that is hidden does not look. */
const PAUSE_MS_MAX = 5_000;

/**
 * The looks with one more, at `now`. The offset of one look proves nothing: a record that arrived a
 * moment ago is not read yet.
 */
export function withStatus({ latest, positions }: Looks, status: Status, now: number): Looks {
  const before = Math.abs(now - latest) > PAUSE_MS_MAX ? NO_LOOK.positions : positions;
  const { indexed, lag_blocks: lagBlocks } = status;
  const chain = status.projections.find(({ projection }) => projection === 'explorer');
  // blocks in the log that are not shown yet are not the ingester's
  const isUnrecorded = (lagBlocks ?? 0) > 0 && chain?.lag_records === 0;
  const all: readonly (readonly [string, Part, string])[] = [
    ...(isUnrecorded ? [['blocks', 'blocks', String(indexed?.height)] as const] : []),
    ...status.projections
      .filter(({ lag_records: lagRecords, loading }) => (lagRecords ?? 0) > 0 && !loading)
      .map(
        ({ projection, topic, partition, next_offset: nextOffset }) =>
          [`${projection} ${topic} ${partition}`, projection, String(nextOffset)] as const,
      ),
  ];
  return {
    latest: now,
    positions: new Map(
      all.map(([key, part, at]) => {
        const known = before.get(key);
        return [key, known?.at === at ? known : { part, at, since: now }];
      }),
    ),
  };
}

/** Each part once. When one of them stopped is not known: maybe long before the first look. */
export function standingStill({ latest, positions }: Looks): readonly Part[] {
  const still = [...positions.values()].filter(({ since }) => latest - since >= STILL_MS);
  return [...new Set(still.map(({ part }) => part))];
}
