import { expect, test } from 'vitest';
import { planOf, play, wordsOf } from './sequence.ts';

/** `main.ts` plays any number of them. */
const SEQUENCES = 15;
/** From here on the forged records of some sequences count. */
const FIRST = 16;
/** Seeds whose sequences have found faults. */
const FOUND = [269];

test('no sequence of forged records mints, loses or hides money, or goes unnamed by the audit', async () => {
  const sums = { forged: 0, counted: 0, mints: 0 };
  for (const seed of [...Array.from({ length: SEQUENCES }, (_, at) => FIRST + at), ...FOUND]) {
    const plan = planOf(seed);
    const { violations, words, forged, counted, mints } = await play(plan);
    expect(violations, [wordsOf(plan), ...words].join('\n')).toEqual([]);
    sums.forged += forged;
    sums.counted += counted;
    sums.mints += mints;
  }
  // much was tried, some of it counted, and deposits were minted meanwhile
  expect(sums.forged).toBeGreaterThan(4 * SEQUENCES);
  expect(sums.counted).toBeGreaterThan(SEQUENCES / 4);
  expect(sums.mints).toBeGreaterThan(SEQUENCES / 2);
});

test('a sequence is the same each time that its seed is played', async () => {
  const [one, other] = [await play(planOf(7)), await play(planOf(7))];
  expect(one.words.length).toBeGreaterThan(0);
  expect(other.forged).toBe(one.forged);
  expect(other.words.map(withoutTimes)).toEqual(one.words.map(withoutTimes));
});

/** Ids of runs and of the ledger are random. */
function withoutTimes(line: string): string {
  return line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+/g, '...');
}
