import { expect, test } from 'vitest';
import { readBounds, readLongitude } from '../../../../services/hub-gateway/graphql/parameters.ts';

function west(minLng: number, maxLng: number): readonly number[] {
  const read = readBounds({ minLat: 0, maxLat: 1, minLng, maxLng });
  return [read?.min_lng ?? Number.NaN, read?.max_lng ?? Number.NaN];
}

test.each([
  ['within the range stays', [-180, 180], [-180, 180]],
  ['over the antimeridian as the hub means it stays', [170, -170], [170, -170]],
  ['over the antimeridian to the east', [170, 190], [170, -170]],
  ['over the antimeridian to the west', [-200, -170], [160, -170]],
  ['in the next world', [361, 365], [1, 5]],
  ['in the third world to the west', [-725, -715], [-5, 5]],
  ['of one meridian', [200, 200], [-160, -160]],
  ['up to the antimeridian', [190, 540], [-170, -180]],
  ['that show the whole world once', [10, 370], [-180, 180]],
  ['that show the world more than once', [-400, 400], [-180, 180]],
])('bounds of a wrapping map %s', (_title, [min = 0, max = 0], expected) => {
  expect(west(min, max)).toEqual(expected);
});

test('no bounds have an infinite longitude, or a latitude beyond a pole', () => {
  expect(() => west(Number.NEGATIVE_INFINITY, 0)).toThrow('minLng must be in degrees');
  expect(() => west(0, Number.NaN)).toThrow('maxLng must be in degrees');
  expect(() => readBounds({ minLat: 0, maxLat: 91, minLng: 0, maxLng: 1 })).toThrow('maxLat');
});

test('a longitude that is signed is not normalised', () => {
  expect(readLongitude('pickupLongitude', -180)).toBe('-180');
  expect(() => readLongitude('pickupLongitude', 190)).toThrow('from -180 to 180');
});
