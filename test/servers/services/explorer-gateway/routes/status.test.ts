import { once } from 'node:events';
import { createServer } from 'node:net';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { explorer as projection } from '../../../../../projections/explorer/explorer.ts';
import { logEnds } from '../../../../../services/explorer-gateway/lag.ts';
import { openLog } from '../../../../../services/runtime/process/log.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { testKafka, topicOf } from '../../../../support/kafka.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../../services/explorer-gateway/explorer-server.ts';

const kafka = testKafka(inject('stack'));
let explorer: ExplorerServer;
let writer: Client;
/** of three records */
let topic: string;
let now = 1_000;
beforeAll(async () => {
  const stack = inject('stack');
  const urls = await freshDatabase(stack);
  await prepareDatabase(urls.writer_url, projection);
  writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  topic = await topicOf(kafka, 3);
  explorer = await openExplorer({
    postgres_reader_url: urls.reader_url,
    kafka_brokers: stack.kafka_brokers.split(','),
    now: () => now,
  });
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

test('before the first block only the head of the node is known', async () => {
  const nothing = { indexed: null, lag_blocks: null, projections: [] };
  expect(await status(7)).toEqual({ head: { height: 7, finalized_height: 0 }, ...nothing });
  expect(await status(undefined)).toEqual({ head: null, ...nothing });
});

test('status has the head of the node, the indexed and the final height, and of every projection its lag and whether it is loading', async () => {
  await writer.query(
    `INSERT INTO explorer.head VALUES (true, 5, 100, '\\x${'aa'.repeat(32)}', 88, 0, 0)`,
  );
  await writer.query(
    "INSERT INTO projector.projections (projection, version, beside) VALUES ('explorer_previous', 1, 'explorer')",
  );
  const insert =
    'INSERT INTO projector.checkpoints (projection, version, topic, partition, cluster_id, next_offset, digest, updated_at)';
  await writer.query(`${insert} VALUES
    ('explorer', 1, '${topic}', 0, 'c', 1, '', '2026-11-21 07:28:00.5+00'),
    ('explorer_previous', 1, '${topic}', 0, 'c', 0, '', '2026-11-20 07:28:00.5+00'),
    ('accounts', 3, '${topic}', 0, 'c', 3, '', '2026-11-21 07:28:00+00'),
    ('deposits', 1, 'of.nobody', 0, 'c', 9007199254740993, '', '2026-11-20 00:00:00+00')`);

  now += 1_000;
  const { text } = await explorer.get('/api/v1/status');
  expect(text).toContain('"next_offset":9007199254740993,"lag_records":null,');
  expect(JSON.parse(text)).toMatchObject({
    projections: [
      {
        projection: 'accounts',
        version: 3,
        topic,
        partition: 0,
        lag_records: 0,
        loading: false,
        moved_at: '2026-11-21T07:28:00.000Z',
      },
      { projection: 'deposits', version: 1, topic: 'of.nobody', partition: 0, lag_records: null },
      {
        projection: 'explorer',
        version: 1,
        topic,
        partition: 0,
        lag_records: 2,
        loading: true,
        moved_at: '2026-11-21T07:28:00.500Z',
      },
    ],
  });
  await writer.query(
    "UPDATE projector.projections SET indexed_at = now() WHERE projection = 'explorer'",
  );

  const indexed = { height: 100, finalized_height: 88 };
  const live = [{}, {}, { projection: 'explorer', lag_records: 2, loading: false }];
  expect(await status(104)).toMatchObject({
    head: { height: 104, finalized_height: 0 },
    indexed,
    lag_blocks: 4,
    projections: live,
  });
  // the node told its head a moment before the index grew
  expect(await status(99)).toMatchObject({ indexed, lag_blocks: 0 });
  expect(await status(undefined)).toMatchObject({ head: null, indexed, lag_blocks: null });
  await writer.query('UPDATE explorer.head SET finalized_height = -1');
  expect(await status(100)).toMatchObject({
    indexed: { height: 100, finalized_height: null },
    lag_blocks: 0,
  });
});

test('lags are unknown while the brokers are away or silent, which is logged once', async () => {
  const lines: unknown[] = [];
  const log = openLog({
    service: 'test',
    level: 'info',
    destination: { write: (line) => void lines.push(Object(JSON.parse(line)).msg) },
  });
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const [{ port }, lost] = [
    Object(silent.address()),
    expect.stringMatching(/^the ends of the log cannot be read, .*: /),
  ];
  let at = 0;
  const ends = logEnds({ kafka_brokers: [`127.0.0.1:${port}`] }, () => at++ * 1_000, log);
  expect(await Promise.all([ends([topic]), ends([topic])])).toEqual([undefined, undefined]);
  expect(lines).toEqual([lost]);
  const right = logEnds({ kafka_brokers: [inject('stack').kafka_brokers] }, () => 0, log);
  expect(await right([topic, 'of.nobody'])).toEqual(new Map([[topic, [3n]]]));
});
