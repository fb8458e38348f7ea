import { expect, test } from 'vitest';
import { count, decision, didYouMean, Misuse } from '../../../services/ops/usage.ts';

const COMMANDS = [
  'status',
  'tail',
  'deposit',
  'reserve',
  'audit',
  'rebuild',
  'verify',
  'quarantine',
];

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
])('for "%s" the command %s is suggested', (word, meant) => {
  expect(didYouMean(word, COMMANDS)).toBe(meant === undefined ? '' : `, did you mean ${meant}?`);
});

test('a count is a whole number from 1 to its maximum', () => {
  expect(count('--limit', '100', 100)).toBe(100);
  for (const text of ['0', '-1', '1.5', '101', '1e1', ''])
    expect(() => count('--limit', text, 100)).toThrow(Misuse);
});

test('a decision needs an actor and a reason of at most 1,000 characters', () => {
  expect(decision({ actor: ' alice ', reason: 'known to us' })).toEqual({
    actor: 'alice',
    reason: 'known to us',
  });
  for (const text of ['', '  ', 'x'.repeat(1_001)]) {
    expect(() => decision({ actor: text, reason: 'why' })).toThrow(Misuse);
    expect(() => decision({ actor: 'alice', reason: text })).toThrow(Misuse);
  }
});
