import { expect, test } from 'vitest';
import { ReadModelLag } from '../../../../services/runtime/process/read-model-lag.ts';

test('a projection that lacks what the log had for long is a problem, until it has caught up', () => {
  let now = 0;
  const lag = new ReadModelLag('watch', () => now, 60_000);
  lag.saw(5n, 5n);
  expect(lag.problem).toBeUndefined();
  now = 30_000;
  lag.saw(8n, 5n);
  expect(lag.problem).toBeUndefined();
  now = 89_999;
  lag.saw(9n, 5n);
  expect(lag.problem).toBeUndefined();
  now = 90_000;
  lag.saw(9n, 5n);
  expect(lag.problem).toMatchObject({
    status: 'waiting',
    waits_for: 'projection:watch',
    message: expect.stringContaining('lacks 3 records that deposit.addresses had 60 s ago'),
  });
  now = 100_000;
  lag.saw(9n, 9n);
  expect(lag.problem).toBeUndefined();
});

test('a projection that always lacks only what is new is no problem', () => {
  let now = 0;
  const lag = new ReadModelLag('watch', () => now, 60_000);
  for (let end = 0n; end < 100n; end += 10n) {
    now += 40_000;
    lag.saw(end + 10n, end);
    expect(lag.problem).toBeUndefined();
  }
});
