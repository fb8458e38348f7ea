import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Pool } from 'pg';
import { reserve } from '../../../../../projections/reserve/reserve.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { readSettings } from '../../../../../services/ops/config.ts';
import { RESERVE_SETTINGS } from '../../../../../services/ops/reserve/runs.ts';
import { opsHere } from '../../../../services/ops/operator.ts';
import { freshDatabase } from '../../../../support/database.ts';

const folder = mkdtempSync(join(tmpdir(), 'clt-ops-'));
const stackFile = join(folder, 'stack.json');

beforeAll(async () => {
  const stack = inject('stack');
  const { writer_url, reader_url } = await freshDatabase(stack);
  await prepareDatabase(writer_url, reserve, { indexed: true });
  const pool = new Pool({ connectionString: writer_url });
  await pool.query(
    `INSERT INTO reserve.runs (ordinal, run_id, run_at, ledger_offset, block_height, block_hash, onchain_supply, genesis_allocation, treasury_minted,
                               burned, ledger_liability, custody_reported, held, retained_fees, status, begun_at, minting, waiting,
                               uncovered, booked_surplus, refunded, oldest_reading_at, ledger_head,
                               unproven, unminted, unproven_refunds, frozen)
     SELECT n, 'run ' || n, timestamptz '2026-11-21 07:28:00.5+00' + n * interval '1 minute', 7, 9, '\\x0a', 20000000000000000001, 1000000, 5, 3, -3, 12, 0, 4, 'mismatch',
            timestamptz '2026-11-21 07:28:00+00' + n * interval '1 minute', 6, 7, 8, 9, 10, timestamptz '1970-01-01 00:00:00+00', '\\x0b',
            0, 0, 0, CASE n WHEN 1 THEN 11 ELSE 0 END
       FROM generate_series(0, 2) n`,
  );
  await pool.query("INSERT INTO reserve.head (one, runs, log_end, hash) VALUES (true, 3, 3, '')");
  await pool.end();
  const urls = {
    registry_url: 'http://127.0.0.1:1',
    tron_url: 'http://127.0.0.1:2',
    node_url: 'http://127.0.0.1:3',
  };
  writeFileSync(
    stackFile,
    JSON.stringify({ kafka_brokers: '127.0.0.1:4', postgres_reader_url: reader_url, ...urls }),
  );
});

afterAll(() => rmSync(folder, { recursive: true }));

test('reconciliations are listed newest first, as text and as JSON', async () => {
  const text = await opsHere(['reserve', 'runs', '--stack', stackFile]);
  expect(text).toMatchObject({ code: 0, stderr: '' });
  expect(text.stdout.trim().split('\n')).toHaveLength(4);
  expect(text.stdout).toMatch(
    /^2026-11-21 07:30 +mismatch +0\.000012 +-0\.000003 +0\.000008 +0\.000012 +0\.00 +20,000,000,000,000\.000001$/m,
  );
  expect(text.stdout).toMatch(/^2026-11-21 07:29 .* 0\.000011 +20,000/m);
  // no column for amounts that are 0 in each of them
  expect(text.stdout.split('\n')[0]).toMatch(/SURPLUS +FROZEN +SUPPLY CLT$/);
  const [header = ''] = (
    await opsHere(['reserve', 'runs', '--limit', '1', '--stack', stackFile])
  ).stdout.split('\n');
  expect(header).toMatch(/SURPLUS +SUPPLY CLT$/);
  const { stdout } = await opsHere([
    'reserve',
    'runs',
    '--limit',
    '2',
    '--json',
    '--stack',
    stackFile,
  ]);
  const runs: unknown = JSON.parse(stdout);
  expect(runs).toMatchObject([
    { run_id: 'run 2' },
    {
      run_id: 'run 1',
      ledger_liability: '-3',
      ledger_head: '0x0b',
      block_hash: '0x0a',
      retained_fees: '4',
      status: 'mismatch',
      begun_at: '2026-11-21T07:29:00.000Z',
      minting: '6',
      waiting: '7',
      uncovered: '8',
      booked_surplus: '9',
      refunded: '10',
      unproven: '0',
      unminted: '0',
      unproven_refunds: '0',
      frozen: '11',
      surplus: '12',
      oldest_reading_at: '1970-01-01T00:00:00.000Z',
    },
  ]);
});

test('a run without the needed settings is refused with their names', async () => {
  expect(await opsHere(['reserve', 'run', '--stack', stackFile])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /APP_USDT_CONTRACT is not set[^]*APP_CUSTODY_ADDRESSES is not set/,
    ),
  });
});

test('the stack file gives the settings that no variable gives', () => {
  const file = join(folder, 'whole.json');
  const urls = {
    registry_url: 'http://127.0.0.1:18081/apis/ccompat/v7',
    tron_url: 'http://127.0.0.1:17090',
    kafka_brokers: '127.0.0.1:19092',
  };
  const addresses = {
    usdt_contract: 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf',
    custody_addresses: 'TCjow1qG4ZvDNj5ZRCF2RSuS2kMCGKK1JJ',
  };
  const rates = { reconcile_requests_per_second: 200, reconcile_requests_per_day: 0 };
  writeFileSync(file, JSON.stringify({ ...urls, ...addresses, ...rates }));
  const config = readSettings(RESERVE_SETTINGS, file, { APP_TRON_URL: 'https://nile.trongrid.io' });
  expect(config).toMatchObject({
    registry_url: 'http://127.0.0.1:18081/apis/ccompat/v7',
    tron_url: 'https://nile.trongrid.io',
  });
  expect(config.custody_addresses).toHaveLength(1);
  expect(config).toMatchObject(rates);
});
