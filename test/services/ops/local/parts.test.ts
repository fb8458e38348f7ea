import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writePidFile } from '../../../../infra/local/process/pid-files.ts';
import {
  answerRequests,
  REQUEST_SIGNAL,
  type Outcome,
  type Request,
} from '../../../../infra/local/process/requests.ts';
import { folderAt } from '../../../../infra/local/stack/folder.ts';
import { assertSupervised } from '../../../../services/ops/local/parts.ts';
import { ops } from '../operator.ts';

const SECRET = 'a secret that nobody may see, 32 characters';
const PARTS = ['kafka', 'devnet', 'projector-explorer', 'hub-gateway', 'hub-gateway-2', 'treasury'];

interface StackOptions {
  /** by name, where each shows its status */
  readonly services?: Readonly<Record<string, { readonly url: string }>>;
  /** the answer to each request, when it is there */
  readonly answered?: Promise<Outcome>;
}

/** A stack whose supervisor is this process, and the requests that it got. */
function stack({
  services = {},
  answered = Promise.resolve({ is_done: true, text: 'ready' }),
}: StackOptions = {}) {
  const folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-parts-')));
  const got: Request[] = [];
  /** rights of the files of requests */
  const modes: number[] = [];
  const answer = (): void => {
    for (const file of readdirSync(folder.requests))
      modes.push(statSync(join(folder.requests, file)).mode & 0o777);
    void answerRequests(folder.requests, async (wanted) => {
      got.push(wanted);
      return { [wanted.part ?? '']: await answered };
    });
  };
  mkdirSync(folder.requests);
  process.on(REQUEST_SIGNAL, answer);
  onTestFinished(() => {
    process.off(REQUEST_SIGNAL, answer);
    rmSync(folder.root, { recursive: true });
  });
  writePidFile(folder.supervisor_file, process.pid);
  const pids = Object.fromEntries(PARTS.map((name) => [name, process.pid]));
  writeFileSync(folder.stack_file, JSON.stringify({ pids, services }));
  return { got, modes, run: (...words: string[]) => ops('--stack', folder.stack_file, ...words) };
}

test('a service is started again with the settings that --set names, and no value is printed', async () => {
  const { got, modes, run } = stack();
  const ended = await run(
    'restart',
    'hub-gateway-2',
    '--set',
    `APP_JWT_SECRET=${SECRET}`,
    '--set',
    'APP_RATE_PER_SECOND=7',
  );
  expect(ended).toMatchObject({ code: 0, stdout: 'hub-gateway-2: ready\n' });
  expect(`${ended.stdout}${ended.stderr}`).not.toContain(SECRET);
  const settings = { APP_JWT_SECRET: SECRET, APP_RATE_PER_SECOND: '7' };
  expect(got).toEqual([{ action: 'restart', part: 'hub-gateway-2', settings }]);
  expect(modes).toEqual([0o600]);
  await run('start', 'projector-explorer', '--set', 'APP_LOG_LEVEL=');
  await run('restart', 'hub-gateway');
  expect(got.slice(1)).toEqual([
    { action: 'start', part: 'projector-explorer', settings: { APP_LOG_LEVEL: '' } },
    { action: 'restart', part: 'hub-gateway' },
  ]);
});

test.each([
  ['a setting of another service', 'hub-gateway', ['APP_MINT_KEY=x'], /no setting of hub-gateway/],
  ['a misspelt setting', 'hub-gateway', ['APP_JWT_SECRETS=x'], /did you mean APP_JWT_SECRET\?/],
  ['the port on which it is looked for', 'treasury', ['APP_HTTP_PORT=1'], /no setting of treasury/],
  ['a server, which has no settings', 'kafka', ['APP_LOG_LEVEL=info'], /kafka takes no --set/],
  ['a name alone', 'hub-gateway', [SECRET], /--set is NAME=VALUE/],
  [
    'a setting that is set twice',
    'hub-gateway',
    ['APP_LOG_LEVEL=info', 'APP_LOG_LEVEL=warn'],
    /APP_LOG_LEVEL is given twice/,
  ],
  [
    'a value that the service would refuse',
    'hub-gateway',
    ['APP_JWT_SECRET=hunter2'],
    /APP_JWT_SECRET is not a secret of at least 32 characters/,
  ],
  ['no value of a required one', 'hub-gateway', ['APP_JWT_SECRET='], /APP_JWT_SECRET is not set/],
])('%s is refused before anything is stopped', async (_case, part, set, message) => {
  const { got, run } = stack();
  const ended = await run('restart', part, ...set.flatMap((each) => ['--set', each]));
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(message) });
  for (const value of [SECRET, 'hunter2']) expect(ended.stderr).not.toContain(value);
  expect(got).toEqual([]);
});

test('a service that starts says why it is not ready, before and after the wait for it is over', async () => {
  const answered = Promise.withResolvers<Outcome>();
  let looks = 0;
  const server = createServer(({ url }, response) => {
    if (url !== '/status') return void response.end('');
    looks += 1;
    // the second look comes after the first one was told
    if (looks === 2) answered.resolve({ is_done: false, text: 'exited with code 3; see /x/t.log' });
    const message = `kafka: no broker answers for ${looks} s`;
    const waiting = { status: 'waiting', phase: 'starting', waits_for: 'kafka', eta_s: null };
    return void response.end(JSON.stringify({ ...waiting, message, notes: [] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${Object(server.address()).port}`;
  const { run } = stack({ services: { treasury: { url } }, answered: answered.promise });
  const { code, stdout, stderr } = await run('restart', 'treasury');
  expect({ code, stdout }).toEqual({
    code: 2,
    stdout: 'treasury: exited with code 3; see /x/t.log\n',
  });
  const said = stderr.split('\n').filter((line) => line.includes('WAITING'));
  expect(said).toEqual(['treasury: WAITING for kafka: no broker answers for 1 s']);
});

test('a stack whose supervisor has ended, and that was not stopped, is told with what starts it', async () => {
  const folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-ended-')));
  onTestFinished(() => rmSync(folder.root, { recursive: true }));
  const told = 'has ended without being stopped';
  await assertSupervised(folder.stack_file);
  writeFileSync(folder.stack_file, '{}');
  // written by hand, or brought from elsewhere
  await assertSupervised(folder.stack_file);
  writePidFile(folder.supervisor_file, process.pid);
  await assertSupervised(folder.stack_file);
  writeFileSync(folder.supervisor_file, JSON.stringify({ pid: process.pid, started: 'before' }));
  await expect(assertSupervised(folder.stack_file)).rejects.toThrow(
    `the stack of ${folder.root} ${told}`,
  );
  await expect(assertSupervised(folder.stack_file)).rejects.toThrow('npm run up starts it');
});

test('a stop takes no settings', async () => {
  const { got, run } = stack();
  const ended = await run('stop', 'treasury', '--set', 'APP_LOG_LEVEL=info');
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('takes no --set') });
  expect(got).toEqual([]);
});

test('without a stack of this machine it says where the setting is put', async () => {
  const none = join(tmpdir(), 'clt-no-stack', 'stack.json');
  const ended = await ops('--stack', none, 'restart', 'treasury', '--set', 'APP_LOG_LEVEL=info');
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('APP_SECRETS_DIR') });
  expect(ended.stderr).toContain('values.yaml');
});
