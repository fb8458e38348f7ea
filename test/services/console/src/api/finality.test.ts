import { expect, test } from 'vitest';
import { judged, learnFinality } from '../../../../../services/console/src/api/finality.ts';

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
  expect(await answer).toEqual({ height: 9, final_height: 7 });
});

test('finality is unknown while nothing is known to be final', async () => {
  final(null);
  expect(await judged(() => Promise.resolve({}))).toEqual({ final_height: undefined });
  learnFinality({ indexed: null });
  expect(await judged(() => Promise.resolve({}))).toEqual({ final_height: undefined });
});
