import { createServer } from 'node:net';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { serverNames } from '../../../../infra/local/servers/servers.ts';
import { localRuns } from '../../../infra/local/local-runs.ts';

const { ports, folder, run, running, stackFile, expectNothingLeft } = localRuns();

test('start restarts a crashed server, and drains on Ctrl-C with exit code 0', async () => {
  const start = run('start', '--servers-only');
  await start.prints('ready in');
  const stack = stackFile();
  expect(statSync(folder().stack_file).mode & 0o777).toBe(0o600);
  expect(Object.keys(stack.pids).toSorted()).toEqual([...serverNames].toSorted());
  expect(stack.supervisor_pid).toBe(start.pid);
  if (existsSync('/proc/self/status')) {
    const status = readFileSync(`/proc/${stack.pids['postgres']}/status`, 'utf8');
    expect(status).not.toMatch(/^Uid:\s0/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    for (const name of ['kafka', 'registry'])
      expect(readFileSync(`/proc/${stack.pids[name]}/maps`, 'utf8')).toContain(`/${name}.jsa`);
  }
  const redis = stack.pids['redis'] ?? 0;
  process.kill(redis, 'SIGKILL');
  await start.prints('redis is ready again');
  expect(stackFile().pids['redis']).not.toBe(redis);

  const were = running();
  expect(were).toHaveLength(serverNames.length);
  // npm repeats the Ctrl-C of the terminal; the two count as one.
  start.signal('SIGINT');
  start.signal('SIGINT');
  expect(await start.ended()).toBe(0);
  await expectNothingLeft(were);
});

test.each(['start', 'up'])(
  '%s refuses a port that is in use, and starts nothing',
  async (command) => {
    const port = ports.get('postgres');
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    try {
      const refused = run(command, '--servers-only');
      expect(await refused.ended()).toBe(1);
      expect(refused.printed()).toMatch(
        new RegExp(`port ${port} \\(postgres\\) is in use .*set APP_POSTGRES_PORT`),
      );
      expect(running()).toEqual([]);
    } finally {
      server.close();
    }
  },
);

test('bad usage is refused with exit code 1 and the usage', async () => {
  for (const args of [[], ['sing'], ['start', 'now'], ['start', '--wipe']]) {
    const refused = run(...args);
    expect(await refused.ended()).toBe(1);
    expect(refused.printed()).toContain('npm run');
  }
  const unknown = run('start', '--fast');
  expect(await unknown.ended()).toBe(1);
  expect(unknown.printed()).toContain('Unknown argument: fast');
  const help = run('--help');
  expect(await help.ended()).toBe(0);
  expect(help.printed()).toContain('APP_KAFKA_PORT');
});
