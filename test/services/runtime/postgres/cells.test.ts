import { expect, test } from 'vitest';
import {
  byteaBytes,
  byteaDigits,
  byteaHex,
  isoTime,
  unixMilliseconds,
} from '../../../../services/runtime/postgres/cells.ts';

test('a bytea is read as digits, as 0x text and as bytes, an absent one as empty', () => {
  expect([byteaDigits('\\x0aff'), byteaHex('\\x0aff')]).toEqual(['0aff', '0x0aff']);
  expect(byteaBytes('\\x0aff')).toEqual(Buffer.from([10, 255]));
  expect([byteaDigits(null), byteaHex(undefined), byteaBytes(null).length]).toEqual(['', '0x', 0]);
});

test.each([
  ['2026-11-21 07:28:00+00', '2026-11-21T07:28:00.000Z'],
  ['2026-11-21 07:28:00.5+00', '2026-11-21T07:28:00.500Z'],
  ['2026-11-21 07:28:00.123+00', '2026-11-21T07:28:00.123Z'],
  ['2026-11-21 07:28:00.123456+00', '2026-11-21T07:28:00.123Z'],
  ['10000-01-01 00:00:00+00', '10000-01-01T00:00:00.000Z'],
])('the time %s is %s', (cell, wanted) => expect(isoTime(cell)).toBe(wanted));

test('a time is read as Unix milliseconds', () =>
  expect(unixMilliseconds('1970-01-01 00:00:01.5+00')).toBe(1_500));
