import { expect, test } from 'vitest';
import { clocksApart } from '../../../../services/treasury/minting/minter.ts';

const AT = Date.parse('2026-11-28T08:00:00Z');

test.each([
  [3_600_000, 'is dated 2026-11-28T09:00:00.000Z, 3600 s after'],
  [-7_200_000, 'is dated 2026-11-28T06:00:00.000Z, 7200 s before'],
])('a block of %i ms from the clock is told with both readings', (apart, dated) => {
  const text = clocksApart(AT, { height: 7, timestamp: AT + apart });
  expect(text).toContain(`block, 7, ${dated} this machine's clock, 2026-11-28T08:00:00.000Z`);
  expect(text).toContain('one of both clocks is wrong');
});
