import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { Pool } from 'pg';
import { explorer } from '../../../../../projections/explorer/explorer.ts';
import { CHAIN_BLOCKS } from '../../../../../schemas/topics.ts';
import { openKafka } from '../../../../../services/runtime/kafka/client.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { openLog } from '../../../../../services/runtime/process/log.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { ScriptedNode } from '../../../../support/scripted-node.ts';
import { until } from '../../../../support/until.ts';
import { ops, opsHere, startOps } from '../../../../services/ops/operator.ts';

const folder = mkdtempSync(join(tmpdir(), 'clt-ops-'));
const stackFile = join(folder, 'stack.json');
const node = new ScriptedNode();
let writerUrl: string;

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
      services: {},
      node_url: await node.listen(),
      postgres_reader_url: database.reader_url,
    }),
  );
});

afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true });
});

test('status shows node, log and projections as text and as JSON', async () => {
  const text = await opsHere(['status', '--stack', stackFile]);
  expect(text).toMatchObject({ code: 2, stderr: '' });
  expect(text.stdout).toMatch(
    /^NEEDS ATTENTION: 1 {2}.*lag of projections unknown, waiting deposits unknown$/m,
  );
  expect(text.stdout).toMatch(
    /^! explorer: the lag is not known: the brokers have no topic nowhere$/m,
  );
  expect(text.stdout).toMatch(/^chain: height 6, final up to 4$/m);
  expect(text.stdout).toMatch(
    /^explorer v1 +1 +12345678901234567 +unknown +0 +[0-9.]+ +loading: no indexes yet$/m,
  );
  const json = await opsHere(['status', '--json', '--stack', stackFile]);
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
    attention: ['explorer: the lag is not known: the brokers have no topic nowhere'],
  });
});

test('a node that does not answer is a fault with exit code 2', async () => {
  const away = join(folder, 'away.json');
  writeFileSync(
    away,
    JSON.stringify({ ...inject('stack'), services: {}, node_url: 'http://127.0.0.1:1' }),
  );
  const { code, stdout } = await ops('status', '--stack', away);
  expect(code).toBe(2);
  expect(stdout).toMatch(/^chain: does not answer$/m);
  expect(stdout).toMatch(/^! the CLT node did not serve \/v1\/chain/m);
});

test.each(['kafka_brokers', 'node_url', 'postgres_reader_url'])(
  'while the server of %s accepts and is silent the rest is shown, and status ends',
  async (name) => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const urls: Readonly<Record<string, string>> = {
      kafka_brokers: `127.0.0.1:${port}`,
      node_url: `http://127.0.0.1:${port}`,
      postgres_reader_url: `postgres://clt_reader:x@127.0.0.1:${port}/clt`,
    };
    const file = join(folder, `silent-${name}.json`);
    const stack: object = JSON.parse(readFileSync(stackFile, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...stack, [name]: urls[name] }));
    const { code, stdout, stderr } = await ops('status', '--stack', file, '--timeout', '5');
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(stdout).toMatch(/^NOT ALL IS KNOWN YET, waiting for /);
    expect(stdout).toMatch(
      name === 'node_url'
        ? /^! the CLT node .*: frozen or overloaded, .* no answer in 2\.5 s: /m
        : /^! (?:Kafka|Postgres) does not answer: 127\.0\.0\.1:\d+: frozen or overloaded, .* no answer in 2\.5 s: /m,
    );
    if (name !== 'node_url') expect(stdout).toMatch(/^chain: height 6/m);
    if (name !== 'postgres_reader_url') expect(stdout).toMatch(/^explorer v1 /m);
  },
);

test('all that is known is printed before a silent part answers, and that part when it does', async () => {
  const released = Promise.withResolvers<void>();
  const { node_url: nodeUrl, ...stack }: { readonly node_url: string } = JSON.parse(
    readFileSync(stackFile, 'utf8'),
  );
  const answer = async (path: string | undefined): Promise<string> => {
    await released.promise;
    return await (await fetch(`${nodeUrl}${path}`)).text();
  };
  const slow = createHttpServer(
    ({ url }, response) => void answer(url).then((text) => response.end(text)),
  ).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  onTestFinished(() => void slow.close());
  const address = slow.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const file = join(folder, 'slow-node.json');
  writeFileSync(file, JSON.stringify({ ...stack, node_url: `http://127.0.0.1:${port}` }));
  const running = startOps('status', '--stack', file, '--timeout', '600');
  onTestFinished(() => void running.process.kill('SIGKILL'));
  await until(
    () => running.printed(),
    'the first screen',
    (text) => /^explorer v1 /m.test(text),
  );
  const first = running.printed();
  expect(first).toMatch(
    /^NOT ALL IS KNOWN YET, waiting for the CLT node: .*\nchain: has not answered yet$/m,
  );
  released.resolve();
  expect(await running.ended).toBe(2);
  const rest = running.printed().slice(first.length);
  expect(rest).toMatch(/^\nNEEDS ATTENTION: 1 .*\nchain: height 6, final up to 4\n/);
  expect(rest).not.toContain('explorer v1');
});

test('a log that ends before the checkpoint is a fault', async () => {
  const kafka = openKafka(
    { kafka_brokers: [inject('stack').kafka_brokers] },
    'ops-test',
    openLog({ service: 'test', level: 'silent' }),
  );
  await ensureTopics(kafka, [CHAIN_BLOCKS]);
  const pool = new Pool({ connectionString: writerUrl });
  await pool.query(
    `UPDATE projector.checkpoints SET topic = 'chain.blocks', next_offset = 987654321`,
  );
  await pool.end();
  const { code, stdout } = await opsHere(['status', '--stack', stackFile]);
  expect(code).toBe(2);
  expect(stdout).toMatch(
    /^! chain.blocks\/0 ends \d+ records before what explorer has applied: .*\/status of the projector$/m,
  );
});

test('a stack file without services is refused with a remedy', async () => {
  const older = join(folder, 'older.json');
  writeFileSync(older, JSON.stringify(inject('stack')));
  expect(await opsHere(['status', '--stack', older])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('lists no services'),
  });
});
