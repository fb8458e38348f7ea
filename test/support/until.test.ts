import { afterEach, expect, test, vi } from 'vitest';
import { HANG_MS } from './limits.ts';
import { until } from './until.ts';

afterEach(() => void vi.restoreAllMocks());

/** At its first look a wait has lasted longer than it may. */
function passLimit(): void {
  vi.spyOn(performance, 'now')
    .mockReturnValueOnce(0)
    .mockReturnValue(HANG_MS + 1);
}

test.each<[string, () => unknown, string]>([
  ['a value', () => 7, '7'],
  ['an object', () => ({ status: 'held', reason: null }), "{ status: 'held', reason: null }"],
  ['a text, as it is', () => 'two\nlines', 'two\nlines'],
  ['nothing', () => undefined, 'undefined'],
])(
  'a wait in vain says for what, for how long and what was seen last: %s',
  async (_, look, seen) => {
    passLimit();
    const waiting = until(look, 'the deposit to be credited', (each) => each === 'credited');
    await expect(waiting).rejects.toThrow(
      `waited ${HANG_MS / 1_000} s in vain for the deposit to be credited; seen last: ${seen}`,
    );
  },
);

test('an error of the last look is what was seen, and the cause', async () => {
  const cause = new Error('connect ECONNREFUSED');
  passLimit();
  await expect(until(() => Promise.reject(cause), 'the gateway')).rejects.toMatchObject({
    message: `waited ${HANG_MS / 1_000} s in vain for the gateway; seen last: ${String(cause)}`,
    cause,
  });
});

test('a wait ends at the first look that holds, whatever was seen or thrown before', async () => {
  const looks: (() => boolean)[] = [
    () => false,
    () => {
      throw new Error('not yet');
    },
    () => true,
    () => false,
  ];
  await until(() => looks.shift()?.(), 'a look that holds');
  expect(looks).toHaveLength(1);
});
