/**
 * An export is of one chain to its end or visibly incomplete, during new blocks, reorganisations
 * and failures of Postgres.
 */
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import {
  plainExportedActivity,
  plainExportedTransactions,
} from '../../../projections/explorer/plain-exports.ts';
import { mostFrequent, seededBlocks, TYPES } from '../../../projections/explorer/seeded-rows.ts';
import type { PlainBlock } from '../../../projections/explorer/plain-block.ts';
import { becomes, filled, linesOf, openExports, type ExportServer } from './export-server.ts';

const TOP = 399;
const longer = seededBlocks({ seed: 31, blocks: 430, transactions_max: 12, addresses: 6 });
const chain = longer.slice(0, TOP + 1);
const hot = mostFrequent(chain);
const [, type] = TYPES;

const WHOLE: Readonly<Record<string, string>> = {
  'transactions.ndjson?': linesOf(plainExportedTransactions(chain, {})),
  [`transactions.ndjson?type=${type}`]: linesOf(plainExportedTransactions(chain, { type })),
  [`transactions.ndjson?address=${hot.toString('hex')}`]: linesOf(
    plainExportedTransactions(chain, { address: hot }),
  ),
  'activity.ndjson?': linesOf(plainExportedActivity(chain, {}, activityLabel)),
  [`activity.ndjson?address=${hot.toString('hex')}`]: linesOf(
    plainExportedActivity(chain, { address: hot }, activityLabel),
  ),
};

/** Another block in its place: without its last transaction. */
function replaced(block: PlainBlock): PlainBlock {
  const transactions = block.transactions
    .map((one) => ({ ...one, hash: other(one.hash) }))
    .slice(0, -1);
  const effects = block.effects.filter(
    ({ tx_index: txIndex }) => txIndex === null || txIndex < transactions.length,
  );
  return { ...block, hash: other(block.hash), transactions, effects };
}

function other(hash: Buffer): Buffer {
  return Buffer.from(hash.map((byte) => byte ^ 0xff));
}

function fork(from: number, to: number): readonly PlainBlock[] {
  return [...longer.slice(0, from), ...longer.slice(from, to).map(replaced)];
}

/** Its one place is free again. */
async function isFree({ url }: ExportServer): Promise<void> {
  await expect
    .poll(async () => (await fetch(`${url}/api/v1/export/activity.csv`, { method: 'HEAD' })).status)
    .toBe(200);
}

describe.each(Object.entries(WHOLE))('%s', (path, whole) => {
  test('is not changed by blocks that arrive meanwhile', async () => {
    const urls = await filled(chain);
    const server = await openExports({ postgres_reader_url: urls.reader_url });
    server.meddle = async (piece) => {
      if (piece > 0)
        await becomes(urls.writer_url, longer.slice(0, TOP + 1 + Math.min(30, 10 * piece)));
    };
    const answer = await fetch(`${server.url}/api/v1/export/${path}`);
    expect(answer.headers.get('x-clt-to-height')).toBe(String(TOP));
    expect((await answer.text()) === whole).toBe(true);
    expect(server.asked.length).toBeGreaterThan(3);
  });

  test('up to a block is not changed by reorganisations above it', async () => {
    const urls = await filled(longer);
    const server = await openExports({ postgres_reader_url: urls.reader_url });
    server.meddle = async (piece) => {
      if (piece > 0)
        await becomes(urls.writer_url, piece % 2 === 1 ? fork(TOP + 1, TOP + 20) : longer);
    };
    const answer = await fetch(`${server.url}/api/v1/export/${path}&to_height=${TOP}`);
    expect((await answer.text()) === whole).toBe(true);
  });

  test.each([
    ['is replaced', fork(TOP - 5, TOP + 3)],
    ['is no longer there', chain.slice(0, TOP - 5)],
  ])('breaks off when its last block %s', async (_what, then) => {
    const urls = await filled(chain);
    const server = await openExports({ postgres_reader_url: urls.reader_url, exports_max: 1 });
    server.meddle = async (piece) => {
      if (piece === 2) await becomes(urls.writer_url, then);
    };
    const answer = await fetch(`${server.url}/api/v1/export/${path}`);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow('terminated');
    expect(server.lines).toMatchObject([{ level: 'error', err: { code: 'storage_conflict' } }]);
    await expect.poll(() => server.metrics.text()).toContain('status="503"} 1');
    server.meddle = undefined;
    await isFree(server);
  });

  test('starts again when its last block is replaced before the first row is read', async () => {
    const urls = await filled(chain);
    const server = await openExports({ postgres_reader_url: urls.reader_url, exports_max: 1 });
    const grown = longer.slice(0, TOP + 3);
    server.meddle = async (piece) => {
      if (piece === 1)
        await becomes(urls.writer_url, [
          ...grown.slice(0, TOP - 5),
          ...grown.slice(TOP - 5).map(replaced),
        ]);
    };
    const answer = await fetch(`${server.url}/api/v1/export/${path}`);
    expect([answer.status, answer.headers.get('x-clt-to-height')]).toEqual([200, String(TOP + 2)]);
    await answer.text();
    expect(server.lines).toEqual([]);
    server.meddle = undefined;
    await isFree(server);
  });

  test('is an error when its last block is replaced each time before the first row is read', async () => {
    const urls = await filled(chain);
    const server = await openExports({ postgres_reader_url: urls.reader_url, exports_max: 1 });
    server.meddle = async (piece) => {
      if (piece > 0)
        await becomes(urls.writer_url, piece % 2 === 1 ? fork(TOP - 5, TOP + 1) : chain);
    };
    const answer = await fetch(`${server.url}/api/v1/export/${path}`);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        code: 'storage_error',
        message: 'the index cannot be read at the moment: try again shortly',
      },
    ]);
    expect(answer.headers.has('x-clt-to-height')).toBe(false);
    server.meddle = undefined;
    await isFree(server);
  });
});

interface Held {
  /** the processes whose statements wait */
  readonly waiting: () => Promise<readonly number[]>;
  /** ends those that wait, or their connections */
  readonly end: (how: 'cancel' | 'terminate') => Promise<void>;
  readonly release: () => Promise<void>;
}

/** Locks a table, so that its readers wait. */
async function hold(writerUrl: string, table: string): Promise<Held> {
  const client = new Client({ connectionString: writerUrl });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`BEGIN; LOCK TABLE explorer.${table} IN ACCESS EXCLUSIVE MODE`);
  const waiters = `SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'explorer.${table}'::regclass`;
  const waiting = async (): Promise<readonly number[]> => {
    const { rows } = await client.query<{ pid: number }>(waiters);
    return rows.map(({ pid }) => pid);
  };
  return {
    waiting,
    end: async (how) => {
      for (const pid of await waiting()) await client.query(`SELECT pg_${how}_backend($1)`, [pid]);
    },
    release: async () => void (await client.query('ROLLBACK')),
  };
}

/** An export whose piece with this number, from 1, waits for a table. */
async function heldAt(
  server: ExportServer,
  writerUrl: string,
  at: number,
): Promise<{ readonly asking: Promise<Response>; readonly held: Held }> {
  const held = Promise.withResolvers<Held>();
  let pieces = 0;
  server.meddle = async (piece) => {
    if (piece > 0 && ++pieces === at) held.resolve(await hold(writerUrl, 'activity'));
  };
  const asking = fetch(`${server.url}/api/v1/export/activity.ndjson`);
  return { asking, held: await held.promise };
}

test('a time-out of a statement halfway breaks the answer off, one at the beginning is an error answer', async () => {
  const urls = await filled(chain);
  const server = await openExports({ postgres_reader_url: urls.reader_url, exports_max: 1 });
  for (const at of [1, 2]) {
    const { asking, held } = await heldAt(server, urls.writer_url, at);
    await expect.poll(held.waiting).toHaveLength(1);
    // Postgres answers as at its time-out of a statement
    await held.end('cancel');
    const answer = await asking;
    expect(answer.status).toBe(at === 1 ? 503 : 200);
    if (at === 1) expect(await answer.json()).toMatchObject({ code: 'storage_error' });
    else await expect(answer.text()).rejects.toThrow('terminated');
    server.meddle = undefined;
    await held.release();
    await isFree(server);
  }
  const errors = server.lines.filter(({ level }) => level === 'error');
  const timeout = { err: { code: 'storage_timeout' } };
  expect(errors).toMatchObject([timeout, timeout]);
});

test('an export whose connection is ended halfway goes on with another one', async () => {
  const urls = await filled(chain);
  const server = await openExports({ postgres_reader_url: urls.reader_url, exports_max: 1 });
  const { asking, held } = await heldAt(server, urls.writer_url, 2);
  await expect.poll(held.waiting).toHaveLength(1);
  const ended = await held.waiting();
  await held.end('terminate');
  await expect
    .poll(held.waiting)
    .toEqual([expect.not.toSatisfy((pid: unknown) => pid === ended[0])]);
  server.meddle = undefined;
  await held.release();
  // a difference of megabytes would take minutes to be shown
  expect((await (await asking).text()) === WHOLE['activity.ndjson?']).toBe(true);
  expect(server.lines.filter(({ level }) => level === 'error')).toEqual([]);
});

test('one client runs exports up to its limit, the next is refused with Retry-After, and lists are served meanwhile', async () => {
  const urls = await filled(chain);
  const server = await openExports({
    postgres_reader_url: urls.reader_url,
    exports_max: 4,
    connections_max: 3,
  });
  const { waiting, release } = await hold(urls.writer_url, 'activity');
  const running = ['csv', 'ndjson'].map((format) =>
    fetch(`${server.url}/api/v1/export/activity.${format}`),
  );
  await expect.poll(waiting).toHaveLength(2);
  for (const [path, method] of [
    ['activity.csv', 'GET'],
    ['transactions.ndjson', 'GET'],
    ['transactions.csv', 'HEAD'],
  ] as const) {
    const busy = await fetch(`${server.url}/api/v1/export/${path}`, { method });
    expect([
      busy.status,
      busy.headers.get('retry-after'),
      busy.headers.get('x-clt-to-height'),
    ]).toEqual([429, '10', null]);
    const message =
      'as many exports are running as may at once, 4 in all and half of them for one client: try again in 10 s';
    if (method === 'GET') expect(await busy.json()).toEqual({ code: 'rate_limited', message });
  }
  expect((await fetch(`${server.url}/api/v1/blocks`)).status).toBe(200);
  expect((await fetch(`${server.url}/api/v1/transactions?limit=100`)).status).toBe(200);
  await release();
  const texts = await Promise.all(running.map(async (answer) => await (await answer).text()));
  expect(texts[1] === WHOLE['activity.ndjson?']).toBe(true);
  expect((await fetch(`${server.url}/api/v1/export/activity.csv?to_height=3`)).status).toBe(200);
});
