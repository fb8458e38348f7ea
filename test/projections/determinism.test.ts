/** The same logs in other batches, interleaved otherwise, under another time zone, locale and session, give the same bytes in every table. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { createDatabase, postgresUrl } from '../../infra/local/postgres.ts';
import { superuser } from '../../infra/postgres/settings.ts';
import { deposits } from '../../projections/deposits/deposits.ts';
import { explorer } from '../../projections/explorer/explorer.ts';
import type { Projection } from '../../projections/projection.ts';
import { reserve } from '../../projections/reserve/reserve.ts';
import { rideMarket } from '../../projections/ride_market/ride_market.ts';
import { watch } from '../../projections/watch/watch.ts';
import type { ReserveReconciled } from '../../schemas/reserve.runs/events.ts';
import { PROJECTIONS } from '../../services/projector/projections.ts';
import { compareTables, TEXT_SETTINGS } from '../../services/runtime/rebuild/compare-tables.ts';
import { chainEvents } from '../support/chain.ts';
import { freshDatabase } from '../support/database.ts';
import { addressLog, ledgerLog, transferLog } from '../support/deposit-log.ts';
import { Random } from '../support/random.ts';
import { applyStretch, openTables } from './deposits/applied.ts';
import { rideChain } from './ride_market/ride-chain.ts';

interface Log<Event> {
  readonly topic: string;
  readonly partition: number;
  readonly events: readonly Event[];
}

/** How the logs are cut and read. */
interface Reading {
  /** of the next batch */
  readonly size: number;
  /** whose log comes next: the first that has any left, or any of them */
  readonly next: 'in turn' | 'by chance';
}

const READINGS: Readonly<Record<string, Reading>> = {
  'one by one': { size: 1, next: 'in turn' },
  'by seven': { size: 7, next: 'by chance' },
  'all at once': { size: 5_000, next: 'in turn' },
};

/** Nothing of this may be seen in a row. */
const ODD_SETTINGS = {
  TimeZone: 'Asia/Kathmandu',
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
} as const;

let plainUrl: string;
let oddUrl: string;

beforeAll(async () => {
  const stack = inject('stack');
  const { host } = new URL(stack.postgres_url);
  const name = `t_${randomBytes(6).toString('hex')}`;
  await ask(postgresUrl(superuser, host, 'postgres'), [
    `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'sv-SE-u-kf-upper'`,
    ...Object.entries(ODD_SETTINGS).map(([setting, value]) => `ALTER DATABASE ${name} SET ${setting} = '${value}'`),
  ]);
  ({ writer_url: oddUrl } = await createDatabase(host, name));
  ({ writer_url: plainUrl } = await freshDatabase(stack));
  const [told] = await ask(oddUrl, ["SELECT 'z' < 'ö' AND 'a' < 'B' AS sorted, current_setting('DateStyle') AS style"]);
  expect(told).toEqual({ sorted: true, style: 'German, DMY' });
});

/** The rows of the last statement. */
async function ask(url: string, statements: readonly string[]): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  let rows: readonly unknown[] = [];
  for (const statement of statements) ({ rows } = await client.query(statement));
  await client.end();
  return rows;
}

async function applyAll<Event extends { readonly type: string }>(
  url: string,
  projection: Projection<Event>,
  logs: readonly Log<Event>[],
  reading: Reading,
): Promise<void> {
  const pool = await openTables(url, projection);
  const random = new Random(11);
  const nexts = logs.map(() => 0);
  for (;;) {
    const open = logs.flatMap(({ events }, at) => ((nexts[at] ?? 0) < events.length ? [at] : []));
    const [first] = open;
    if (first === undefined) break;
    const at = reading.next === 'in turn' ? first : random.pick(open);
    const { topic, partition, events = [] } = logs[at] ?? { topic: '', partition: 0 };
    const from = nexts[at] ?? 0;
    const part = events.slice(from, from + reading.size);
    await applyStretch(pool, projection, { topic, partition, from, events: part });
    nexts[at] = from + part.length;
  }
  await pool.end();
}

async function digests(url: string, schema: string, projection: Pick<Projection, 'tables'>): Promise<Record<string, string>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(TEXT_SETTINGS);
  const side = { client, schema };
  const compared = await compareTables(side, side, projection.tables);
  await client.end();
  return Object.fromEntries(compared.map(({ table, rows, digest }) => [table, `${rows} ${digest}`]));
}

function reserveRun(at: number): ReserveReconciled {
  const amount = BigInt(at) * 10n ** 20n;
  return {
    type: 'ReserveReconciled',
    run_id: `run ${at % 50}`,
    run_at: 1_790_000_000_000 + at,
    ledger_offset: at,
    block_height: at,
    block_hash: Buffer.alloc(32, at),
    onchain_supply: amount,
    genesis_allocation: 0n,
    treasury_minted: amount,
    burned: amount / 3n,
    ledger_liability: -amount,
    custody_reported: amount,
    held: 0n,
    retained_fees: 1n,
    status: 'mismatch',
  };
}

/** Each projection with its logs. */
const CASES: Readonly<Record<string, (url: string, reading: Reading) => Promise<void>>> = {
  explorer: (url, reading) => {
    const events = [...chainEvents({ seed: 51, blocks: 40, transactions_per_block: 5, reorg_probability: 0.15 })];
    return applyAll(url, explorer, [{ topic: 'chain.blocks', partition: 0, events }], reading);
  },
  ride_market: (url, reading) => {
    const { log } = rideChain({ seed: 52, blocks: 30, transactions_per_block: 8, reorg_probability: 0.2, final_depth: 5 });
    return applyAll(url, rideMarket, [{ topic: 'chain.blocks', partition: 0, events: log }], reading);
  },
  deposits: (url, reading) => {
    const addresses = { topic: 'deposit.addresses', partition: 0, events: addressLog({ seed: 53, accounts: 20, events: 60 }) };
    const ledger = { topic: 'treasury.ledger', partition: 0, events: ledgerLog({ seed: 54, accounts: 8, events: 150 }) };
    return applyAll(url, deposits, [addresses, ledger], reading);
  },
  watch: (url, reading) => {
    const addresses = { topic: 'deposit.addresses', partition: 0, events: addressLog({ seed: 55, accounts: 20, events: 60 }) };
    const transfers = transferLog({ seed: 56, accounts: 20, events: 150 });
    return applyAll(
      url,
      watch,
      [addresses, ...transfers.map((events, partition) => ({ topic: 'tron.transfers', partition, events }))],
      reading,
    );
  },
  reserve: (url, reading) => {
    const events = Array.from({ length: 80 }, (_, at) => reserveRun(at));
    return applyAll(url, reserve, [{ topic: 'reserve.runs', partition: 0, events }], reading);
  },
};

test.each(PROJECTIONS.map((projection) => [projection.name, projection] as const))(
  '%s: one log gives one digest of each table, however it is cut and read',
  async (name, projection) => {
    const apply = CASES[name];
    if (apply === undefined) throw new Error(`no logs of ${name}`);
    const found = new Map<string, unknown>();
    for (const [how, reading] of Object.entries(READINGS)) {
      const isOdd = reading.next === 'by chance';
      const zone = process.env['TZ'];
      onTestFinished(() => void (zone === undefined ? delete process.env['TZ'] : (process.env['TZ'] = zone)));
      if (isOdd) process.env['TZ'] = 'Pacific/Chatham';
      const url = isOdd ? oddUrl : plainUrl;
      await apply(url, reading);
      found.set(how, await digests(url, name, projection));
      await ask(url, [`DROP SCHEMA ${name} CASCADE`]);
    }
    const [first, ...others] = found.values();
    expect(Object.keys(Object(first)).length).toBeGreaterThanOrEqual(projection.tables.length);
    for (const each of others) expect(each).toEqual(first);
    const empty = Object.entries(Object(first)).filter(([, digest]) => String(digest).startsWith('0 '));
    expect(empty).toEqual([]);
  },
);
