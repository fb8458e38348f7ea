import { expect, test } from 'vitest';
import { rides } from './rides.ts';

// a thousand rides are in test/faults
test('a wallet that loses answers, restarts at each step and sends again makes each payment once', async () => {
  const { made, wanted, seen } = await rides(10, 'once');
  expect(made).toEqual(wanted);
  for (const [event, count] of Object.entries(seen))
    expect([event, count > 0]).toEqual([event, true]);
});
