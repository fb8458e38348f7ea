import { expect, test } from 'vitest';
import { Rests } from '../../../../services/projector/engine/rests.ts';

/** A clock that only work and rests move. */
function clock() {
  let now = 5_000;
  const rested: number[] = [];
  return {
    rested,
    work: (ms: number): void => {
      now += ms;
    },
    timing: {
      now: () => now,
      wait: async (ms: number): Promise<void> => {
        rested.push(ms);
        now += ms;
      },
    },
  };
}

test.each([
  [0.5, [100, 2_000, 0]],
  [0.1, [900, 18_000, 0]],
  [0.8, [25, 500, 0]],
])('at a pace of %f rests are as long as the work before them asks', async (pace, lengths) => {
  const { rested, work, timing } = clock();
  const rests = new Rests(pace, timing);
  work(700);
  expect(rests.due_ms).toBe(0);
  await rests.take();
  for (const ms of [100, 2_000, 0]) {
    work(ms);
    await rests.take();
  }
  expect(rested.map(Math.round)).toEqual([0, ...lengths]);
});

test('no rest is longer than 30 seconds, however long the work before it', async () => {
  const { rested, work, timing } = clock();
  const rests = new Rests(0.5, timing);
  await rests.take();
  for (const ms of [30_000, 600_000]) {
    work(ms);
    await rests.take();
  }
  expect(rested).toEqual([0, 30_000, 30_000]);
});
