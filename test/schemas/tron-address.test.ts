import { expect, test } from 'vitest';
import { encodeBase58 } from 'ethers';
import { parseTronAddress, toTronAddress } from '../../schemas/tron-address.ts';
import { Random } from '../support/random.ts';
import { TRONWEB_VECTORS } from './tron-vectors.ts';

const USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const USDT_HEX = '41a614f803b6fd780986a42c78ec9c7f77e6ded13c';

test.each(TRONWEB_VECTORS)('%s is %s, as in tronweb', (hex, base58) => {
  expect(toTronAddress(Buffer.from(hex, 'hex'))).toBe(base58);
  expect(parseTronAddress(base58)?.toString('hex')).toBe(hex);
  expect(parseTronAddress(`41${hex}`)?.toString('hex')).toBe(hex);
});

test.each([
  [USDT, USDT_HEX],
  ['TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf', '41eca9bc828a3005b9a3b909f2cc5c2a54794de05f'],
  ['TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC', '417e5f4552091a69125d5dfcb7b8c2659029395bdf'],
])('%s and %s are one address', (base58, hex) => {
  expect(parseTronAddress(base58)).toEqual(parseTronAddress(hex));
  expect(parseTronAddress(base58)).toEqual(parseTronAddress(hex.toUpperCase()));
  expect(toTronAddress(parseTronAddress(hex) ?? Buffer.alloc(0))).toBe(base58);
});

test.each([
  ['nothing', ''],
  ['a mistyped character', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u'],
  ['two characters swapped', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLjt6'],
  ['a character too few', USDT.slice(0, -1)],
  ['a character too many', `${USDT}1`],
  ['a space', `${USDT} `],
  ['a line break behind it', `${USDT}\n`],
  ['a character that base58 does not have', `${USDT.slice(0, -1)}0`],
  ['the other case', USDT.toLowerCase()],
  ['hex without the prefix', USDT_HEX.slice(2)],
  ['hex with 0x', `0x${USDT_HEX}`],
  ['hex with another prefix', `a0${USDT_HEX.slice(2)}`],
  ['hex a digit short', USDT_HEX.slice(0, -1)],
  ['hex with a line break', `${USDT_HEX}\n`],
  ['full-width digits', `４１${USDT_HEX.slice(2)}`],
  ['the address without a checksum', encodeBase58(Buffer.from(USDT_HEX, 'hex'))],
  ["another chain's prefix with a checksum of its own", '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2'],
])('%s is no address', (_what, text) => {
  expect(parseTronAddress(text)).toBeUndefined();
});

test('an address round-trips, and one changed character is refused', () => {
  const random = new Random(7);
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'.split('');
  for (let time = 0; time < 200; time++) {
    const address = random.bytes(20);
    const text = toTronAddress(address);
    expect(text).toMatch(/^T.{33}$/);
    expect(parseTronAddress(text)).toEqual(address);
    const at = 1 + random.below(33);
    const other = random.pick(alphabet.filter((character) => character !== text[at]));
    expect(parseTronAddress(text.slice(0, at) + other + text.slice(at + 1))).toBeUndefined();
  }
});

test('encoding throws for other than 20 bytes', () => {
  expect(() => toTronAddress(Buffer.alloc(21))).toThrow('a TRON address has 20 bytes, not 21');
});
