import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CHAIN_BLOCKS, TREASURY_LEDGER } from '../../../../../schemas/topics.ts';
import { toEntries as chainEntries } from '../../../../../services/chain-ingester/follower.ts';
import { toEntries as ledgerEntries } from '../../../../../services/treasury/ledger/ledger-writer.ts';
import {
  ops,
  opsHere,
  opsInShell,
  startOps,
  type Ended,
} from '../../../../services/ops/operator.ts';
import { bigBlock, chainEvents } from '../../../../support/chain.ts';
import { openCodec } from '../../../../support/codec.ts';
import { codeBlocks } from '../../../../support/documents.ts';
import { appendAll, freshTopic, testKafka } from '../../../../support/kafka.ts';
import { BEGIN, MintLedger, USD } from '../../../../support/mint-ledger.ts';

const stack = inject('stack');
const kafka = testKafka(stack);
const folder = mkdtempSync(join(tmpdir(), `clt-ops-export-${randomUUID()}`));
const stackFile = join(folder, 'stack.json');
const made = new MintLedger();
made.setPolicy();
const small = made.deposit(USD / 2n);
made.deposit(8n * USD, BEGIN + 60_000);
/** the ledger, the ledger again, and a record that nobody can read */
let ledger = '';
let blocks = '';
const events = [...chainEvents({ seed: 7, blocks: 60, reorg_probability: 0.3 })];

beforeAll(async () => {
  writeFileSync(stackFile, JSON.stringify(stack));
  const codec = await openCodec(stack.registry_url, [TREASURY_LEDGER, CHAIN_BLOCKS]);
  ledger = await freshTopic(kafka);
  const entries = ledgerEntries(codec, made.log);
  const [first] = entries;
  const poison = { ...first, key: '=1+1', value: Buffer.from('{}'), headers: {}, timestamp: BEGIN };
  await appendAll(kafka, ledger, [...entries, ...entries, poison]);
  blocks = await freshTopic(kafka);
  const parts = [...chainEntries(codec, events, 1e6)];
  await appendAll(
    kafka,
    blocks,
    parts.flatMap((part) => part.entries),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Into a file. */
function exported(...args: string[]): Promise<Ended> {
  return opsHere(['export', ...args, '--stack', stackFile]);
}

async function rowsOf(sql: string): Promise<unknown[]> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  const rows = (await connection.runAndReadAll(sql)).getRowObjectsJson();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

test('a table in Parquet has exact amounts, usual addresses and times, and says what counts', async () => {
  const file = join(folder, 'ledger.parquet');
  const done = await exported(ledger, '--format', 'parquet', '--out', file);
  expect(done).toMatchObject({ code: 0, stdout: '' });
  expect(done.stderr).toContain(`9 records in ${file}\n`);
  const types = await rowsOf(`SELECT column_name, column_type FROM (DESCRIBE FROM '${file}')`);
  expect(types).toEqual(
    expect.arrayContaining(
      Object.entries({
        topic: 'VARCHAR',
        partition: 'INTEGER',
        offset: 'BIGINT',
        time: 'TIMESTAMP WITH TIME ZONE',
        headers: 'MAP(VARCHAR, VARCHAR)',
        effective: 'BOOLEAN',
        sequence: 'BIGINT',
        gross: 'DECIMAL(38,6)',
        decided_at: 'TIMESTAMP WITH TIME ZONE',
      }).map(([column_name, column_type]) => ({ column_name, column_type })),
    ),
  );
  expect(
    await rowsOf(
      `SELECT "partition", "offset", effective, deposit_id, gross, credit, tx_id, decided_at,
              deposit_address SIMILAR TO 'T[1-9A-Za-z]{33}' AS is_tron
         FROM '${file}' WHERE deposit_id = '${small}' AND type = 'DepositConfirmed' ORDER BY 2`,
    ),
  ).toEqual(
    [1, 5].map((offset) => ({
      partition: 0,
      offset: String(offset),
      effective: offset === 1,
      deposit_id: small,
      gross: '2.500000',
      credit: '0.500000',
      tx_id: `00000001${'0'.repeat(56)}`,
      decided_at: `${new Date(BEGIN).toISOString().replace('T', ' ').slice(0, 19)}+00`,
      is_tron: true,
    })),
  );
  const unreadable = `SELECT raw, error IS NOT NULL AS says FROM '${file}' WHERE type IS NULL`;
  expect(await rowsOf(unreadable)).toEqual([{ raw: '0x7b7d', says: true }]);
});

test('blocks in Parquet are nested, and --effective leaves out those that were reverted', async () => {
  const file = join(folder, 'blocks.parquet');
  await exported(blocks, '--format', 'parquet', '--out', file, '--effective');
  const standing: (typeof events)[number][] = [];
  for (const event of events) {
    if (event.type === 'BlockReverted') standing.pop();
    if (event.type === 'BlockAppended') standing.push(event);
  }
  const transactions = standing.flatMap((event) =>
    event.type === 'BlockAppended' ? event.transactions : [],
  );
  const units = transactions.reduce((sum, { amount }) => sum + amount, 0n);
  expect(
    await rowsOf(
      `SELECT count(*) AS number, CAST(sum(t.amount) AS VARCHAR) AS amount
         FROM (SELECT unnest(transactions) AS t FROM '${file}' WHERE type = 'BlockAppended')`,
    ),
  ).toEqual([{ number: String(transactions.length), amount: decimal(units) }]);
});

test('a fare of 10^32 CLT is null in Parquet, and its block and the supply are whole', async () => {
  const codec = await openCodec(stack.registry_url, [CHAIN_BLOCKS]);
  const file = join(folder, 'fares.parquet');
  const block = bigBlock(4);
  const fares = [7n, 10n ** 38n - 1n, 10n ** 38n, 2n ** 256n - 1n];
  const transactions = block.transactions.map((each, at) =>
    Object.assign({}, each, { amount: fares[at] }),
  );
  const topic = await freshTopic(kafka);
  const named = [Object.assign({}, block, { transactions })];
  const entries = [...chainEntries(codec, named, 1e6)].flatMap((part) => part.entries);
  await appendAll(kafka, topic, entries);
  await exported(topic, '--format', 'parquet', '--out', file);
  const supply = block.balance_effects.reduce((sum, { delta }) => sum + delta, 0n);
  expect(
    await rowsOf(
      `SELECT type, error, effective, list_transform(transactions, t -> t.amount) AS fares,
              list_sum(list_transform(balance_effects, e -> e.delta))::VARCHAR AS supply
         FROM '${file}'`,
    ),
  ).toEqual([
    {
      type: 'BlockAppended',
      error: null,
      effective: true,
      fares: [decimal(7n), decimal(10n ** 38n - 1n), null, null],
      supply: decimal(supply),
    },
  ]);
});

test('an effect that fits in no column takes its block out of Parquet, with the reason', async () => {
  const codec = await openCodec(stack.registry_url, [CHAIN_BLOCKS]);
  const file = join(folder, 'effects.parquet');
  const block = bigBlock(1);
  const balance_effects = block.balance_effects.map((each) =>
    Object.assign({}, each, { delta: 10n ** 38n }),
  );
  const topic = await freshTopic(kafka);
  const named = [Object.assign({}, block, { balance_effects })];
  const entries = [...chainEntries(codec, named, 1e6)].flatMap((part) => part.entries);
  await appendAll(kafka, topic, entries);
  await exported(topic, '--format', 'parquet', '--out', file);
  expect(await rowsOf(`SELECT balance_effects, error FROM '${file}'`)).toEqual([
    { balance_effects: null, error: expect.stringContaining('more than 38 digits') },
  ]);
});

test('a text in CSV that a spreadsheet would compute has an apostrophe', async () => {
  const args = ['--format', 'csv', '--from', '8', '--stack', stackFile];
  const { stdout } = await ops('export', ledger, ...args);
  expect(stdout.split('\n')[1]).toContain(`,'=1+1,`);
});

test('an export that is carried on counts no block that was reverted since', async () => {
  const topic = await freshTopic(kafka);
  const codec = await openCodec(stack.registry_url, [CHAIN_BLOCKS]);
  const parts = join(folder, 'part-*.parquet');
  const supplies = new Set<unknown>();
  const standing: bigint[] = [];
  let isStale = false;
  for (let at = 0; at < events.length; at += 11) {
    const next = events.slice(at, at + 11);
    const entries = [...chainEntries(codec, next, 1e6)].flatMap((part) => part.entries);
    await appendAll(kafka, topic, entries);
    const file = parts.replace('*', String(at));
    await exported(topic, '--from', String(at), '--format', 'parquet', '--out', file);
    isStale ||= at > 0 && next[0]?.type === 'BlockReverted';
    for (const event of next)
      if (event.type === 'BlockReverted') standing.pop();
      else if (event.type === 'BlockAppended')
        standing.push(event.balance_effects.reduce((sum, { delta }) => sum + delta, 0n));
    const [sql] = codeBlocks('docs/analysts.md', 'sql');
    const rows = await rowsOf(
      String(sql?.code).replaceAll('.local/analysts/part-*.parquet', parts),
    );
    const supply = decimal(standing.reduce((sum, delta) => sum + delta, 0n));
    expect(rows).toEqual([{ supply }]);
    supplies.add(supply);
  }
  expect([isStale, supplies.size > 3]).toEqual([true, true]);
});

function decimal(units: bigint): string {
  const digits = String(units).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

test('CSV and lines go to standard output alone, of tail too', async () => {
  const range = ['--from', '1', '--to', '2', '--stack', stackFile];
  const [csv, same, lines, exportedLines] = await Promise.all([
    ops('export', ledger, '--format', 'csv', ...range),
    ops('tail', ledger, '--format', 'csv', ...range),
    ops('tail', ledger, '--format', 'ndjson', ...range),
    ops('export', ledger, '--format', 'ndjson', ...range),
  ]);
  expect(csv.code).toBe(0);
  expect(same.stdout).toBe(csv.stdout);
  const [header = '', row = '', ...rest] = csv.stdout.split('\n');
  expect(header).toMatch(/^topic,partition,offset,time,key,headers,type,schema_id,effective,/);
  expect(row).toContain(`${ledger},0,1,${new Date(BEGIN).toISOString()},${small},`);
  expect(row).toContain(',2.500000,');
  expect(rest).toEqual(['']);
  expect(exportedLines.stdout).toBe(lines.stdout);
  expect(JSON.parse(lines.stdout)).toMatchObject({ offset: '1', value: { gross: '2500000' } });
  const file = join(folder, 'ledger.ndjson');
  const done = await exported(ledger, '--format', 'ndjson', '--out', file, '--json');
  expect(JSON.parse(done.stdout)).toEqual({ file, format: 'ndjson', records: 9 });
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(10);
});

test('the end of the reader of a table is no failure', async () => {
  const args = ['export', blocks, '--format', 'csv', '--stack', stackFile];
  expect(await opsInShell(args, '2>/dev/null | head -n 1')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^topic,.*\n$/),
  });
});

test('an interrupted export leaves the file as it was, and nothing beside it', async () => {
  const own = mkdtempSync(join(folder, 'interrupted-'));
  const file = join(own, 'blocks.csv');
  writeFileSync(file, 'before');
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  const asked = once(silent, 'request');
  await once(silent, 'listening');
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const other = join(folder, 'silent.json');
  writeFileSync(other, JSON.stringify({ ...stack, registry_url: `http://127.0.0.1:${port}` }));
  const running = startOps('export', blocks, '--format', 'csv', '--out', file, '--stack', other);
  await asked;
  expect(readdirSync(own)).toHaveLength(2);
  running.process.kill('SIGINT');
  silent.closeAllConnections();
  silent.close();
  expect(await running.ended).toBe(2);
  expect(readdirSync(own)).toEqual(['blocks.csv']);
  expect(readFileSync(file, 'utf8')).toBe('before');
});
