import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { plainEnvironment, StackFault } from '../../../../infra/local/process/run-program.ts';
import { Server, type ServerSpec } from '../../../../infra/local/process/server.ts';
import { folderAt, openFolder } from '../../../../infra/local/stack/folder.ts';
import { takePort } from '../../../support/free-ports.ts';

/** A part whose process runs this script, and the path of its log. */
async function part(script: string, spec: Partial<ServerSpec> = {}) {
  const folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-server-')));
  openFolder(folder);
  const { port, release } = await takePort();
  const args = ['-e', script];
  const command = { file: process.execPath, args, env: plainEnvironment(), cwd: folder.root };
  const server = new Server(
    {
      name: 'small',
      ports: [port],
      prepare: () => Promise.resolve(command),
      isReady: async () => (await fetch(`http://127.0.0.1:${port}`)).ok,
      ...spec,
    },
    folder,
  );
  onTestFinished(async () => {
    await server.stop();
    release();
    rmSync(folder.root, { recursive: true, force: true });
  });
  return { server, log: join(folder.logs, 'small.log') };
}

/** Why it did not start, as a person is told. */
async function whyNotStarted(server: Server): Promise<string> {
  const error: unknown = await server.start().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return server.withLog(error instanceof Error ? error.message : String(error));
}

test('a part that ends says its exit code and the last lines of its log, once each', async () => {
  const { server, log } = await part("console.error('no such table'); process.exit(3)");
  expect(await whyNotStarted(server)).toBe(
    `small exited with code 3 before it was ready; the end of ${log}:\n  | no such table`,
  );
});

test('a part that ends without a word says its exit code and where its log is', async () => {
  const { server, log } = await part("process.kill(process.pid, 'SIGKILL')");
  expect(await whyNotStarted(server)).toMatch(/^small was ended by SIGKILL before it was ready; /);
  expect(await whyNotStarted(server)).toContain(log);
});

test('a part that cannot be prepared names its log too', async () => {
  const { server, log } = await part('', {
    prepare: () => Promise.reject(new StackFault('initdb failed:\n  | no room')),
  });
  expect(await whyNotStarted(server)).toBe(`initdb failed:\n  | no room; see ${log}`);
});

test('a part on whose port nothing listens says so, and one that is silent too', async () => {
  const { server } = await part('');
  expect(await server.whyNotReady()).toBe('nothing listens on its port');
  const { server: silent } = await part('', {
    isReady: () => Promise.reject(new DOMException('aborted', 'TimeoutError')),
  });
  expect(await silent.whyNotReady()).toBe('it does not answer in time: frozen or overloaded');
});
