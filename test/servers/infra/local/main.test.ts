import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { localRuns } from '../../../infra/local/local-runs.ts';

const { ports, run, running } = localRuns();

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
        new RegExp(`port ${port} \\(postgres\\) is in use [^]*: APP_POSTGRES_PORT=\\d+$`, 'm'),
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
