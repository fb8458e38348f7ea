import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { identify } from '../../../../infra/local/process/pid-files.ts';
import {
  answerRequests,
  request,
  REQUEST_SIGNAL,
  type Request,
} from '../../../../infra/local/process/requests.ts';

/** A supervisor that is this process, and the requests that it got. */
function supervisor() {
  const root = mkdtempSync(join(tmpdir(), 'clt-requests-'));
  const folder = join(root, 'requests');
  const got: Request[] = [];
  const answer = (): void =>
    void answerRequests(folder, (wanted) => {
      got.push(wanted);
      const text = `${wanted.action} ${wanted.part}`;
      return Promise.resolve({ [wanted.part ?? 'all']: { is_done: true, text } });
    });
  process.on(REQUEST_SIGNAL, answer);
  onTestFinished(() => {
    process.off(REQUEST_SIGNAL, answer);
    rmSync(root, { recursive: true });
  });
  const self = identify(process.pid);
  if (self === undefined) throw new Error('this process has no identity');
  return { folder, got, self };
}

test('requests at the same time get their own answers, and leave no file', async () => {
  const { folder, got, self } = supervisor();
  const parts = ['treasury', 'redis', 'hub-gateway'];
  const answers = await Promise.all(
    parts.map((part) => request(folder, self, { action: 'restart', part }, () => undefined)),
  );
  expect(answers).toEqual(
    parts.map((part) => ({ [part]: { is_done: true, text: `restart ${part}` } })),
  );
  expect(got).toHaveLength(parts.length);
  expect(readdirSync(folder)).toEqual([]);
});

test('a request to a supervisor that has ended is refused, and is not kept for the next', async () => {
  const { folder, self } = supervisor();
  const ended = { pid: self.pid, started: 'before' };
  await expect(request(folder, ended, { action: 'start' }, () => undefined)).rejects.toThrow(
    'npm run up starts it',
  );
  expect(readdirSync(folder)).toEqual([]);
});
