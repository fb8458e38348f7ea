import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  parsePostgresUrl,
  urlsOfHosts,
} from '../../../../services/runtime/process/postgres-url.ts';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postgres-url-'));
  file = join(folder, 'ca.crt');
  writeFileSync(file, 'PEM');
});
afterAll(() => rmSync(folder, { recursive: true }));

test('several hosts, each with its port, and what the session is for', () => {
  expect(
    parsePostgresUrl('postgres://u:p%40%2C@h1:1,[::1]:2,h3/db?target_session_attrs=read-write'),
  ).toEqual({
    user: 'u',
    password: 'p@,',
    database: 'db',
    hosts: [
      { host: 'h1', port: 1 },
      { host: '::1', port: 2 },
      { host: 'h3', port: 5_432 },
    ],
    ssl: false,
    target_session_attrs: 'read-write',
  });
});

test('a string for each host, which may be called as the user', () => {
  expect(urlsOfHosts('postgres://h1:h1@h1:1,[::1]:2/h1?sslmode=require')).toEqual([
    'postgres://h1:h1@h1:1/h1?sslmode=require',
    'postgres://h1:h1@[::1]:2/h1?sslmode=require',
  ]);
});

test.each(['postgres:', 'mysql://h/db', 'postgres://h1:1,:2/db', 'postgres://h:x/db', 'h:5432'])(
  '%s is no connection string',
  (url) => expect(parsePostgresUrl(url)).toBeUndefined(),
);

test.each([
  ['disable', '', false],
  ['require', '', { rejectUnauthorized: false, checkServerIdentity: expect.any(Function) }],
  ['require', 'FILE', { ca: 'PEM', checkServerIdentity: expect.any(Function) }],
  ['verify-ca', 'FILE', { ca: 'PEM', checkServerIdentity: expect.any(Function) }],
  ['verify-full', 'FILE', { ca: 'PEM' }],
  ['verify-full', '', {}],
])('sslmode=%s with the authority %j', (mode, authority, ssl) => {
  const root = authority === '' ? '' : `&sslrootcert=${encodeURIComponent(file)}`;
  expect(parsePostgresUrl(`postgres://u@h/db?sslmode=${mode}${root}`)?.ssl).toEqual(ssl);
});

test.each([
  ['sslmode=prefer', /sslmode is none of disable, require, verify-ca, verify-full/],
  ['sslmode=verify-ca&sslcert=FILE', /only one of sslcert and sslkey/],
  ['sslrootcert=FILE', /add sslmode=verify-full/],
  ['sslmode=verify-ca&sslrootcert=/nowhere', /ENOENT/],
  ['target_session_attrs=standby', /target_session_attrs/],
  ['options=-c%20jit=off', /options has no effect/],
])('%s is refused with a reason, without the password', (query, reason) => {
  const url = `postgres://u:hunter2@h/db?${query.replace('FILE', encodeURIComponent(file))}`;
  const read = (): unknown => parsePostgresUrl(url);
  expect(read).toThrow(reason);
  expect(read).not.toThrow(/hunter2/);
});
