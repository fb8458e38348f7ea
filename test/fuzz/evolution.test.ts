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

function* evolving(seed: number): Generator<{ readonly text: string; readonly isFound: boolean }> {
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
  for (let bytes: Buffer = Buffer.from('a 1 x'); ; bytes = evolution.next()) {
    const text = bytes.toString('latin1');
    yield { text, isFound: decode(text, counters, compared) };
    evolution.ran(bytes);
  }
}

test('inputs evolve through words, numbers and repetitions that chance alone never finds', () => {
  const inputs = evolving(1).take(INPUTS_MAX);
  expect(inputs.some(({ isFound }) => isFound)).toBe(true);
});

function first(seed: number): string[] {
  const inputs = evolving(seed).take(1_000);
  return inputs.map(({ text }) => text).toArray();
}

test('the same seed makes the same inputs', () => {
  expect(first(2)).toEqual(first(2));
  expect(first(2)).not.toEqual(first(3));
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
