import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { AddressMap } from '../../../projections/explorer/address-map.ts';

/** Few different bytes, so that addresses repeat and differ in their last byte alone. */
const address = fc
  .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 255 }))
  .map(([first, middle, last]) => Buffer.from([...Array<number>(9).fill(first), middle, ...Array<number>(9).fill(0), last]));

test('it answers as a map by the text of the address does, in the order in which addresses came', () => {
  fc.assert(
    fc.property(fc.array(address, { minLength: 1, maxLength: 3_000 }), (asked) => {
      const plain = new Map<string, number>();
      const map = new AddressMap<number>();
      for (const [at, each] of asked.entries()) {
        const text = each.toString('hex');
        expect(map.get(each)).toBe(plain.get(text));
        if (plain.has(text)) continue;
        plain.set(text, at);
        map.add(each, at);
      }
      expect(map.addresses.map((each) => each.toString('hex'))).toEqual([...plain.keys()]);
      expect(map.values).toEqual([...plain.values()]);
    }),
    { numRuns: 20 },
  );
});

test('what has not the length of an address is not taken for one', () => {
  const map = new AddressMap<number>();
  expect(() => map.add(Buffer.alloc(19), 1)).toThrow('an address has 20 bytes, not 19');
  map.add(Buffer.alloc(20), 1);
  expect(map.get(Buffer.alloc(20))).toBe(1);
});
