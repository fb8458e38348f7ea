import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import {
  openLog,
  withoutCredentials,
  type Logger,
} from '../../../../services/runtime/process/log.ts';

type Line = Readonly<Record<string, unknown>>;

function capture(level = 'info'): {
  readonly log: Logger;
  readonly texts: string[];
  readonly lines: () => Line[];
} {
  const texts: string[] = [];
  const log = openLog({
    service: 'treasury',
    level,
    destination: { write: (line) => void texts.push(line) },
  });
  return { log, texts, lines: () => texts.map((line): Line => JSON.parse(line)) };
}

test('a line is JSON with level, time, service and message, and one event is one line', () => {
  const { log, texts, lines } = capture();
  log.info({ height: 5n, forged: 'a\r\n{"level":"fatal"}' }, 'first\nsecond');
  log.debug('too fine for the level');
  expect(texts).toHaveLength(1);
  expect(texts[0]?.trimEnd()).not.toMatch(/[\r\n]/);
  expect(lines()[0]).toMatchObject({
    level: 'info',
    service: 'treasury',
    height: '5',
    msg: 'first\nsecond',
  });
  expect(new Date(String(lines()[0]?.['time'])).getTime()).toBeGreaterThan(0);
});

test('an error keeps its code, whether it may be retried, and its causes', () => {
  const { log, lines } = capture();
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  log.error(
    { err: new Fault('storage_unreachable', 'Postgres cannot be reached', { retry: true, cause }) },
    'failed',
  );
  expect(lines()[0]?.['err']).toMatchObject({
    type: 'Fault',
    code: 'storage_unreachable',
    retry: true,
    message: 'Postgres cannot be reached',
    cause: { type: 'Error', code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' },
  });
});

test('an error logged alone is a structured error', () => {
  const { log, lines } = capture();
  log.error(new AggregateError([new Error('one'), new Error('two')], 'both'));
  expect(lines()[0]).toMatchObject({
    msg: 'both',
    err: { message: 'both', errors: [{ message: 'one' }, { message: 'two' }] },
  });
});

test('no secret reaches the log under any key, at any depth, in objects, texts, messages and errors', () => {
  const { log, texts } = capture();
  const secrets = {
    authorization: 'Bearer hunter2',
    headers: { Authorization: ['hunter2'], cookie: 'hunter2', 'TRON-PRO-API-KEY': 'hunter2' },
    deep: [
      {
        config: {
          jwt_secret: 'hunter2',
          password: 'hunter2',
          privateKey: 'hunter2',
          accessToken: 'hunter2',
        },
      },
    ],
    signature: { r: 'hunter2', s: 'hunter2', v: 27 },
    url: 'postgres://writer:hunter2@host:5432/clt and redis://:hunter2@host',
    odd: 'postgres://u:hunt@hunter2@host/clt',
    jwt: 'eyJhbGciOiJIUzI1NiJ9.eyJwayI6Imh1bnRlcjIifQ.hunter2',
  };
  log.info(secrets, 'connecting to postgres://u:hunter2@h/db with bearer hunter2');
  log.error({
    err: new Error('at postgres://u:hunter2@h/db', { cause: new Error('Bearer hunter2') }),
  });
  log.warn('plain postgres://u:hunter2@h');
  expect(texts).toHaveLength(3);
  expect(texts.join()).not.toContain('hunter2');
  expect(texts.join()).not.toContain('eyJ');
  expect(texts[0]).toContain('postgres://host:5432/clt and redis://host');
});

test('a text that only resembles a secret stays', () => {
  const { log, lines } = capture();
  log.info({ token_transfers: 5, author: 'x', mail: 'a@b', has_token: true, next_token: null });
  expect(lines()[0]).toMatchObject({
    token_transfers: 5,
    author: 'x',
    mail: 'a@b',
    has_token: true,
    next_token: null,
  });
});

test('addresses without credentials stay unchanged', () => {
  for (const text of [
    'http://127.0.0.1:17545/v1/chain',
    'to kafka://a:1,b:2 and http://h/path@2x',
    'me@example.org',
  ]) {
    expect(withoutCredentials(text)).toBe(text);
  }
});

/** Every write to it fails with ENOSPC. */
const FULL = '/dev/full';

test.skipIf(!existsSync(FULL))(
  'a log on a full disk ends no process (skipped where there is no /dev/full)',
  () => {
    const module = new URL('../../../../services/runtime/process/log.ts', import.meta.url);
    const script = `
      const { openLog } = await import(${JSON.stringify(module.href)});
      const log = openLog({ service: 'test', level: 'info' });
      for (let at = 0; at < 10_000; at++) log.info({ text: 'x'.repeat(200) }, 'a line');
      setImmediate(() => process.exit(7));`;
    const full = openSync(FULL, 'w');
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    closeSync(full);
    expect([status, stderr]).toEqual([7, '']);
  },
);
