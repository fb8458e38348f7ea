/** Which country a place is in, by the outlines of the map: pure, over places of strangers. */
import type { Feature, Geometry, Position } from 'geojson';
import type { Coordinates } from '../api/hub.ts';
import { TURN, turnedTo } from './places.ts';

/** A part of a country that hangs together, with the box around it. */
export interface Outline {
  readonly name: string;
  /** the first goes around, the others are holes */
  readonly rings: readonly Position[][];
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/**
 * Degrees of latitude, some five kilometres. The outlines are drawn for a map of 1:50,000,000: a
 * place as near to a border or to the sea may lie on either side, so nothing is said of it.
 */
const UNSURE = 0.05;

export function outlinesOf(
  countries: readonly Feature<Geometry, { readonly name: string }>[],
): readonly Outline[] {
  return countries.flatMap(({ geometry, properties: { name } }) =>
    partsOf(geometry).map((parts): Outline => {
      const rings = parts.map((ring) => unrolled(ring));
      const [lngs, lats] = [0, 1].map((axis) => rings.flat().map((point) => point[axis] ?? 0));
      const [west, east] = rangeOf(lngs ?? []);
      const [south, north] = rangeOf(lats ?? []);
      return { name, rings, west, south, east, north };
    }),
  );
}

/**
 * A ring whose longitudes go on where it crosses 180 degrees, so that each piece is short. One that
 * goes around a pole, as that of Antarctica, is closed along the edge of the map.
 */
function unrolled(ring: readonly Position[]): Position[] {
  const points: Position[] = [];
  for (const [lng = 0, lat = 0] of ring)
    points.push([turnedTo(lng, points.at(-1)?.[0] ?? lng), lat]);
  const [first = [], last = []] = [points[0], points.at(-1)];
  if (first[0] === last[0]) return points;
  const pole = (first[1] ?? 0) < 0 ? -90 : 90;
  return [...points, [last[0] ?? 0, pole], [first[0] ?? 0, pole], first];
}

function partsOf(geometry: Geometry): readonly Position[][][] {
  if (geometry.type === 'Polygon') return [geometry.coordinates];
  return geometry.type === 'MultiPolygon' ? geometry.coordinates : [];
}

function rangeOf(values: readonly number[]): readonly [number, number] {
  return [
    values.reduce((least, value) => Math.min(least, value), Infinity),
    values.reduce((most, value) => Math.max(most, value), -Infinity),
  ];
}

/** Undefined at sea, and where a border or the sea is near. */
export function countryAt(
  outlines: readonly Outline[],
  { latitude, longitude }: Coordinates,
): string | undefined {
  const level = outlines.filter(({ south, north }) => latitude >= south && latitude <= north);
  const [found, another] = level.flatMap((outline) =>
    [longitude - TURN, longitude, longitude + TURN]
      .filter((lng) => isIn(outline, lng, latitude))
      .map((lng) => ({ outline, lng })),
  );
  if (found === undefined || another !== undefined) return undefined;
  return isNear(found.outline, found.lng, latitude) ? undefined : found.outline.name;
}

type Side = readonly [fromLng: number, fromLat: number, toLng: number, toLat: number];

/** The straight pieces of an outline. */
function* sidesOf({ rings }: Outline): Generator<Side> {
  for (const ring of rings)
    for (let at = 1; at < ring.length; at++) {
      const [fromLng = 0, fromLat = 0] = ring[at - 1] ?? [];
      const [toLng = 0, toLat = 0] = ring[at] ?? [];
      yield [fromLng, fromLat, toLng, toLat];
    }
}

/** Whether a ray to the east crosses the outline an odd number of times. */
function isIn(outline: Outline, lng: number, lat: number): boolean {
  if (lng < outline.west || lng > outline.east) return false;
  let isInside = false;
  for (const [fromLng, fromLat, toLng, toLat] of sidesOf(outline)) {
    if (fromLat > lat === toLat > lat) continue;
    if (lng < fromLng + ((toLng - fromLng) * (lat - fromLat)) / (toLat - fromLat))
      isInside = !isInside;
  }
  return isInside;
}

/** Whether a side is within `UNSURE` of the place, on a plane that touches the earth there. */
function isNear(outline: Outline, lng: number, lat: number): boolean {
  const narrow = Math.cos((lat * Math.PI) / 180);
  for (const [fromLng, fromLat, toLng, toLat] of sidesOf(outline)) {
    if (Math.min(fromLat, toLat) > lat + UNSURE || Math.max(fromLat, toLat) < lat - UNSURE)
      continue;
    const [x, y] = [(fromLng - lng) * narrow, fromLat - lat];
    const [alongX, alongY] = [(toLng - fromLng) * narrow, toLat - fromLat];
    const length = alongX * alongX + alongY * alongY;
    const share = length === 0 ? 0 : -(x * alongX + y * alongY) / length;
    const nearest = Math.min(1, Math.max(0, share));
    if (Math.hypot(x + nearest * alongX, y + nearest * alongY) < UNSURE) return true;
  }
  return false;
}
