import { Client } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { explorer as projection } from '../../../projections/explorer/explorer.ts';
import { prepareDatabase } from '../../../services/runtime/migrations.ts';
import { freshDatabase } from '../../support/database.ts';
import { openExplorer, type ExplorerServer } from './explorer-server.ts';

let explorer: ExplorerServer;
let writer: Client;
let now = 1_000;
beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  await prepareDatabase(urls.writer_url, projection);
  writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  explorer = await openExplorer({ postgres_reader_url: urls.reader_url, now: () => now });
});
afterAll(async () => {
  await explorer.close();
  await writer.end();
});

async function status(head: number | undefined): Promise<unknown> {
  explorer.head = head;
  now += 1_000;
  const { status: code, text } = await explorer.get('/api/v1/status');
  expect(code).toBe(200);
  return JSON.parse(text);
}

test('before the first block there is nothing to tell but the head of the node', async () => {
  const nothing = { indexed: null, lag_blocks: null, projections: [] };
  expect(await status(7)).toEqual({ head: { height: 7, finalized_height: 0 }, ...nothing });
  expect(await status(undefined)).toEqual({ head: null, ...nothing });
});

test('it tells the head of the node, the indexed and the final height, and the lag of every projection', async () => {
  await writer.query(`INSERT INTO explorer.head VALUES (true, 5, 100, '\\x${'aa'.repeat(32)}', 88, 0, 0)`);
  await writer.query("INSERT INTO projector.projections (projection, version, beside) VALUES ('explorer_previous', 1, 'explorer')");
  const insert = 'INSERT INTO projector.checkpoints (projection, version, topic, partition, cluster_id, next_offset, digest, updated_at)';
  await writer.query(`${insert} VALUES
    ('explorer', 1, 'chain.blocks', 0, 'c', 9007199254740993, '', '2026-11-21 07:28:00.5+00'),
    ('explorer_previous', 1, 'chain.blocks', 0, 'c', 100, '', '2026-11-20 07:28:00.5+00'),
    ('accounts', 3, 'chain.blocks', 0, 'c', 9007199254740900, '', '2026-11-21 07:28:00+00'),
    ('deposits', 1, 'treasury.ledger', 0, 'c', 12, '', '2026-11-20 00:00:00+00')`);

  const { text } = await explorer.get('/api/v1/status');
  expect(text).toContain('"next_offset":9007199254740993,"lag_records":0,');
  const { projections: positions }: { readonly projections: unknown } = JSON.parse(text);
  expect(positions).toMatchObject([
    { projection: 'accounts', version: 3, topic: 'chain.blocks', partition: 0, lag_records: 93, moved_at: '2026-11-21T07:28:00.000Z' },
    { projection: 'deposits', version: 1, topic: 'treasury.ledger', partition: 0, next_offset: 12, lag_records: 0 },
    { projection: 'explorer', version: 1, topic: 'chain.blocks', partition: 0, lag_records: 0, moved_at: '2026-11-21T07:28:00.500Z' },
  ]);

  const indexed = { height: 100, finalized_height: 88 };
  expect(await status(104)).toMatchObject({ head: { height: 104, finalized_height: 0 }, indexed, lag_blocks: 4 });
  // the node told its head a moment before the index grew
  expect(await status(99)).toMatchObject({ indexed, lag_blocks: 0 });
  expect(await status(undefined)).toMatchObject({ head: null, indexed, lag_blocks: null });
  await writer.query('UPDATE explorer.head SET finalized_height = -1');
  expect(await status(100)).toMatchObject({ indexed: { height: 100, finalized_height: null }, lag_blocks: 0 });
});
