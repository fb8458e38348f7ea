import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Coordinates } from '../../../../../services/console/src/api/hub.ts';
import {
  arcOf,
  boundsOfMost,
  isWithin,
  partOf,
} from '../../../../../services/console/src/market/places.ts';

const at = (latitude: number, longitude: number): Coordinates => ({ latitude, longitude });
const BERLIN = [at(52.52, 13.4), at(52.36, 13.51), at(52.5, 13.3), at(52.55, 13.45)];

const anywhere = fc.record({
  latitude: fc.double({ min: -90, max: 90, noNaN: true }),
  longitude: fc.double({ min: -180, max: 180, noNaN: true }),
});
const WIDTH = 0.5;
/** Places of a city, also of one through which longitude 180 goes. */
const city = fc
  .tuple(
    fc.double({ min: -60, max: 60, noNaN: true }),
    fc.double({ min: -180, max: 180, noNaN: true }),
    fc.array(
      fc.tuple(
        fc.double({ min: 0, max: WIDTH, noNaN: true }),
        fc.double({ min: 0, max: WIDTH, noNaN: true }),
      ),
      { minLength: 4, maxLength: 40 },
    ),
  )
  .map(([south, west, places]) => ({
    bounds: { minLat: south, maxLat: south + WIDTH, minLng: west, maxLng: west + WIDTH },
    places: places.map(([north, east]) =>
      at(south + north, west + east > 180 ? west + east - 360 : west + east),
    ),
  }));

describe('the first view', () => {
  test('has all places where none is far from the others', () => {
    expect(boundsOfMost(BERLIN)).toEqual({
      minLat: 52.36,
      maxLat: 52.55,
      minLng: 13.3,
      maxLng: 13.51,
    });
  });

  test('is not moved by a pickup at longitude 179.95, also of few rides', () => {
    expect(boundsOfMost([...BERLIN, at(0, 179.95)])).toEqual(boundsOfMost(BERLIN));
  });

  test('is not moved by places far from a city, as long as they are at most a fifth of all', () => {
    fc.assert(
      fc.property(city, fc.array(anywhere, { maxLength: 10 }), ({ bounds, places }, strangers) => {
        const far = strangers
          .filter(
            (place) =>
              !isWithin(place, {
                minLat: bounds.minLat - 3 * WIDTH,
                maxLat: bounds.maxLat + 3 * WIDTH,
                minLng: bounds.minLng - 3 * WIDTH,
                maxLng: bounds.maxLng + 3 * WIDTH,
              }),
          )
          .slice(0, Math.floor(places.length / 4));
        const view = boundsOfMost([...far, ...places]);
        if (view === undefined) throw new Error('no view');
        const middle = (bounds.minLng + bounds.maxLng) / 2;
        const turn = 360 * Math.round((middle - (view.minLng + view.maxLng) / 2) / 360);
        const near = 1e-9;
        expect(view.minLat).toBeGreaterThanOrEqual(bounds.minLat - near);
        expect(view.maxLat).toBeLessThanOrEqual(bounds.maxLat + near);
        expect(view.minLng + turn).toBeGreaterThanOrEqual(bounds.minLng - near);
        expect(view.maxLng + turn).toBeLessThanOrEqual(bounds.maxLng + near);
        expect(places.filter((place) => isWithin(place, view)).length).toBeGreaterThanOrEqual(
          (places.length + far.length) / 2 - far.length,
        );
      }),
    );
  });

  test('is a box on the earth, of any places', () => {
    expect(boundsOfMost([])).toBeUndefined();
    fc.assert(
      fc.property(fc.array(anywhere, { minLength: 1, maxLength: 30 }), (places) => {
        const view = boundsOfMost(places);
        if (view === undefined) throw new Error('no view');
        expect(view.minLat).toBeGreaterThanOrEqual(-90);
        expect(view.maxLat).toBeLessThanOrEqual(90);
        expect(view.minLat).toBeLessThanOrEqual(view.maxLat);
        expect(view.maxLng - view.minLng).toBeGreaterThanOrEqual(0);
        expect(view.maxLng - view.minLng).toBeLessThanOrEqual(360);
      }),
    );
  });
});

describe('the arc of a trip', () => {
  test('leads from pickup to dropoff by the shorter way, and never around the earth', () => {
    fc.assert(
      fc.property(anywhere, anywhere, (from, to) => {
        const arc = arcOf(from, to);
        const [begin = NaN, end = NaN] = [arc[0]?.[0], arc.at(-1)?.[0]];
        expect(begin).toBeCloseTo(from.longitude);
        expect(Math.abs(end - begin)).toBeLessThanOrEqual(180 + 1e-9);
        expect(Math.cos(((end - to.longitude) * Math.PI) / 180)).toBeCloseTo(1);
        for (const [lng, lat] of arc) {
          expect(Number.isFinite(lng)).toBe(true);
          expect(Math.abs(lat)).toBeLessThanOrEqual(85);
        }
      }),
    );
  });

  test('there and back are two arcs', () => {
    const [there, back] = [arcOf(at(0, 0), at(0, 10)), arcOf(at(0, 10), at(0, 0))];
    expect(there[12]?.[1]).toBeGreaterThan(0);
    expect(back[12]?.[1]).toBeLessThan(0);
  });

  test('fills from its beginning to its end', () => {
    const arc = arcOf(at(52.52, 13.405), at(52.36, 13.51));
    expect(partOf(arc, 0)).toEqual([arc[0]]);
    expect(partOf(arc, 1)).toEqual(arc);
    expect(partOf(arc, 0.5)).toEqual(arc.slice(0, 13));
    const [before, head] = partOf(arc, 0.51).slice(-2);
    expect(before).toEqual(arc[12]);
    expect(head?.[1]).toBeLessThan(arc[12]?.[1] ?? 0);
    expect(head?.[1]).toBeGreaterThan(arc[13]?.[1] ?? 90);
  });
});
