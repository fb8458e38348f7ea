import { expect, test } from 'vitest';
import { bytesIn, countIn, textIn } from '../../../projections/contract/loaded-row.ts';

const ROW = {
  bytes: Buffer.from('a'),
  text: 'Transfer',
  int8: '9007199254740991',
  int4: 7,
  beyond: '9007199254740992',
  nothing: null,
  fraction: '1.5',
  empty: '',
};

test('a column of the right type is returned as that type', () => {
  expect(bytesIn(ROW, 'bytes')).toBe(ROW.bytes);
  expect(textIn(ROW, 'text')).toBe('Transfer');
  expect(countIn(ROW, 'int8')).toBe(Number.MAX_SAFE_INTEGER);
  expect(countIn(ROW, 'int4')).toBe(7);
});

test.each([
  ['bytea', bytesIn, 'text'],
  ['bytea', bytesIn, 'nothing'],
  ['text', textIn, 'bytes'],
  ['text', textIn, 'missing'],
  ['a whole number below 2^53', countIn, 'beyond'],
  ['a whole number below 2^53', countIn, 'nothing'],
  ['a whole number below 2^53', countIn, 'fraction'],
  ['a whole number below 2^53', countIn, 'empty'],
  ['a whole number below 2^53', countIn, 'bytes'],
])('reading %s from a value of another type is a bug', (type, read, column) => {
  expect(() => read(ROW, column)).toThrow(`the loaded column ${column} is not ${type}`);
});
