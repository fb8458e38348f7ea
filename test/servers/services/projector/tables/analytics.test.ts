import { Client } from 'pg';
import { beforeEach, expect, inject, onTestFinished, test } from 'vitest';
import { deposits } from '../../../../../projections/deposits/deposits.ts';
import { intend } from '../../../../../projections/deposits/domain/minting.ts';
import { explorer } from '../../../../../projections/explorer/explorer.ts';
import { PROJECTIONS } from '../../../../../services/projector/registry.ts';
import { rebuild } from '../../../../../services/projector/rebuild/rebuild.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import {
  applyStretch,
  openTables as openDeposits,
} from '../../../../projections/deposits/applied.ts';
import { fillSeries } from '../../../../projections/series/filled-series.ts';
import { plainSeries } from '../../../../projections/series/plain-series.ts';
import { TRONWEB_VECTORS } from '../../../../schemas/tron-vectors.ts';
import { openTables } from '../../../../services/projector/engine/projected.ts';
import {
  expectProjected,
  openOwnLog,
  startRunner,
} from '../../../../services/projector/engine/running.ts';
import { optionsOf, type World } from '../../../../services/projector/rebuild/rebuilding.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { freshDatabase, rowsOf } from '../../../../support/database.ts';
import { depositEvents } from '../../../../support/deposit-events.ts';
import { BEGIN, hashOf, MintLedger, USD } from '../../../../support/mint-ledger.ts';
import { addressOf, authority, BY, signed } from '../../../../support/operators.ts';

let urls: Awaited<ReturnType<typeof freshDatabase>>;

beforeEach(async () => {
  urls = await freshDatabase(inject('stack'));
});

/** As analysts read. */
function read(sql: string): Promise<readonly Record<string, unknown>[]> {
  return rowsOf(urls.analyst_url, sql);
}

const VIEWS = `SELECT oid::regclass::text AS view, oid FROM pg_class
                WHERE relkind = 'v' AND relnamespace = 'analytics'::regnamespace ORDER BY 1`;

test('the reader can read each view, and none has a column of bytes', async () => {
  for (const projection of PROJECTIONS) await prepareDatabase(urls.writer_url, projection);
  const views = await read(VIEWS);
  expect(views.length).toBeGreaterThan(10);
  for (const { view } of views) expect(await read(`SELECT * FROM ${String(view)}`)).toEqual([]);
  expect(
    await read(
      `SELECT table_name FROM information_schema.columns
        WHERE table_schema = 'analytics' AND data_type = 'bytea'`,
    ),
  ).toEqual([]);
});

test('a filter of a view uses the index of the table', async () => {
  await prepareDatabase(urls.writer_url, explorer, { indexed: true });
  const plan = await read('EXPLAIN SELECT hash FROM analytics.blocks WHERE height = 7');
  expect(JSON.stringify(plan)).toContain('blocks_height');
});

test('each numeric column of a view says how many digits it has', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  expect(
    await read(
      `SELECT DISTINCT numeric_precision AS digits, numeric_scale AS after_the_point
         FROM information_schema.columns
        WHERE table_schema = 'analytics' AND data_type = 'numeric' ORDER BY 1`,
    ),
  ).toEqual([
    { digits: 18, after_the_point: 15 },
    { digits: 38, after_the_point: 6 },
  ]);
});

function insertFare(fare: bigint): string {
  return `INSERT INTO ride_market.open_requests
    VALUES (decode(md5('${fare}'), 'hex'), '', '-89.123456789012345', '180', '0', '-179.999999999999999', ${fare}, NULL, 1, 0)`;
}

function insertBalance(balance: bigint): string {
  return `INSERT INTO explorer.accounts
    VALUES (decode(md5('${balance}'), 'hex'), ${balance}, 0, 0, 0, 0, 0)`;
}

test('a fare that fits in no column is null, and a balance that large ends the query', async () => {
  for (const projection of PROJECTIONS) await prepareDatabase(urls.writer_url, projection);
  const fits = 10n ** 38n - 1n;
  const largest = 2n ** 256n - 1n;
  for (const fare of [1n, fits, fits + 1n, largest])
    await rowsOf(urls.writer_url, insertFare(fare));
  const seen = `SELECT fare::text, pickup_latitude::text, pickup_longitude::text
                  FROM analytics.ride_requests ORDER BY fare`;
  const place = { pickup_latitude: '-89.123456789012345', pickup_longitude: '180.000000000000000' };
  expect(await read(seen)).toEqual(
    [clt(1n), clt(fits), null, null].map((fare) => Object.assign({ fare }, place)),
  );
  await rowsOf(urls.writer_url, insertBalance(fits));
  const supply = 'SELECT sum(balance)::text AS supply FROM analytics.accounts';
  expect(await read(supply)).toEqual([{ supply: clt(fits) }]);
  await rowsOf(urls.writer_url, insertBalance(fits + 1n));
  // numeric_value_out_of_range
  await expect(read(supply)).rejects.toMatchObject({ code: '22003' });
});

test('addresses of TRON are in their usual spelling', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const pairs = TRONWEB_VECTORS.map(([hex, text]) => `('\\x${hex}'::bytea, '${text}')`).join();
  expect(
    await read(
      `SELECT * FROM (VALUES ${pairs}) v (bytes, text) WHERE projector.tron_address(bytes) <> text`,
    ),
  ).toEqual([]);
});

test.for(['effects_of', 'transactions_of'])(
  '%s of no address says how to write one',
  async (rows) => {
    for (const projection of PROJECTIONS) await prepareDatabase(urls.writer_url, projection);
    const of = (text: string) => read(`SELECT * FROM analytics.${rows}('${text}')`);
    const digits = 'Ab'.repeat(20);
    // invalid_parameter_value
    const refused = {
      code: '22023',
      message: expect.stringContaining('write 0x and 40 hex digits'),
    };
    for (const text of [
      'nonsense',
      '',
      digits,
      `0x${digits}00`,
      `0x${digits} `,
      `0x${'zz'.repeat(20)}`,
    ])
      await expect(of(text), text).rejects.toMatchObject(refused);
    expect(await of(`0x${digits}`)).toEqual([]);
  },
);

test('one index has the text of addresses of TRON, and leads to their transfers', async () => {
  for (const projection of PROJECTIONS)
    await prepareDatabase(urls.writer_url, projection, { indexed: true });
  expect(
    await rowsOf(
      urls.writer_url,
      `SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%tron_address(%'`,
    ),
  ).toEqual([{ indexname: 'addresses_tron_text' }]);
  const [[hex, text] = []] = TRONWEB_VECTORS;
  const transfer = (id: number, address: string): Promise<unknown> =>
    rowsOf(
      urls.writer_url,
      `INSERT INTO watch.transfers VALUES ('\\x0${id}', 0, '\\x${address}', 5, 1, now(), 0, ${id})`,
    );
  await transfer(1, String(hex));
  await transfer(2, 'ab'.repeat(20));
  await rowsOf(
    urls.writer_url,
    `INSERT INTO deposits.addresses VALUES ('\\x01', 0, '\\x${hex}', now())`,
  );
  const shown = 'SELECT tx_id, deposit_address FROM analytics.tron_transfers';
  expect(await read(`${shown} WHERE deposit_address = '${text}'`)).toEqual([
    { tx_id: '01', deposit_address: text },
  ]);
  // whose address is not read yet
  expect(await read(`${shown} WHERE tx_id = '02'`)).toEqual([
    { tx_id: '02', deposit_address: null },
  ]);
});

type Figures = Readonly<Record<string, string>>;

/** In CLT, as Postgres writes it. */
function clt(base: bigint): string {
  const digits = String(base).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

function beginOf(hour = ''): Date {
  return new Date(Number(hour) * 3_600_000);
}

/** A row of hours or days, whose hours are these, in their order. */
function figuresOf(hours: readonly Figures[], final: number): object {
  const sum = (name: string): bigint =>
    hours.reduce((total, hour) => total + BigInt(hour[name] ?? ''), 0n);
  const last = hours.at(-1);
  return {
    blocks: String(sum('blocks')),
    transactions: String(sum('transactions')),
    fees: clt(sum('fees')),
    rides: String(sum('rides')),
    fares: clt(sum('fares')),
    supply: clt(BigInt(last?.['supply'] ?? '')),
    is_final: Number(last?.['last_height']) < final,
  };
}

test('the figures of hours, days and validators are those of the live blocks', async () => {
  const { tables } = plainSeries(await fillSeries(urls.writer_url));
  const rows = (table: string): readonly Figures[] =>
    (tables[table] ?? [])
      .map((text): Figures => JSON.parse(text))
      .toSorted((one, other) => Number(one['hour']) - Number(other['hour']));
  const final = Number(rows('head')[0]?.['finalized_height']);
  expect(await read('SELECT * FROM analytics.chain_hours ORDER BY begins_at')).toEqual(
    rows('hours').map((row) =>
      Object.assign(figuresOf([row], final), {
        begins_at: beginOf(row['hour']),
        active_accounts: row['active_accounts'],
      }),
    ),
  );
  const active = new Map(rows('days').map((row) => [row['day'], row['active_accounts']]));
  const days = Map.groupBy(rows('hours'), ({ hour }) => String(Math.floor(Number(hour) / 24)));
  expect(days.size).toBe(3);
  expect(await read('SELECT * FROM analytics.chain_days ORDER BY day')).toEqual(
    [...days].map(([day, hours]) =>
      Object.assign(figuresOf(hours, final), {
        day: new Date(2026, 2, 1 + Number(day) - Date.UTC(2026, 2, 1) / 86_400_000),
        active_accounts: active.get(day) ?? '0',
      }),
    ),
  );
  const validators = await read(
    'SELECT * FROM analytics.validator_hours ORDER BY begins_at, address',
  );
  expect(validators).toEqual(
    rows('producers')
      .toSorted(
        (one, other) =>
          Number(one['hour']) - Number(other['hour']) ||
          ((one['address'] ?? '') < (other['address'] ?? '') ? -1 : 1),
      )
      .map(({ hour, address, blocks }) => ({
        begins_at: beginOf(hour),
        address: `0x${address}`,
        blocks,
      })),
  );
  // both states of the chain's end are among them
  expect(
    new Set(
      (await read('SELECT is_final FROM analytics.chain_hours')).map((row) => row['is_final']),
    ).size,
  ).toBe(2);
});

test('views are made once, and anew when this software defines them otherwise', async () => {
  await prepareDatabase(urls.writer_url, explorer);
  const first = await read(VIEWS);
  await prepareDatabase(urls.writer_url, explorer);
  expect(await read(VIEWS)).toEqual(first);
  for (const _ of [1, 2]) {
    // as of another version, of which a query still runs
    const reader = new Client({ connectionString: urls.reader_url });
    await reader.connect();
    onTestFinished(() => reader.end());
    await reader.query('BEGIN; SELECT FROM analytics.blocks');
    await rowsOf(urls.writer_url, "COMMENT ON SCHEMA analytics IS 'other'");
    await prepareDatabase(urls.writer_url, explorer);
    expect((await read(VIEWS)).map(({ view }) => view)).toEqual(first.map(({ view }) => view));
    await reader.query('COMMIT');
  }
  expect(await read(VIEWS)).not.toEqual(first);
});

/** Reads on until told to stop, each time in one statement; fails at an impossible answer. */
function readOn(): { stop(): Promise<number> } {
  const over = new AbortController();
  const reading = (async (): Promise<number> => {
    const client = new Client({ connectionString: urls.reader_url });
    await client.connect();
    try {
      let reads = 0;
      for (; !over.signal.aborted; reads++) {
        const { rows } = await client.query({
          name: 'totals',
          text: `SELECT count(*) = max(height) + 1 AS dense,
                        sum(transactions) = (SELECT count(*) FROM analytics.transactions) AS whole
                   FROM analytics.blocks`,
        });
        expect(rows).toEqual([{ dense: true, whole: true }]);
      }
      return reads;
    } finally {
      await client.end();
    }
  })();
  reading.catch(() => undefined);
  onTestFinished(() => over.abort());
  return {
    stop() {
      over.abort();
      return reading;
    },
  };
}

test('a credit that is void is none, and the deposit has one row', async () => {
  const pool = await openDeposits(urls.writer_url, deposits);
  onTestFinished(() => pool.end());
  const made = new MintLedger();
  made.setPolicy();
  made.writeAll([{ type: 'AuthoritySet', ...BY, version: 1, authority: addressOf(authority) }]);
  const id = made.deposit(8n * USD);
  const of = depositEvents(id);
  const mint = (nonce: number): Buffer => {
    const intending = { now: BEGIN, final_nonce: nonce, hashOf: hashOf, most: 1 };
    const [intent] = intend(made.ledger, intending).events;
    if (intent === undefined) throw new Error('no mint is due');
    made.writeAll([intent]);
    return intent.tx_hash;
  };
  const tx_hash = mint(3);
  made.writeAll([of.credited(tx_hash)]);
  made.writeAll([signed({ ...of.voided(tx_hash, 3), sequence: made.log.length }, authority)]);
  const show = async (): Promise<readonly Record<string, unknown>[]> => {
    const from = Number((await rowsOf(urls.writer_url, NEXT))[0]?.['next'] ?? 0);
    const events = made.log.slice(from);
    await applyStretch(pool, deposits, { topic: 'treasury.ledger', partition: 0, from, events });
    return read('SELECT status, credited_at IS NULL AS is_open FROM analytics.deposits');
  };
  expect(await show()).toEqual([{ status: 'confirmed', is_open: true }]);
  made.writeAll([of.credited(mint(4))]);
  expect(await show()).toEqual([{ status: 'credited', is_open: false }]);
  expect(
    await read(
      `SELECT nonce::int4, status, ended_at IS NULL AS is_open, block_height::int4 AS height
         FROM analytics.mints ORDER BY nonce`,
    ),
  ).toEqual([
    { nonce: 3, status: 'void', is_open: false, height: null },
    { nonce: 4, status: 'credited', is_open: false, height: 100 },
  ]);
});

const NEXT = 'SELECT sequence + 1 AS next FROM deposits.ledger';

test('views read the new tables after a rebuild, and no read fails or waits meanwhile', async () => {
  const log = await openOwnLog(inject('stack'));
  const tables = await openTables(urls.writer_url, { ...explorer, topics: [log.topic] });
  onTestFinished(() => tables.pool.end());
  const world: World = { ...tables, log, writer_url: urls.writer_url };
  const events = [
    ...chainEvents({ seed: 21, blocks: 300, transactions_per_block: 2, reorg_probability: 0.1 }),
  ];
  await log.append(events);
  startRunner(log, world);
  await expectProjected(world, events);
  const accounts = 'SELECT sum(balance)::text AS supply FROM analytics.accounts';
  const effects = 'SELECT sum(delta)::text AS supply FROM analytics.balance_effects';
  const right = await read(effects);
  await tables.pool.query('UPDATE accounts SET balance = balance + 1');
  expect(await read(accounts)).not.toEqual(right);

  const patient = new Client({ connectionString: urls.reader_url });
  await patient.connect();
  onTestFinished(() => patient.end());
  await patient.query('BEGIN; SELECT FROM analytics.blocks LIMIT 1');
  const reading = readOn();
  expect(await rebuild(optionsOf(world))).toMatchObject({ version: explorer.version });
  expect(await read(accounts)).toEqual(right);
  expect(await reading.stop()).toBeGreaterThan(3);
  await patient.query('COMMIT');
  expect(
    await read(`SELECT col_description('explorer.blocks'::regclass, 1) AS height,
                         col_description('analytics.blocks'::regclass, 1) AS seen`),
  ).toEqual([{ height: '0, 1, 2, ...', seen: '0, 1, 2, ...' }]);
});
