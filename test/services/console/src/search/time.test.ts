import { afterEach, expect, test, vi } from 'vitest';
import { RECORDED_RUN } from '../../../../../schemas/explorer-api/reserve.ts';
import { exampleOf } from '../../../../../schemas/http-api/answer.ts';
import { runNear, timeOf } from '../../../../../services/console/src/search/time.ts';

afterEach(() => vi.unstubAllGlobals());

const NOW = Date.parse('2026-11-28T12:00:00Z');

test.each([
  ['reserve run at 02:11:29', '2026-11-28T02:11:29Z'],
  ['Run at 2:11:29\u202fAM', '2026-11-28T02:11:29Z'],
  // not yet today
  ['13:00', '2026-11-27T13:00:00Z'],
  ['2026-11-21T07:28:02.731Z', '2026-11-21T07:28:02.731Z'],
  ['2026-11-21T07:28:02+02:00', '2026-11-21T05:28:02Z'],
  ['2026-11-21 07:28', '2026-11-21T07:28:00Z'],
  ['Nov 21, 2026, 7:28:02 PM', '2026-11-21T19:28:02Z'],
  ['21 Nov 2026, 19:28:02', '2026-11-21T19:28:02Z'],
])('%s is a time, in UTC where the reader chose it', (typed, at) => {
  expect(timeOf(typed, NOW, 'UTC')).toBe(Date.parse(at));
});

test.each(['en-US', 'en-GB', 'en-CA', 'en-AU', 'en-DK'])(
  'a time as a browser in %s writes it is that time',
  (locale) => {
    const at = Date.parse('2026-09-08T13:04:05Z');
    const zone = { timeStyle: 'medium', timeZone: 'UTC' } as const;
    const written = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', ...zone }).format(at);
    expect(timeOf(written, NOW, 'UTC')).toBe(at);
    const clock = new Intl.DateTimeFormat(locale, zone).format(at);
    expect(timeOf(clock, at, 'UTC')).toBe(at);
  },
);

test('a time without a zone is one of the browser', () => {
  const local = new Date(NOW);
  local.setHours(0, 0, 1, 0);
  expect(timeOf('00:00:01', NOW, undefined)).toBe(local.getTime());
  expect(timeOf('2026-11-21T07:28:02', NOW, undefined)).toBe(Date.parse('2026-11-21T07:28:02'));
});

test.each(['1,234', '#100', '25:70', '2026', 'block 12', '12:00 apples', '0x12:30', ''])(
  '%s is no time',
  (typed) => {
    expect(timeOf(typed, NOW, 'UTC')).toBeUndefined();
  },
);

function runs(times: readonly string[], hasOlder = false): void {
  const items = times.map((at, index) => ({
    ...Object(exampleOf(RECORDED_RUN)),
    run_id: `run ${index}`,
    run_at: at,
  }));
  const headers = hasOlder ? { link: '</api/v1/reserve/runs?cursor=x>; rel="next"' } : undefined;
  vi.stubGlobal('fetch', () =>
    Promise.resolve(Response.json({ items }, headers === undefined ? {} : { headers })),
  );
}

const { signal } = new AbortController();
const TIMES = ['2026-11-28T03:00:00Z', '2026-11-28T02:00:00Z', '2026-11-28T01:00:00Z'];

test.each([
  ['2026-11-28T02:29:59Z', 1],
  ['2026-11-28T02:30:01Z', 0],
  ['2026-11-29T00:00:00Z', 0],
  ['2026-11-28T01:00:00Z', 2],
])('next to %s is run %s', async (at, index) => {
  runs(TIMES, true);
  expect(await runNear(Date.parse(at), signal)).toEqual([
    { kind: 'run', identifier: `run ${index}`, summary: TIMES[index] },
  ]);
});

test('a time before the oldest run of the page finds none, unless that is the first of all', async () => {
  const early = Date.parse('2026-11-01T00:00:00Z');
  runs(TIMES, true);
  expect(await runNear(early, signal)).toEqual([]);
  runs(TIMES);
  expect(await runNear(early, signal)).toMatchObject([{ identifier: 'run 2' }]);
  runs([]);
  expect(await runNear(early, signal)).toEqual([]);
});
