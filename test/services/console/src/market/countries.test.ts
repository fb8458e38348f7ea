import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import { expect, test } from 'vitest';
import { countryAt, outlinesOf } from '../../../../../services/console/src/market/countries.ts';

const ATLAS = createRequire(import.meta.url).resolve('world-atlas/countries-50m.json');
const topology: Topology<{ countries: GeometryCollection<{ name: string }> }> = JSON.parse(
  readFileSync(ATLAS, 'utf8'),
);
const { features } = feature(topology, topology.objects.countries);
const outlines = outlinesOf(features);
const NAMES = new Set(features.map(({ properties: { name } }) => name));
const corners = outlines.flatMap(({ rings }) => rings.flat());

test.each([
  [52.52, 13.405, 'Germany'],
  [-33.45, -70.66, 'Chile'],
  [39.74, -104.99, 'United States of America'],
  [-85, 170, 'Antarctica'],
  [67.5, 179, 'Russia'],
  [68, 180, 'Russia'],
  [68, -180, 'Russia'],
  [66.5, -173, 'Russia'],
  // a country within another one
  [-29.6, 28.2, 'Lesotho'],
])('%d, %d is in %s', (latitude, longitude, name) => {
  expect(countryAt(outlines, { latitude, longitude })).toBe(name);
});

test.each([
  ['the open sea', 0, -30],
  ['the North Pole', 90, 0],
  ['a city at the border of two countries', 47.56, 7.59],
  ['a city at the sea', 41.38, 2.17],
  ['the sea west of Greenland, at the latitude of Russia', 71.4, -85],
  ['Point Nemo', -48.87, -123.39],
])('nothing is said of %s', (_place, latitude, longitude) => {
  expect(countryAt(outlines, { latitude, longitude })).toBeUndefined();
});

const edge = fc.constantFrom(-180, 180, -90, 90, 0, -0, 179.999999, -179.999999, 89.999999);
const degrees = (most: number): fc.Arbitrary<number> =>
  fc.oneof(edge, fc.double({ min: -most, max: most, noNaN: true }), fc.double());

test('a place anywhere has a name of the atlas, or none', () => {
  fc.assert(
    fc.property(degrees(90), degrees(180), (latitude, longitude) => {
      const name = countryAt(outlines, { latitude, longitude });
      expect(name === undefined || NAMES.has(name)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

test('no place on an outline, or within five kilometres of a corner of one, has a name', () => {
  const corner = fc.nat(corners.length - 1).map((at) => corners[at] ?? []);
  const away = fc.double({ min: 0, max: 0.049, noNaN: true });
  fc.assert(
    fc.property(corner, away, fc.double({ min: 0, max: 7, noNaN: true }), (at, far, turn) => {
      const [lng = 0, lat = 0] = at;
      // the edge of the paper is no coast
      fc.pre(Math.abs(lng) < 179.9 && lat > -89.9);
      const narrow = Math.max(0.01, Math.cos((lat * Math.PI) / 180));
      const latitude = lat + far * Math.sin(turn);
      const longitude = lng + (far * Math.cos(turn)) / narrow;
      const name = countryAt(outlines, { latitude, longitude });
      expect([latitude, longitude, name]).toEqual([latitude, longitude, undefined]);
    }),
    { numRuns: 500 },
  );
});
