/** The watcher's tables in Postgres: concurrent folds, and query plans at 100,000 addresses. */
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { checkOf, longestDue, nextHot, nextInTurn } from '../../../../projections/watch/queries.ts';
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
import { HANG_MS } from '../../../support/limits.ts';

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
    statement_timeout_ms: HANG_MS,
    connections_max: 2,
  };
  const reader = openReader(settings, 'test', silentLog());
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

/** The time of the queries, in the middle of those at which hot addresses are due. */
const NOW = 2_000_000;

/** Requested addresses, mostly checked; every 97th is hot, and two of five were paid. */
async function fill(pool: Pool): Promise<void> {
  await pool.query(
    `INSERT INTO addresses SELECT substring(sha256(int8send(n)) FOR 20), n, substring(sha256(int8send(-n)) FOR 20), n % 6, now() FROM generate_series(1, ${ADDRESSES}) n`,
  );
  await pool.query(
    `INSERT INTO queue (deposit_address, partition, requested, hot, paid, openings, hot_until, checked_at, checked_until, turn_at, due_at, pause_level)
     SELECT deposit_address, partition, true, derivation_index % ${HOT_EVERY} = 0, derivation_index % 5 < 2, 1, 3000000,
            checked_at, 500000, checked_at, checked_at + 1 + (derivation_index * 7907) % 1000003, (derivation_index * 7907) % 10
       FROM (SELECT *, CASE WHEN derivation_index % 1000 = 0 THEN 0 ELSE 1000000 + (derivation_index * 7919) % 1000003 END AS checked_at FROM addresses) a`,
  );
  await pool.query(
    `INSERT INTO queue (deposit_address, partition, requested, hot, paid, openings, hot_until, checked_at, checked_until, turn_at, due_at, pause_level)
     SELECT substring(sha256(int8send(n)) FOR 20), n % 6, false, true, true, 0, 0, 1, 1, 1, 1, 0 FROM generate_series(200001, 200100) n`,
  );
  await pool.query('ANALYZE');
}

/** The account that has the address with this derivation index. */
function accountOf(index: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(index));
  return createHash('sha256').update(bytes).digest().subarray(0, 20);
}

/** The time since a check in parts of the pause after it. */
function lateOf(checked: number, due: number): number {
  return (NOW - checked) / (due - checked);
}

let queue: readonly {
  readonly address: string;
  readonly partition: number;
  readonly hot: boolean;
  readonly paid: boolean;
  readonly turn_at: number;
  readonly due_at: number;
  /** the order among those of its kind: the latest first */
  readonly late: number;
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
    paid: boolean;
    turn_at: string;
    due_at: string;
    checked_at: string;
    pause_level: number;
  }>(
    `SELECT deposit_address::text AS address, partition, hot, paid, turn_at, due_at, checked_at, pause_level FROM queue WHERE requested`,
  );
  queue = rows.map(({ address, partition, hot, paid, turn_at, due_at, checked_at, ...row }) => ({
    address,
    partition,
    hot,
    paid,
    turn_at: Number(turn_at),
    due_at: Number(due_at),
    late: row.pause_level === 0 ? Infinity : lateOf(Number(checked_at), Number(due_at)),
  }));
  await pool.end();
  const settings = {
    postgres_reader_url: urls.reader_url,
    statement_timeout_ms: HANG_MS,
    connections_max: 2,
  };
  opened = { reader: openReader(settings, 'test', silentLog()), reader_url: urls.reader_url };
  return () => opened.reader.close();
});

const ALL = [0, 1, 2, 3, 4, 5];

test.each([{ partitions: ALL }, { partitions: [4] }, { partitions: [] }])(
  'the next hot addresses of partitions $partitions are due: paid ones, new panels, then the latest by their pauses',
  async ({ partitions }) => {
    const due = queue
      .filter(
        ({ hot, due_at: dueAt, partition }) =>
          hot && dueAt <= NOW && partitions.includes(partition),
      )
      .toSorted(
        (one, other) =>
          Number(other.paid) - Number(one.paid) ||
          (one.late === other.late ? 0 : other.late - one.late) ||
          other.due_at - one.due_at ||
          (one.address < other.address ? 1 : -1),
      );
    const rows = await opened.reader.rows(nextHot(partitions, 10_000, NOW));
    expect(rows.map(([address]) => address)).toEqual(due.map(({ address }) => address));
    const first50 = await opened.reader.rows(nextHot(partitions, 50, NOW));
    expect(first50).toHaveLength(Math.min(50, due.length));
    expect(new Set(due.map(({ paid }) => paid)).size).toBe(partitions.length === 0 ? 0 : 2);
    const longest = await opened.reader.rows(longestDue(partitions));
    const first = (paid: boolean): number =>
      due.reduce((least, each) => (each.paid === paid ? Math.min(least, each.due_at) : least), NOW);
    expect(new Map(longest.map(([paid, at]) => [paid, Number(at)]))).toEqual(
      new Map(
        partitions.length === 0
          ? []
          : [
              ['t', first(true)],
              ['f', first(false)],
            ],
      ),
    );
  },
);

test.each([{ partitions: ALL }, { partitions: [1, 5] }, { partitions: [] }])(
  'the rotation of partitions $partitions begins with the longest unchecked addresses, hot or not',
  async ({ partitions }) => {
    const rows = await opened.reader.rows(nextInTurn(partitions, 50));
    const wanted = queue
      .filter(({ partition }) => partitions.includes(partition))
      .toSorted(
        (one, other) => one.turn_at - other.turn_at || (one.address < other.address ? -1 : 1),
      );
    expect(rows.map(([address]) => address)).toEqual(
      wanted.slice(0, 50).map(({ address }) => address),
    );
  },
);

function check(index: number): Promise<readonly unknown[]> {
  return opened.reader.rows(checkOf(accountOf(index)));
}

test('the check of an account is that of its address, which is due only while it is hot', async () => {
  const checkedAt = 1_000_000 + ((HOT_EVERY * 7_919) % 1_000_003);
  const dueAt = checkedAt + 1 + ((HOT_EVERY * 7_907) % 1_000_003);
  expect(await check(HOT_EVERY)).toEqual([[String(checkedAt), String(dueAt)]]);
  expect(await check(HOT_EVERY + 1)).toEqual([[expect.any(String), null]]);
  expect(await check(ADDRESSES + 1)).toEqual([]);
});

const QUERIES: Readonly<Record<string, readonly [Query, rows: number]>> = {
  'the next hot': [nextHot(ALL, 50, NOW), 50 * (6 * 20 + 1)],
  'the next hot of one partition': [nextHot([2], 50, NOW), 50 * 21],
  'the next in turn': [nextInTurn(ALL, 50), 50 * 7],
  'the next in turn of one partition': [nextInTurn([2], 50), 50 * 2],
  'the longest due': [longestDue(ALL), 120],
  'the check of an account': [checkOf(accountOf(7)), 2],
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
