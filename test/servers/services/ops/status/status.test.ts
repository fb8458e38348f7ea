import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Pool } from 'pg';
import { explorer } from '../../../../../projections/explorer/explorer.ts';
import { CHAIN_BLOCKS } from '../../../../../schemas/topics.ts';
import { openKafka } from '../../../../../services/runtime/kafka/client.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { openLog } from '../../../../../services/runtime/process/log.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { ScriptedNode } from '../../../../support/scripted-node.ts';

const MAIN = join(import.meta.dirname, '../../../../../services/ops/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'clt-ops-'));
const stackFile = join(folder, 'stack.json');
const node = new ScriptedNode();
let writerUrl: string;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function ops(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, ...args],
      { env: { PATH: process.env['PATH'] } },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
      },
    );
  });
}

beforeAll(async () => {
  const stack = inject('stack');
  const database = await freshDatabase(stack);
  writerUrl = database.writer_url;
  await prepareDatabase(writerUrl, explorer);
  const pool = new Pool({ connectionString: database.writer_url });
  await pool.query(
    `INSERT INTO projector.checkpoints (projection, version, topic, partition, cluster_id, next_offset, digest) VALUES ('explorer', 1, 'nowhere', 0, 'c', 12345678901234567, '')`,
  );
  await pool.end();
  node.grow(7);
  node.finalized = 4;
  writeFileSync(
    stackFile,
    JSON.stringify({
      ...stack,
      node_url: await node.listen(),
      postgres_reader_url: database.reader_url,
    }),
  );
});

afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true });
});

test('status tells node, log and projections, for people and for scripts', async () => {
  const text = await ops('status', '--stack', stackFile);
  expect(text).toMatchObject({ code: 0, stderr: '' });
  expect(text.stdout).toMatch(/^node +height 6, final up to 4$/m);
  expect(text.stdout).toMatch(
    /^projection +explorer v1: nowhere\/0 at 12345678901234567, lag unknown, 0 records\/s, moved [0-9.]+ s ago, being loaded: no indexes yet$/m,
  );
  const json = await ops('status', '--json', '--stack', stackFile);
  expect(JSON.parse(json.stdout)).toMatchObject({
    node: { height: 6, finalized_height: 4 },
    projections: [
      {
        projection: 'explorer',
        topic: 'nowhere',
        next_offset: '12345678901234567',
        lag: null,
        loading: true,
      },
    ],
    faults: [],
  });
});

test('what does not answer is named, and the exit code says so', async () => {
  const away = join(folder, 'away.json');
  writeFileSync(away, JSON.stringify({ ...inject('stack'), node_url: 'http://127.0.0.1:1' }));
  const { code, stdout } = await ops('status', '--stack', away);
  expect(code).toBe(2);
  expect(stdout).toMatch(/^node +does not answer$/m);
  expect(stdout).toMatch(/^fault +the CLT node did not serve \/v1\/chain/m);
});

test('a log that ends before what was applied is a fault, not a number', async () => {
  const kafka = openKafka(
    { kafka_brokers: [inject('stack').kafka_brokers], client_id: 'ops-test' },
    openLog({ service: 'test', level: 'silent' }),
  );
  await ensureTopics(kafka, [CHAIN_BLOCKS]);
  const pool = new Pool({ connectionString: writerUrl });
  await pool.query(
    `UPDATE projector.checkpoints SET topic = 'chain.blocks', next_offset = 987654321`,
  );
  await pool.end();
  const { code, stdout } = await ops('status', '--stack', stackFile);
  expect(code).toBe(2);
  expect(stdout).toMatch(
    /^fault +chain.blocks\/0 ends \d+ records before what explorer has applied: .*\/ready of the projector$/m,
  );
});

test('bad usage and missing settings are refused with what to do', async () => {
  expect(await ops('--help')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('usage: npm run ops'),
  });
  expect(await ops('dance')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('usage: npm run ops'),
  });
  expect(await ops('status', '--loud')).toMatchObject({ code: 1 });
  const nothing = await ops('status', '--stack', join(folder, 'none.json'));
  expect(nothing.code).toBe(1);
  expect(nothing.stderr).toMatch(
    /APP_KAFKA_BROKERS is not set[\s\S]*APP_POSTGRES_READER_URL is not set[\s\S]*APP_NODE_URL is not set/,
  );
});
