/** The stack's command line, killed and interrupted at every stage. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { Kafka, logLevel } from 'kafkajs';
import { expect, test } from 'vitest';
import { isAlive, livingProcesses } from '../../../../infra/local/process/pid-files.ts';
import { serverNames } from '../../../../infra/local/servers/servers.ts';
import { localRuns } from '../../../infra/local/local-runs.ts';
import { rowsOf } from '../../../support/database.ts';
import { untilStopped } from '../../../support/stack.ts';

const { folder, run, running, stackFile, expectNothingLeft } = localRuns();

async function withAdmin<T>(work: (admin: ReturnType<Kafka['admin']>) => Promise<T>): Promise<T> {
  const admin = new Kafka({
    brokers: [stackFile().kafka_brokers],
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

async function query(sql: string): Promise<readonly unknown[]> {
  return await rowsOf(stackFile().postgres_url, sql);
}

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

test('a second Ctrl-C kills a server that does not end', async () => {
  const start = run('start', '--servers-only');
  let pid = 0;
  const kafka = (): number => (pid = livingProcesses(folder().pids).get('kafka')?.pid ?? 0);
  await expect.poll(kafka).toBeGreaterThan(0);
  const were = running();
  process.kill(pid, 'SIGSTOP');
  // A starting Java that is not stopped yet would die of the first Ctrl-C.
  await untilStopped(pid);
  start.signal('SIGINT');
  const again = (): string => {
    start.signal('SIGINT');
    return start.printed();
  };
  await expect.poll(again, { interval: 300 }).toContain('killed everything');
  expect(await start.ended()).toBe(130);
  // the kernel may take a while to end what was killed
  await expect.poll(() => were.filter(isAlive)).toEqual([]);
});

test('up returns when the stack is ready, refuses a second one, stops the orphans of a killed supervisor, and finds its data', async () => {
  expect(await run('up', '--servers-only').ended()).toBe(0);
  const were = running();
  expect(were).toHaveLength(serverNames.length);
  await withAdmin((admin) => admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 3 }] }));
  await query(
    'CREATE SCHEMA kept; CREATE TABLE kept.rows (a int); INSERT INTO kept.rows VALUES (7)',
  );
  const { jwt_secret, supervisor_pid } = stackFile();
  const second = run('start', '--servers-only');
  expect(await second.ended()).toBe(1);
  expect(second.printed()).toContain(
    `already running (process ${supervisor_pid}); npm run down stops it`,
  );
  const again = run('up', '--servers-only');
  expect(await again.ended()).toBe(0);
  expect(again.printed()).toContain('already running');

  process.kill(supervisor_pid, 'SIGKILL');
  expect(running()).toEqual(were);
  const third = run('up', '--servers-only');
  expect(await third.ended()).toBe(0);
  expect(third.printed()).toContain('stopped processes that a killed run had left');
  expect(were.filter(isAlive)).toEqual([]);
  expect(await withAdmin((admin) => admin.listTopics())).toContain('kept');
  expect(await query('SELECT a FROM kept.rows')).toEqual([{ a: 7 }]);
  expect(stackFile().jwt_secret).toBe(jwt_secret);

  const are = running();
  expect(await run('down', '--wipe').ended()).toBe(0);
  await expectNothingLeft(are);
  expect(readdirSync(folder().root)).not.toContain('data');
  expect(existsSync(folder().shelter)).toBe(false);
  const nothing = run('down');
  expect(await nothing.ended()).toBe(0);
  expect(nothing.printed()).toContain('nothing of this folder is running');
});

test('Ctrl-C in the middle of a boot exits 0 and leaves nothing', async () => {
  const boot = run('start', '--servers-only');
  await expect.poll(() => running().length).toBeGreaterThan(0);
  const were = running();
  boot.signal('SIGINT');
  expect(await boot.ended()).toBe(0);
  expect(boot.printed()).toContain('stopped before it was ready');
  await expectNothingLeft(were);
});

test('a boot ends when the up that waits for it is killed', async () => {
  const up = run('up', '--servers-only');
  await expect.poll(() => running().length).toBeGreaterThan(0);
  up.signal('SIGKILL');
  await up.ended();
  await expect.poll(() => existsSync(folder().supervisor_file)).toBe(false);
  await expectNothingLeft([]);
});
