import { expect, test } from 'vitest';
import {
  confirmationsOf,
  judged,
  learnFinality,
} from '../../../../../services/console/src/api/finality.ts';

function final(height: number | null): void {
  learnFinality({ indexed: { height: 99, finalized_height: height } });
}

test('an answer is judged by the height that was final before it was asked for', async () => {
  final(7);
  const { promise, resolve } = Promise.withResolvers<{ readonly height: number }>();
  const answer = judged(() => promise);
  // block 9 of the answer may have been replaced before another block 9 became final
  final(9);
  resolve({ height: 9 });
  expect(await answer).toEqual({ height: 9, final_height: 7, head_height: 99 });
});

test('finality is unknown while nothing is known to be final', async () => {
  final(null);
  expect(await judged(() => Promise.resolve({}))).toEqual({
    final_height: undefined,
    head_height: 99,
  });
  learnFinality({ indexed: null });
  expect(await judged(() => Promise.resolve({}))).toEqual({ final_height: undefined });
});

test.each([
  // height, final, head, confirmations
  [100, 88, 100, { has: 0, needs: 12 }],
  [97, 88, 100, { has: 3, needs: 12 }],
  [89, 88, 100, { has: 11, needs: 12 }],
  [88, 88, 100, { has: 12, needs: 12 }],
  [0, 88, 100, { has: 12, needs: 12 }],
  // newer than the moment
  [101, 88, 100, { has: 0, needs: 12 }],
  [101, 100, 100, { has: 0, needs: 1 }],
  [100, 100, 100, { has: 1, needs: 1 }],
  // nothing is final yet
  [0, -1, 3, { has: 3, needs: 4 }],
])(
  'block %i has, with %i final and %i the newest, %j',
  (height, final_height, head_height, confirmations) => {
    expect(confirmationsOf(height, { final_height, head_height })).toEqual(confirmations);
  },
);

test('confirmations are all there exactly where the block is final', () => {
  for (let last = -1; last < 8; last++)
    for (let head = Math.max(last, 0); head < 9; head++)
      for (let height = 0; height < 11; height++) {
        const counted = confirmationsOf(height, { final_height: last, head_height: head });
        expect(counted?.has === counted?.needs).toBe(height <= last);
      }
});
