import { expect, test } from 'vitest';
import { ReadModelLag } from '../../../../services/runtime/process/read-model-lag.ts';

test('a projection that lacks what the log had for long is a problem, until it has caught up', () => {
  let now = 0;
  const lag = new ReadModelLag('watch', () => now, 60_000);
  lag.ended(5n);
  lag.saw(5n);
  expect(lag.problem).toBeUndefined();
  now = 30_000;
  lag.ended(8n);
  lag.saw(5n);
  expect(lag.problem).toBeUndefined();
  now = 89_999;
  lag.ended(9n);
  lag.saw(5n);
  expect(lag.problem).toBeUndefined();
  now = 90_000;
  lag.ended(9n);
  lag.saw(5n);
  expect(lag.problem).toMatchObject({
    status: 'waiting',
    waits_for: 'projection:watch',
    message: expect.stringContaining('lacks 3 records that deposit.addresses had 60 s ago'),
  });
  now = 100_000;
  lag.ended(9n);
  lag.saw(9n);
  expect(lag.problem).toBeUndefined();
});

test('a projection that always lacks only what is new is no problem', () => {
  let now = 0;
  const lag = new ReadModelLag('watch', () => now, 60_000);
  for (let end = 0n; end < 100n; end += 10n) {
    now += 40_000;
    lag.ended(end + 10n);
    lag.saw(end);
    expect(lag.problem).toBeUndefined();
  }
});

test('a projection that stands still is a problem at the first look, however late it comes', () => {
  let now = 0;
  const lag = new ReadModelLag('deposits', () => now, 60_000);
  for (const [at, end] of [2n, 5n, 5n, 9n].entries()) {
    now = at * 10_000;
    lag.ended(end);
  }
  now = 80_000;
  lag.saw(4n);
  expect(lag.problem?.message).toContain('lacks 1 records');
  now = 90_000;
  lag.saw(4n);
  expect(lag.problem?.message).toContain('lacks 5 records');
  lag.saw(9n);
  expect(lag.problem).toBeUndefined();
});
