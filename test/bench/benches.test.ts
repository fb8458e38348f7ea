import { expect, test } from 'vitest';
import { BENCHES, MINUTES_MAX } from './benches.ts';

test('all benches together are expected to take two hours at most', () => {
  const minutes = Object.values(BENCHES).reduce((sum, each) => sum + each.minutes, 0);
  expect(minutes).toBeLessThanOrEqual(MINUTES_MAX);
});

test.each(Object.entries(BENCHES))(
  'the sizes of %s in all are options of the bench',
  (_, listed) => {
    for (const option of Object.keys(listed.in_all ?? {}))
      expect(Object.keys(listed.bench.options)).toContain(option);
  },
);
