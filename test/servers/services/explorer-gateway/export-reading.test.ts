/** Exports are read in pieces, in constant memory and no faster than the client reads. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Client } from 'pg';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import {
  plainExportedActivity,
  plainExportedTransactions,
} from '../../../projections/explorer/plain-exports.ts';
import { mostFrequent, TYPES } from '../../../projections/explorer/seeded-rows.ts';
import { chainWithBigBlock } from '../../../services/explorer-gateway/big-block.ts';
import { filledOnce, linesOf, openExports, standstill } from './export-server.ts';
import { prints } from '../../../support/command-line.ts';
import { PATIENT_READS } from '../../../support/stack.ts';

const { blocks, big } = chainWithBigBlock(555);
/** For all activity, since Postgres sorts a block again for each piece of it. */
const { blocks: fewer, big: smaller } = chainWithBigBlock(60);
const hot = mostFrequent(blocks);
let urls: Awaited<ReturnType<typeof filledOnce>>;
beforeAll(async () => {
  urls = await filledOnce(blocks);
});

test('the big block is a single block', () => {
  expect(big.transactions.length).toBeGreaterThan(20_000);
  expect(big.effects.filter(({ delta }) => delta !== 0n).length).toBeGreaterThan(60_000);
  // more than twenty pieces
  expect(smaller.effects.filter(({ delta }) => delta !== 0n).length).toBeGreaterThan(5_000);
});

const [, type] = TYPES;
const address = `address=${hot.toString('hex')}`;
const ALL_ACTIVITY = 'activity.ndjson';
const WANTED: Readonly<Record<string, () => readonly string[]>> = {
  [ALL_ACTIVITY]: () => plainExportedActivity(fewer, {}, activityLabel),
  [`activity.ndjson?${address}`]: () =>
    plainExportedActivity(blocks, { address: hot }, activityLabel),
  'transactions.ndjson': () => plainExportedTransactions(blocks, {}),
  [`transactions.ndjson?${address}`]: () => plainExportedTransactions(blocks, { address: hot }),
  [`transactions.ndjson?type=${type}`]: () => plainExportedTransactions(blocks, { type }),
  [`transactions.ndjson?type=${type}&${address}`]: () =>
    plainExportedTransactions(blocks, { address: hot, type }),
  'transactions.ndjson?block=5': () => plainExportedTransactions(blocks, { block: 5 }),
};

test.each(Object.keys(WANTED))('%s is complete, read by many small statements', async (path) => {
  const read = path === ALL_ACTIVITY ? await filledOnce(fewer) : urls;
  const server = await openExports({ postgres_reader_url: read.reader_url });
  const answer = await fetch(`${server.url}/api/v1/export/${path}`);
  const wanted = linesOf(WANTED[path]?.() ?? []);
  // a difference of megabytes would take minutes to be shown
  expect((await answer.text()) === wanted).toBe(true);
  expect(server.rows_max).toBeLessThanOrEqual(1_000);
  expect(server.asked.length).toBeGreaterThan(wanted.length / 400_000);
});

test('no rows are read while the client does not read, and the export continues when it does', async () => {
  const server = await openExports({ postgres_reader_url: urls.reader_url });
  const socket = server.paused('/api/v1/export/activity.ndjson');
  const asked = await standstill(server);
  // pieces of 64 KiB fill what the system holds of a connection
  expect(asked).toBeLessThan(240);
  socket.resume();
  await expect.poll(() => server.asked.length).toBeGreaterThan(asked + 20);
});

test('no rows are read after the client disconnects, and its slot is free', async () => {
  const server = await openExports({ postgres_reader_url: urls.reader_url, exports_max: 1 });
  const socket = server.paused('/api/v1/export/activity.ndjson').resume();
  await once(socket, 'data');
  socket.destroy();
  await expect.poll(() => server.metrics.text()).toContain('status="499"} 1');
  expect(await standstill(server)).toBeLessThan(600);
  await expect
    .poll(
      async () =>
        (await fetch(`${server.url}/api/v1/export/activity.csv`, { method: 'HEAD' })).status,
    )
    .toBe(200);
  // a scrape of the metrics checks /ready, and the node is away
  expect(
    server.lines.filter(
      ({ msg }) => !String(msg).startsWith('the head of the node cannot be read'),
    ),
  ).toEqual([]);
});

const MAIN = new URL('../../../../services/explorer-gateway/main.ts', import.meta.url).pathname;
const MEBIBYTE = 1 << 20;

interface Process {
  readonly child: ChildProcess;
  readonly url: URL;
  readonly ops_url: string;
  readonly text: () => string;
}

/** The service as a process of its own. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<Process> {
  const own = {
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    APP_HTTP_PORT: '0',
    APP_OPS_PORT: '0',
    APP_POSTGRES_READER_URL: urls.reader_url,
    APP_REDIS_URL: 'redis://127.0.0.1:1',
    APP_NODE_URL: 'http://127.0.0.1:1',
    ...PATIENT_READS,
    ...env,
  };
  const child = spawn(process.execPath, [MAIN], { env: own, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  await prints(child, () => text, '"msg":"listening"');
  const [, url = '', ops_url = ''] = /"url":"([^"]+)","ops_url":"([^"]+)"/.exec(text) ?? [];
  return { child, url: new URL(url), ops_url, text: () => text };
}

type List = 'activity' | 'transactions';

function unread({ port, hostname }: URL, list: List = 'activity'): Socket {
  const socket = connect(Number(port), hostname).pause();
  socket
    .on('error', () => undefined)
    .write(`GET /api/v1/export/${list}.ndjson HTTP/1.1\r\nhost: x\r\n\r\n`);
  return socket;
}

test('memory does not grow with unread exports, nor with exports that are read to the end', async () => {
  // half of them are for one client: three that are unread, and one that is read
  const { url, ops_url } = await start({ APP_EXPORTS_MAX: '8' });
  const resident = async (): Promise<number> => {
    const metrics = await (await fetch(`${ops_url}/metrics`)).text();
    return Number(/^process_resident_memory_bytes\{.*\} (\d+)$/m.exec(metrics)?.[1]) / MEBIBYTE;
  };
  const whole = async (): Promise<number> => {
    const answer = await fetch(`${url.origin}/api/v1/export/transactions.ndjson`);
    expect(answer.status).toBe(200);
    let bytes = 0;
    for await (const part of answer.body ?? []) bytes += part.length;
    return bytes;
  };
  // not asked for: Postgres sorts the big block again for each piece of its activity
  const activity = linesOf(plainExportedActivity(blocks, {}, activityLabel)).length;
  // these warm it up
  const [transactions] = await Promise.all([whole(), whole()]);
  const warm = await resident();

  const sockets = [unread(url), unread(url), unread(url, 'transactions')];
  await readingStands(urls.reader_url);
  await whole();
  const grown = (await resident()) - warm;
  for (const socket of sockets) socket.destroy();
  expect((2 * activity + transactions) / MEBIBYTE).toBeGreaterThan(60);
  expect(grown).toBeLessThan(40);
});

test('a shutdown breaks off unread exports in time and exits with 0', async () => {
  const { child, url, text } = await start({ APP_DRAIN_MS: '20000' });
  const ended = once(child, 'close');
  const socket = unread(url);
  await readingStands(urls.reader_url);
  child.kill('SIGTERM');
  await ended;
  expect(child.exitCode).toBe(0);
  expect(text()).toContain('shutdown breaks off responses that are not sent yet');
  socket.destroy();
});

/** Waits until the gateway has asked Postgres nothing for a while. */
async function readingStands(readerUrl: string): Promise<void> {
  const client = new Client({ connectionString: readerUrl });
  await client.connect();
  let last: string | undefined;
  const stands = async (): Promise<boolean> => {
    const { rows } = await client.query<{ last: string | null }>(
      `SELECT max(query_start)::text AS last FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'explorer-gateway'`,
    );
    // null before its first question
    const newest = rows[0]?.last ?? undefined;
    const stood = newest !== undefined && last === newest;
    last = newest;
    return stood;
  };
  await expect.poll(stands, { interval: 500 }).toBe(true);
  await client.end();
}
