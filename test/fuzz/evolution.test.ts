import { expect, test } from 'vitest';
import { Random } from '../support/random.ts';
import type { Compared } from './coverage.ts';
import { Evolution } from './evolution.ts';

const INPUTS_MAX = 100_000;

/** A decoder whose branches are counted by hand, the first one for each word. */
function decode(text: string, counters: Uint8Array, compared: Compared[]): boolean {
  const [word = '', number = '', ...letters] = text.split(' ');
  counters[0] = Math.min(255, 3 + letters.length);
  compared.push([word, 'transfer']);
  compared.push([number, '4294967296']);
  if (word !== 'transfer') return false;
  counters[1] = 1;
  if (number !== '4294967296') return false;
  counters[2] = 1;
  const run = letters.findIndex((letter) => letter !== 'x');
  counters[3] = Math.min(255, run === -1 ? letters.length : run);
  return letters.length > 30 && run === -1;
}

function inputsUntilFound(seed: number): number {
  const counters = new Uint8Array(4);
  const compared: Compared[] = [];
  const evolution = new Evolution({
    random: new Random(seed),
    words: [],
    bytes_max: 200,
    counters,
    branches: () => counters.length,
    compared,
  });
  let bytes: Buffer = Buffer.from('a 1 x');
  for (let inputs = 1; inputs <= INPUTS_MAX; inputs++) {
    if (decode(bytes.toString(), counters, compared)) return inputs;
    evolution.ran(bytes);
    bytes = evolution.next();
  }
  return INPUTS_MAX;
}

test('inputs evolve through words, numbers and repetitions that chance alone never finds', () => {
  expect(inputsUntilFound(1)).toBeLessThan(INPUTS_MAX);
});

test('the same seed makes the same inputs', () => {
  expect(inputsUntilFound(2)).toBe(inputsUntilFound(2));
});

test('an input is kept for a branch, its magnitude, or less than half the bytes', () => {
  const counters = new Uint8Array(2);
  const evolution = new Evolution({
    random: new Random(1),
    words: [],
    bytes_max: 10,
    counters,
    branches: () => 2,
    compared: [],
  });
  const ran = (text: string, ...counts: readonly number[]): boolean => {
    counters.set(counts);
    return evolution.ran(Buffer.from(text));
  };
  expect(ran('abcdef', 1, 0)).toBe(true);
  expect(ran('abcd', 1, 0)).toBe(false);
  expect(ran('ab', 1, 0)).toBe(true);
  expect(ran('abcdefgh', 9, 1)).toBe(true);
  expect(ran('abcdefgh', 15, 1)).toBe(false);
  expect(evolution.kept.map(String)).toEqual(['abcdef', 'ab', 'abcdefgh']);
  expect(evolution.branches).toBe(2);
  for (let left = 100; left > 0; left--) expect(evolution.next().length).toBeLessThanOrEqual(10);
});
