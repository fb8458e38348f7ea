import { expect, test } from 'vitest';
import { Backoff } from '../../../../services/runtime/trongrid/backoff.ts';

test('there is no pause before a failure, and a success resets the back-off', () => {
  let now = 0;
  const backoff = new Backoff({
    backoff_ms_min: 1,
    backoff_ms_max: 40,
    now: () => now,
    random: () => 1,
  });
  expect(backoff.rest_ms).toBe(0);
  for (let failure = 0; failure < 5; failure++) backoff.failed('list');
  expect(backoff.rest_ms).toBe(16);
  now = 16;
  backoff.succeeded('list');
  backoff.failed('list');
  expect(backoff.rest_ms).toBe(1);
});

test('a waiter returns once the pause is over', async () => {
  const backoff = new Backoff({
    backoff_ms_min: 5,
    backoff_ms_max: 40,
    now: () => performance.now(),
    random: () => 1,
  });
  backoff.failed('list');
  await backoff.wait(new AbortController().signal);
  expect(backoff.rest_ms).toBe(0);
});

test.each([
  [0, [0.5, 1, 2, 4, 8, 16, 20, 20]],
  [1, [1, 2, 4, 8, 16, 32, 40, 40]],
])('pauses double up to their limit, with chance %d', (chance, pauses) => {
  let now = 0;
  const backoff = new Backoff({
    backoff_ms_min: 1,
    backoff_ms_max: 40,
    now: () => now,
    random: () => chance,
  });
  for (const pause of pauses) {
    backoff.failed('list');
    expect(backoff.rest_ms).toBe(pause);
    now += pause;
    expect(backoff.rest_ms).toBe(0);
  }
});

test("the provider's own pause is honoured up to the limit, and jitter never shortens it", () => {
  const backoff = new Backoff({
    backoff_ms_min: 1,
    backoff_ms_max: 40_000,
    now: () => 0,
    random: () => 0,
  });
  backoff.failed('list', 30_000);
  expect(backoff.rest_ms).toBe(30_000);
  backoff.failed('list', 3_600_000);
  expect(backoff.rest_ms).toBe(40_000);
});

test('an abort ends the pause', async () => {
  const backoff = new Backoff({
    backoff_ms_min: 1,
    backoff_ms_max: 3_600_000,
    now: () => 0,
    random: () => 1,
  });
  backoff.failed('list', 3_600_000);
  await backoff.wait(AbortSignal.abort());
});
