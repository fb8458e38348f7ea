import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CHAIN } from '../../../../../services/console/src/chain/text.ts';
import { isRecent, lightOf } from '../../../../../services/console/src/reserve/light.ts';
import { TEXT } from '../../../../../services/console/src/text.ts';
import { textOf } from '../../../../support/compose.ts';
import { RUN_WORDS } from '../../../../../schemas/explorer-api/words.ts';

const NOW = Date.parse('2026-11-28T12:00:00Z');
const HOUR = 3_600_000;
const ANSWERS = { configured: true, available: true, last_run: null };
const { covered, old, unknown } = CHAIN.tabs;

function runOf(status: 'ok' | 'mismatch' | 'over_backed_drift', uncovered = '0', age = 60_000) {
  return { status, uncovered, surplus: '0', run_at: new Date(NOW - age).toISOString() };
}
const OLD = HOUR + 1;
const { next } = TEXT.reserve;

test.each([
  ['covers all', runOf('ok'), 'good', covered, undefined],
  [
    'has more than is needed',
    runOf('over_backed_drift'),
    'warn',
    RUN_WORDS.over_backed_drift,
    next.over_backed_drift,
  ],
  ['covers all, and is old', runOf('ok', '0', OLD), 'warn', old, next.old],
  ['is of the future', runOf('ok', '0', -OLD), 'warn', old, next.old],
  ['does not cover all', runOf('ok', '1'), 'bad', RUN_WORDS.uncovered, next.uncovered],
  ['has a mismatch', runOf('mismatch'), 'bad', RUN_WORDS.mismatch, next.mismatch],
  [
    'has a mismatch, and is old',
    runOf('mismatch', '0', OLD),
    'bad',
    RUN_WORDS.mismatch,
    next.mismatch,
  ],
  [
    'does not say what is uncovered',
    { status: 'ok', run_at: runOf('ok').run_at },
    undefined,
    'no mismatch',
    undefined,
  ],
] as const)('a newest run that %s', (_, run, mark, word, step) => {
  const light = lightOf({ is_down: false, reserve: ANSWERS, run }, NOW);
  expect(light).toEqual({ mark, word, next: step });
});

test('each next step names an entry of the runbook', () => {
  const runbook = textOf('docs/operations/runbook.md');
  for (const step of Object.values(next))
    expect(runbook).toContain(`\n### ${/ follow (\w+) of the runbook/.exec(step)?.[1]}\n`);
});

test.each([
  ['the explorer', { is_down: true, reserve: ANSWERS }, 'bad', 'bad'],
  ['the treasury', { is_down: false, reserve: { ...ANSWERS, available: false } }, 'warn', 'bad'],
  ['the answer', { is_down: false, reserve: undefined }, undefined, undefined],
] as const)('while %s is away no cover is claimed', (_, known, ofCover, ofShortfall) => {
  const cover = lightOf({ ...known, run: runOf('ok') }, NOW);
  expect(cover).toMatchObject({ mark: ofCover, word: unknown });
  expect(lightOf({ ...known, run: runOf('mismatch') }, NOW)).toMatchObject({
    mark: ofShortfall,
    word: unknown,
  });
});

test.each([
  ['has a mismatch', 'mismatch', 30_000, 'bad', RUN_WORDS.mismatch],
  ['has more than needed', 'over_backed_drift', 30_000, 'warn', RUN_WORDS.over_backed_drift],
  ['covers all', 'ok', 30_000, 'good', covered],
  // the log has a newer one
  ['had a mismatch before', 'mismatch', 90_000, 'good', covered],
] as const)(
  'a newest run that covers all, while the treasury names one that %s',
  (_, status, age, mark, word) => {
    const reserve = { ...ANSWERS, last_run: runOf(status, '0', age) };
    const light = lightOf({ is_down: false, reserve, run: runOf('ok') }, NOW);
    expect(light).toMatchObject({ mark, word });
  },
);

test('an old run in a log that is behind makes nobody wait: the treasury has a newer one', () => {
  const reserve = { ...ANSWERS, last_run: runOf('ok') };
  const light = lightOf({ is_down: false, reserve, run: runOf('ok', '0', OLD) }, NOW);
  expect(light).toEqual({ mark: 'warn', word: old });
});

test('green is a recent run that covers all, which the treasury confirms now', () => {
  const facts = fc.record({
    is_down: fc.boolean(),
    available: fc.boolean(),
    configured: fc.boolean(),
    status: fc.constantFrom('ok', 'mismatch', 'over_backed_drift'),
    uncovered: fc.bigInt(0n, 2n),
    age: fc.integer({ min: -2 * HOUR, max: 2 * HOUR }),
  });
  fc.assert(
    fc.property(facts, ({ is_down, available, configured, status, uncovered, age }) => {
      const run = runOf(status, String(uncovered), age);
      const {
        mark,
        word,
        next: step,
      } = lightOf({ is_down, reserve: { configured, available, last_run: null }, run }, NOW);
      const isCovered = status === 'ok' && uncovered === 0n && isRecent(run, NOW);
      expect(mark === 'good').toBe(isCovered && !is_down && available && configured);
      expect(word === covered).toBe(mark === 'good');
      if (mark === 'good') expect(step).toBeUndefined();
    }),
  );
});
