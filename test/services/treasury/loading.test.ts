import { expect, test } from 'vitest';
import { loadingProblem } from '../../../services/treasury/loading.ts';

test('a treasury that reads its logs says how far it is, how long it takes and why', () => {
  expect(loadingProblem({ read: 20n, behind: 80n, seconds_left: 4 }, 'it is damaged')).toEqual({
    status: 'working',
    phase: 'loading',
    eta_s: 4,
    message:
      'reading the logs: 20 records of 100 are read (the snapshot was thrown away: it is damaged)',
  });
  expect(loadingProblem({ read: 20n, behind: 0n, seconds_left: undefined }).message).toBe(
    'reading the logs: 20 records of 20 are read',
  );
});
