/** Where rides are, and the way of a trip: pure, over places that strangers choose. */
import type { Bounds, Coordinates } from '../api/hub.ts';

/** Longitude and latitude, as MapLibre has them. */
export type Position = [number, number];

/** The part of all places that the first view looks for. */
const MOST = 0.75;
/** Degrees, about fifty kilometres: a place as near to the others is far from none. */
const AROUND = 0.5;
export const TURN = 360;

interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * The box around most places and those near to them: a few at the other end of the world do not
 * move it. It may cross longitude 180: then `maxLng` is above it.
 * Undefined without places.
 */
export function boundsOfMost(places: readonly Coordinates[]): Bounds | undefined {
  if (places.length === 0) return undefined;
  const lats = shortest(places.map(({ latitude }) => latitude));
  const lngs = shortest(
    places.map(({ longitude }) => longitude),
    TURN,
  );
  const middle = (lngs.from + lngs.to) / 2;
  const near = places
    .map(({ latitude, longitude }) => ({ lat: latitude, lng: turnedTo(longitude, middle) }))
    .filter(({ lat, lng }) => isNear(lat, lats) && isNear(lng, lngs));
  return {
    minLat: Math.min(...near.map(({ lat }) => lat)),
    maxLat: Math.max(...near.map(({ lat }) => lat)),
    minLng: Math.min(...near.map(({ lng }) => lng)),
    maxLng: Math.max(...near.map(({ lng }) => lng)),
  };
}

/** The shortest range with most of the values, on a circle of `turn` degrees if one is given. */
function shortest(values: readonly number[], turn?: number): Range {
  const sorted = values.toSorted((one, other) => one - other);
  const around = turn === undefined ? [] : sorted.map((value) => value + turn);
  const line = [...sorted, ...around];
  const count = Math.ceil(sorted.length * MOST);
  const starts = turn === undefined ? sorted.length - count + 1 : sorted.length;
  let best: Range = { from: line[0] ?? 0, to: line[count - 1] ?? 0 };
  for (let at = 1; at < starts; at++) {
    const range = { from: line[at] ?? 0, to: line[at + count - 1] ?? 0 };
    if (range.to - range.from < best.to - best.from) best = range;
  }
  return best;
}

function isNear(value: number, { from, to }: Range): boolean {
  const beyond = Math.max(AROUND, to - from);
  return value >= from - beyond && value <= to + beyond;
}

/** A longitude as it is written at most half a turn from `middle`. */
export function turnedTo(longitude: number, middle: number): number {
  return longitude + TURN * Math.round((middle - longitude) / TURN);
}

export function isWithin({ latitude, longitude }: Coordinates, bounds: Bounds): boolean {
  const { minLat, maxLat, minLng, maxLng } = bounds;
  const lng = turnedTo(longitude, (minLng + maxLng) / 2);
  return latitude >= minLat && latitude <= maxLat && lng >= minLng && lng <= maxLng;
}

/** How far an arc bends from the straight line, as a part of its length. */
const BEND = 0.18;
const PIECES = 24;
/** Mercator ends here. */
const LAT_MAX = 85;

/** The way that does not go around the earth, as an arc: there and back are two arcs. */
export function arcOf(from: Coordinates, to: Coordinates): Position[] {
  const begin: Position = [from.longitude, from.latitude];
  const end: Position = [turnedTo(to.longitude, from.longitude), to.latitude];
  const [lng, lat] = [end[0] - begin[0], end[1] - begin[1]];
  // a degree of longitude is shorter than one of latitude
  const narrow = Math.max(0.1, Math.cos((((begin[1] + end[1]) / 2) * Math.PI) / 180));
  const bend: Position = [
    (begin[0] + end[0]) / 2 - (BEND * lat) / narrow,
    (begin[1] + end[1]) / 2 + BEND * lng * narrow,
  ];
  return Array.from({ length: PIECES + 1 }, (_, at) => {
    const [done, left] = [at / PIECES, 1 - at / PIECES];
    const along = (axis: 0 | 1): number =>
      left * left * begin[axis] + 2 * left * done * bend[axis] + done * done * end[axis];
    return [along(0), Math.min(LAT_MAX, Math.max(-LAT_MAX, along(1)))];
  });
}

/** The beginning of an arc, with the point where it ends; `share` from 0 to 1. */
export function partOf(arc: readonly Position[], share: number): Position[] {
  const pieces = (arc.length - 1) * Math.min(1, Math.max(0, share));
  const whole = Math.floor(pieces);
  const [from, to] = [arc[whole], arc[whole + 1]];
  const passed = arc.slice(0, whole + 1);
  if (from === undefined || to === undefined || pieces === whole) return passed;
  const rest = pieces - whole;
  const head: Position = [from[0] + (to[0] - from[0]) * rest, from[1] + (to[1] - from[1]) * rest];
  return [...passed, head];
}
