import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { Client } from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { openLog } from '../../../../../services/runtime/process/log.ts';
import { openWriter } from '../../../../../services/runtime/postgres/pool.ts';
import { haveGiveWay, stepBackAtServer } from '../../../../../services/projector/load/step-back.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A process in a session of its own that goes by this title. */
async function processTitled(title: string): Promise<number> {
  const child = spawn('/bin/sleep', ['60'], { argv0: title, detached: true, stdio: 'ignore' });
  closing.push(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error('no process was begun');
  // until it has taken its own program's place it goes by ours
  await expect.poll(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toContain(title);
  return pid;
}

test.runIf(process.platform === 'linux')(
  'only a process that serves this very client gives way, no other of the same number',
  async () => {
    const place = '127.0.0.1(40152)';
    const serving = await processTitled(`postgres: clt_writer clt ${place} idle`);
    const others = [
      await processTitled('postgres: clt_writer clt 127.0.0.1(4015) idle'),
      await processTitled('postgres: clt_writer clt 10.127.0.0.1(40152) idle'),
      await processTitled(`psql ${place}`),
    ];
    for (const pid of [serving, ...others]) await haveGiveWay({ pid, place });
    await haveGiveWay({ pid: 2 ** 30, place });
    expect(others.map((pid) => getPriority(pid))).toEqual([0, 0, 0]);
    expect(getPriority(serving)).toBe(19);
    const [other] = others;
    if (other === undefined) throw new Error('there are others');
    await haveGiveWay({ pid: other, place: null });
    expect(getPriority(other)).toBe(0);
  },
);

const STEPS_BACK = `
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
const { stepBack } = await import(process.argv[1]);
await stepBack();
const priorities = readdirSync('/proc/self/task').map((thread) => getPriority(Number(thread)));
console.log(JSON.stringify({ pid: process.pid, asked: process.argv.slice(2), flags: process.execArgv[0], priorities: [...new Set(priorities)] }));
`;

test.runIf(process.platform === 'linux')(
  'a process that gives way does so with all its threads, and is asked the same as before',
  async () => {
    const module = new URL('../../../../../services/projector/load/step-back.ts', import.meta.url)
      .href;
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      STEPS_BACK,
      module,
      'explorer',
      '--json',
    ]);
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    await once(child, 'close');
    // nothing else is printed, and the process is the one that was begun
    expect(JSON.parse(printed)).toEqual({
      pid: child.pid,
      asked: ['explorer', '--json'],
      flags: '--single-threaded',
      priorities: [19],
    });
  },
);

test('a session that gives way answers as before, and so does one beside it', async () => {
  const { postgres_url } = inject('stack');
  const pool = openWriter(
    { postgres_url, application_name: 'test', schema: 'public', onConnect: stepBackAtServer },
    openLog({ service: 'test', level: 'fatal' }),
  );
  closing.push(() => pool.end());
  const beside = new Client({ connectionString: postgres_url });
  await beside.connect();
  closing.push(() => beside.end());
  const pids: number[] = [];
  for (const client of [pool, beside]) {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    pids.push(...rows.map(({ pid }) => pid));
  }
  // in a container they have other numbers
  const [stepped, other] = pids.map((pid) => (isPostgres(pid) ? getPriority(pid) : undefined));
  if (other !== undefined) expect([stepped, other]).toEqual([19, 0]);
  expect(pids).toHaveLength(2);
});

function isPostgres(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('postgres: clt_writer');
  } catch {
    return false;
  }
}
