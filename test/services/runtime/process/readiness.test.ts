import { afterEach, expect, test, vi } from 'vitest';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { readiness } from '../../../../services/runtime/process/readiness.ts';

const lines: { readonly level?: unknown; readonly msg?: unknown; readonly causes?: unknown }[] = [];
const log = openLog({
  service: 'test',
  level: 'info',
  destination: { write: (line) => void lines.push(JSON.parse(line)) },
});

afterEach(() => {
  lines.length = 0;
  vi.useRealTimers();
});

test('all that is the matter is told, each under the name of its check', async () => {
  const ask = readiness(
    [
      { name: 'fine', check: () => undefined },
      { name: 'index', check: () => '30 blocks behind' },
      { name: 'log', check: () => Promise.resolve('records were lost') },
    ],
    log,
  );
  expect(await ask()).toEqual(['index: 30 blocks behind', 'log: records were lost']);
});

test('a fault shows its code only, its message goes to the log', async () => {
  const refused = new Fault('storage_unreachable', 'connect ECONNREFUSED 10.0.0.7:5432', {
    retry: true,
  });
  const ask = readiness([{ name: 'Postgres', check: () => Promise.reject(refused) }], log);
  expect(await ask()).toEqual(['Postgres: storage_unreachable']);
  expect(lines).toMatchObject([
    {
      level: 'warn',
      msg: 'not ready: Postgres: storage_unreachable',
      causes: ['connect ECONNREFUSED 10.0.0.7:5432'],
    },
  ]);
});

test('only changes are logged', async () => {
  let matter: string | undefined;
  const ask = readiness([{ name: 'x', check: () => matter }], log);
  for (const now of [undefined, 'a', 'a', 'b', undefined, undefined]) {
    matter = now;
    await ask();
  }
  expect(lines.map(({ msg }) => msg)).toEqual([
    'not ready: x: a',
    'not ready: x: b',
    'ready again',
  ]);
});

test('a number that changes is no change', async () => {
  let left = 30;
  const ask = readiness([{ name: 'x', check: () => `about ${left--} s left` }], log);
  for (let times = 0; times < 5; times++) await ask();
  expect(lines.map(({ msg }) => msg)).toEqual(['not ready: x: about 30 s left']);
});

test('a check that does not answer is not waited for', async () => {
  vi.useFakeTimers();
  const ask = readiness([{ name: 'frozen', check: () => new Promise(() => undefined) }], log);
  const asked = ask();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await asked).toEqual(['frozen: no answer within 2000 ms']);
});
