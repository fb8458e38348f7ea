import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { BytesIndex } from '../../projections/bytes-index.ts';

/** Few distinct bytes, so that values repeat, or differ in the last byte or in length alone. */
const bytes = fc
  .tuple(
    fc.nat({ max: 3 }),
    fc.nat({ max: 255 }),
    fc.nat({ max: 255 }),
    fc.constantFrom(0, 1, 18, 19, 20, 21, 100),
  )
  .map(([first, middle, last, length]) => {
    const all = Buffer.alloc(length, first);
    if (length > 9) all[9] = middle;
    if (length > 0) all[length - 1] = last;
    return all;
  });

test('byte strings are numbered by insertion, found by their bytes, and returned', () => {
  fc.assert(
    fc.property(fc.array(bytes, { minLength: 1, maxLength: 3_000 }), (asked) => {
      const plain = new Map<string, number>();
      const index = new BytesIndex();
      for (const each of asked) {
        const text = each.toString('hex');
        expect(index.find(each)).toBe(plain.get(text) ?? -1);
        if (plain.has(text)) continue;
        plain.set(text, plain.size);
        expect(index.add(each)).toBe(plain.size - 1);
      }
      expect(index.size).toBe(plain.size);
      expect([...plain.values()].map((place) => index.at(place).toString('hex'))).toEqual([
        ...plain.keys(),
      ]);
    }),
    { numRuns: 20 },
  );
});

test('byte strings that differ in trailing zeros are different', () => {
  const index = new BytesIndex();
  index.add(Buffer.alloc(19));
  expect(index.find(Buffer.alloc(20))).toBe(-1);
  expect(index.add(Buffer.alloc(20))).toBe(1);
  expect(index.find(Buffer.alloc(19))).toBe(0);
});
