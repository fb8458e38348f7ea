import { decodeRlp as ethersDecode, encodeRlp as ethersEncode } from 'ethers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Rlp } from '../../schemas/rlp.ts';
import { decodeInteger, decodeRlp, encodeInteger, encodeRlp } from '../../schemas/rlp.ts';

const item: fc.Arbitrary<Rlp> = fc.letrec<{ readonly item: Rlp }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 4 },
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie('item'), { maxLength: 6 }),
  ),
})).item;

const hexOf = (value: Rlp): unknown =>
  value instanceof Uint8Array
    ? `0x${Buffer.from(value).toString('hex')}`
    : value.map((each) => hexOf(each));

test("items round-trip and equal another implementation's bytes", () => {
  fc.assert(
    fc.property(item, (value) => {
      const bytes = encodeRlp(value);
      const decoded = decodeRlp(bytes, 10);
      expect('item' in decoded && hexOf(decoded.item)).toEqual(hexOf(value));
      expect(ethersDecode(bytes)).toEqual(hexOf(value));
    }),
    { numRuns: 500 },
  );
});

test('lists nested deeper than allowed are refused', () => {
  const bytes = Buffer.from(ethersEncode([[[]]]).slice(2), 'hex');
  expect(decodeRlp(bytes, 3)).toHaveProperty('item');
  expect(decodeRlp(bytes, 2)).toEqual({ refused: 'rlp_nested_too_deep' });
});

test('integers have no leading zero byte, and zero is empty', () => {
  expect(encodeInteger(0n)).toHaveLength(0);
  expect(decodeInteger(new Uint8Array(0))).toBe(0n);
  expect(decodeInteger(Uint8Array.of(0, 1))).toBeUndefined();
  fc.assert(
    fc.property(
      fc.bigInt(0n, 1n << 300n),
      (value) => decodeInteger(encodeInteger(value)) === value,
    ),
  );
});
