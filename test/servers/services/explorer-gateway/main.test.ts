import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { freshDatabase } from '../../../support/database.ts';
import { plainTransactions } from '../../../projections/explorer/plain-answers.ts';
import { fillExplorer, seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import { PATIENT, PATIENT_READS } from '../../../support/stack.ts';
import { prints } from '../../../support/command-line.ts';

const MAIN = new URL('../../../../services/explorer-gateway/main.ts', import.meta.url).pathname;

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

const { NODE_COMPILE_CACHE } = process.env;

function start(env: Readonly<Record<string, string>>): {
  readonly child: ChildProcess;
  readonly text: () => string;
  readonly ended: Promise<unknown>;
} {
  const child = spawn(process.execPath, [MAIN], {
    env: { NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  return { child, text: () => text, ended: once(child, 'close') };
}

async function listening({ child, text }: ReturnType<typeof start>): Promise<string> {
  await prints(child, text, '"msg":"listening"');
  return /"url":"([^"]+)"/.exec(text())?.[1] ?? '';
}

test('a shutdown finishes requests in flight and exits with 0', async () => {
  const blocks = seededBlocks({ seed: 13, blocks: 20, transactions_max: 5 });
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  const run = start({
    APP_HTTP_PORT: '0',
    APP_OPS_PORT: '0',
    APP_POSTGRES_READER_URL: urls.reader_url,
    APP_REDIS_URL: 'redis://127.0.0.1:1',
    APP_NODE_URL: 'http://127.0.0.1:1',
    ...PATIENT_READS,
    ...PATIENT,
  });
  const { child, text, ended } = run;
  const url = await listening(run);
  expect((await fetch(`${url}/ready`)).status).toBe(200);
  // more than it has to Postgres
  const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/health`)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));

  const holder = new Client({ connectionString: urls.writer_url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE explorer.transactions IN ACCESS EXCLUSIVE MODE');
  const answering = fetch(`${url}/api/v1/transactions?limit=100`);
  const waiting = `SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND relation = 'explorer.transactions'::regclass`;
  await expect
    .poll(async () => (await holder.query<{ count: number }>(waiting)).rows[0]?.count)
    .toBe(1);
  child.kill('SIGTERM');
  await expect.poll(text).toContain('draining');
  await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed');
  await holder.query('ROLLBACK');
  await holder.end();

  const answer = await answering;
  expect([answer.status, answer.headers.get('connection'), await answer.text()]).toEqual([
    200,
    'close',
    plainTransactions(blocks, {}, 100),
  ]);
  await ended;
  expect(child.exitCode).toBe(0);
});

test('a port in use exits with 2, a bad configuration with 1', async () => {
  const env = {
    APP_OPS_PORT: '0',
    APP_POSTGRES_READER_URL: 'postgres://u:hunter2@127.0.0.1:1/clt',
    APP_REDIS_URL: 'redis://127.0.0.1:1',
    APP_NODE_URL: 'http://127.0.0.1:1',
  };
  const first = start({ ...env, APP_HTTP_PORT: '0' });
  const url = new URL(await listening(first));
  const second = start({ ...env, APP_HTTP_PORT: url.port });
  await second.ended;
  expect(second.child.exitCode).toBe(2);
  expect(second.text()).toContain(
    `cannot listen on 127.0.0.1:${url.port}: another process has it (lsof -i :${url.port} names it); stop that or set APP_HTTP_PORT`,
  );
  const third = start({ APP_HTTP_PORT: 'x' });
  await third.ended;
  expect(third.child.exitCode).toBe(1);
  expect(third.text()).toContain('APP_POSTGRES_READER_URL is not set');
  // Postgres is away: it runs, says so, and answers what needs no index
  expect((await fetch(`${url.origin}/ready`)).status).toBe(503);
  expect(await (await fetch(`${url.origin}/health`)).text()).toBe('{"status":"ok"}');
  expect((await fetch(`${url.origin}/api/v1/blocks`)).status).toBe(503);
  first.child.kill('SIGINT');
  await first.ended;
  expect(first.child.exitCode).toBe(0);
  expect(first.text() + second.text()).not.toContain('hunter2');
});

test.each([
  ['a notification makes a change show', true],
  ['without Redis a change shows all the same, within a second', false],
])('%s, and until then the same page is served from the cache', async (_what, hinted) => {
  const [old, grown] = [20, 21].map((count) =>
    seededBlocks({ seed: 13, blocks: count, transactions_max: 5 }),
  );
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, old ?? []);
  const { redis_url: redisUrl } = inject('stack');
  const run = start({
    APP_HTTP_PORT: '0',
    APP_OPS_PORT: '0',
    APP_POSTGRES_READER_URL: urls.reader_url,
    APP_REDIS_URL: hinted ? redisUrl : 'redis://127.0.0.1:1',
    APP_NODE_URL: 'http://127.0.0.1:1',
    ...PATIENT_READS,
  });
  const url = await listening(run);
  const newest = async (): Promise<number> => {
    const answer: { readonly items: readonly { readonly height: number }[] } = JSON.parse(
      await (await fetch(`${url}/api/v1/blocks?limit=1`)).text(),
    );
    return answer.items[0]?.height ?? -1;
  };
  expect(await newest()).toBe(19);
  const writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  try {
    await writer.query('DROP SCHEMA explorer CASCADE');
    await fillExplorer(urls.writer_url, grown ?? []);
  } finally {
    await writer.end();
  }
  const redis = hinted ? new Redis(redisUrl) : undefined;
  await redis?.publish('projection:explorer', '{}');
  await expect.poll(newest).toBe(20);
  redis?.disconnect();
});
