/** The watcher's tables in Postgres: concurrent folds, and query plans at 100,000 addresses. */
import type { Pool } from 'pg';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { nextCold, nextHot } from '../../../../projections/watch/queries.ts';
import { watch } from '../../../../projections/watch/watch.ts';
import type { Query } from '../../../../projections/contract/page.ts';
import { openReader, type ReaderPool } from '../../../../services/runtime/postgres/pool.ts';
import { addressLog, transferLog } from '../../../support/deposit-log.ts';
import { freshDatabase } from '../../../support/database.ts';
import { silentLog } from '../../../support/kafka.ts';
import { plainWatch } from '../../../support/plain-deposits.ts';
import { differences, readTables, texts } from '../../../support/plain-fold.ts';
import { Random } from '../../../support/random.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { explained, PLAN_CACHES } from '../../../projections/explorer/explained.ts';

const TURN = { turn: texts([{ one: true }]) };

async function open(): Promise<{
  readonly pool: Pool;
  readonly reader: ReaderPool;
  readonly reader_url: string;
}> {
  const urls = await freshDatabase(inject('stack'));
  const pool = await openTables(urls.writer_url, watch);
  onTestFinished(() => pool.end());
  const settings = {
    postgres_reader_url: urls.reader_url,
    application_name: 'test',
    statement_timeout_ms: 30_000,
    connections_max: 2,
  };
  const reader = openReader(settings, silentLog());
  onTestFinished(() => reader.close());
  return { pool, reader, reader_url: urls.reader_url };
}

test('seven partitions folded concurrently lose no update', async () => {
  for (let seed = 1; seed <= 3; seed++) {
    const { pool } = await open();
    const addresses = addressLog({ seed, accounts: 40, events: 200 });
    const transfers = transferLog({ seed: seed + 1, accounts: 40, events: 600 });
    const logs = [
      { topic: 'deposit.addresses', partition: 0, events: addresses },
      ...transfers.map((events, partition) => ({ topic: 'tron.transfers', partition, events })),
    ];
    const random = new Random(seed);
    await Promise.all(
      logs.map(async ({ topic, partition, events }) => {
        for (let from = 0; from < events.length;) {
          const next = events.slice(from, from + 1 + random.below(25));
          await applyStretch(pool, watch, { topic, partition, from, events: next });
          from += next.length;
        }
      }),
    );
    expect(
      differences(await readTables(pool, 'watch'), {
        ...TURN,
        ...plainWatch(addresses, transfers),
      }),
    ).toEqual([]);
  }
});

const ADDRESSES = 100_000;
const HOT_EVERY = 97;

/** Requested addresses, mostly checked; every 97th is hot, every 1,000th unrequested. */
async function fill(pool: Pool): Promise<void> {
  await pool.query(
    `INSERT INTO addresses SELECT substring(sha256(int8send(n)) FOR 20), n, substring(sha256(int8send(-n)) FOR 20), n % 6, now() FROM generate_series(1, ${ADDRESSES}) n`,
  );
  await pool.query(
    `INSERT INTO queue SELECT deposit_address, partition, true, derivation_index % ${HOT_EVERY} = 0, CASE WHEN derivation_index % ${HOT_EVERY} = 0 THEN 3000000 ELSE 0 END,
            CASE WHEN derivation_index % 1000 = 0 THEN 0 ELSE 1000000 + (derivation_index * 7919) % 1000003 END, 500000 FROM addresses`,
  );
  await pool.query(
    'INSERT INTO queue SELECT substring(sha256(int8send(n)) FOR 20), n % 6, false, false, 0, 1, 1 FROM generate_series(200001, 200100) n',
  );
  await pool.query('ANALYZE');
}

let queue: readonly {
  readonly address: string;
  readonly partition: number;
  readonly hot: boolean;
  readonly checked_at: number;
}[];
let opened: { readonly reader: ReaderPool; readonly reader_url: string };

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  const pool = await openTables(urls.writer_url, watch);
  await fill(pool);
  const { rows } = await pool.query<{
    address: string;
    partition: number;
    hot: boolean;
    checked_at: string;
  }>(
    `SELECT deposit_address::text AS address, partition, hot, checked_at FROM queue WHERE requested`,
  );
  queue = rows.map(({ address, partition, hot, checked_at: at }) => ({
    address,
    partition,
    hot,
    checked_at: Number(at),
  }));
  await pool.end();
  const settings = {
    postgres_reader_url: urls.reader_url,
    application_name: 'test',
    statement_timeout_ms: 30_000,
    connections_max: 2,
  };
  opened = { reader: openReader(settings, silentLog()), reader_url: urls.reader_url };
  return () => opened.reader.close();
});

test.each([
  ['hot', nextHot, true, [0, 1, 2, 3, 4, 5]],
  ['hot', nextHot, true, [4]],
  ['cold', nextCold, false, [0, 1, 2, 3, 4, 5]],
  ['cold', nextCold, false, [1, 5]],
  ['cold', nextCold, false, []],
] as const)(
  'the next %s addresses are the least recently checked of the given partitions',
  async (_what, next, hot, partitions) => {
    const rows = await opened.reader.rows(next(partitions, 50));
    const wanted = queue
      .filter(
        (entry) =>
          entry.hot === hot && partitions.some((partition) => partition === entry.partition),
      )
      .toSorted(
        (one, other) => one.checked_at - other.checked_at || (one.address < other.address ? -1 : 1),
      );
    expect(rows.map(([address]) => address)).toEqual(
      wanted.slice(0, 50).map(({ address }) => address),
    );
    expect(rows.length).toBe(partitions.length === 0 ? 0 : 50);
  },
);

const QUERIES: Readonly<Record<string, readonly [Query, rows: number]>> = {
  'the next hot': [nextHot([0, 1, 2, 3, 4, 5], 50), 50 * 7],
  'the next hot of one partition': [nextHot([2], 50), 50 * 2],
  'the next cold': [nextCold([0, 1, 2, 3, 4, 5], 50), 50 * 7],
  'the next cold of one partition': [nextCold([2], 50), 50 * 2],
};

test('at 100,000 addresses each query reads a bounded number of rows by index and discards none', async () => {
  for (const [what, [query, most]] of Object.entries(QUERIES)) {
    for (const planCache of PLAN_CACHES) {
      const { scans, removed } = await explained(opened.reader_url, query, planCache);
      const others = scans.filter(({ how, table }) => !how.startsWith('Index') && table !== 'book');
      expect({ what, planCache, others, removed }).toEqual({
        what,
        planCache,
        others: [],
        removed: 0,
      });
      expect(
        scans.reduce((sum, { rows }) => sum + rows, 0),
        what,
      ).toBeLessThanOrEqual(most);
    }
  }
});
