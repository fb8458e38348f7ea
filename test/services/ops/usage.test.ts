import { expect, test } from 'vitest';
import { didYouMean, Misuse, readArguments } from '../../../services/ops/usage.ts';

const COMMANDS = ['status', 'tail', 'deposit', 'reserve', 'audit', 'rebuild', 'verify', 'quarantine'];

test.each([
  ['statsu', 'status'],
  ['Status', 'status'],
  ['tial', 'tail'],
  ['deposits', 'deposit'],
  ['quarentine', 'quarantine'],
  ['re', undefined],
  ['verif', 'verify'],
  ['qua', 'quarantine'],
  ['dance', undefined],
  ['', undefined],
])('who types "%s" is asked whether it is %s', (word, meant) => {
  expect(didYouMean(word, COMMANDS)).toBe(meant === undefined ? '' : `, did you mean ${meant}?`);
});

test('an option that there is not is refused, naming the one that was meant; a value that is missing too', () => {
  const options = { json: { type: 'boolean' }, limit: { type: 'string' } } as const;
  const read = (...args: string[]) => readArguments(args, options);
  expect(read('a', '--limit', '5', 'b')).toMatchObject({ values: { limit: '5' }, positionals: ['a', 'b'] });
  expect(() => read('--limt', '5')).toThrow(new Misuse('there is no option --limt, did you mean --limit?; --help lists them'));
  expect(() => read('--loud')).toThrow(new Misuse('there is no option --loud; --help lists them'));
  expect(() => read('--limit')).toThrow(Misuse);
});
