import { assert, nat, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { count, decision, didYouMean, Misuse, usd } from '../../../services/ops/usage.ts';

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

test('an amount is in USDT with up to six decimals', () => {
  const amounts = ['0', '1', '12.5', '0.000001', '-3.25', '00.100000'];
  expect(amounts.map((text) => usd('--amount', text))).toEqual([
    0n,
    1_000_000n,
    12_500_000n,
    1n,
    -3_250_000n,
    100_000n,
  ]);
  for (const text of ['', '.5', '1.', '1,5', '1e6', '0x1', '1.0000001', ' 1', '+1'])
    expect(() => usd('--amount', text)).toThrow(Misuse);
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

test('the actor and the reason of a decision are kept as they are, or refused', () => {
  const text = string({ unit: nat(0xff_ff).map((code) => String.fromCharCode(code)) });
  assert(
    property(text, text, (actor, reason) => {
      try {
        for (const kept of Object.values(decision({ actor, reason })))
          expect(Buffer.from(kept).toString()).toBe(kept);
      } catch (error) {
        expect(error).toBeInstanceOf(Misuse);
      }
    }),
  );
  expect(() => decision({ actor: 'alice', reason: 'a \ud83d' })).toThrow('half of a character');
  expect(decision({ actor: 'alice', reason: ' \u{1f600} ' }).reason).toBe('\u{1f600}');
});
