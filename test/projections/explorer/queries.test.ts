import { Client } from 'pg';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import * as queries from '../../../projections/explorer/queries.ts';
import type { Page, Query, TransactionFilter, Way } from '../../../projections/explorer/queries.ts';
import { openLog } from '../../../services/runtime/log.ts';
import { openReader, READER_OPTIONS, type ReaderPool } from '../../../services/runtime/postgres.ts';
import { freshDatabase } from '../../support/database.ts';
import { fillExplorer, seededBlocks, TYPES, type PlainBlock } from './seeded-rows.ts';

const log = openLog({ service: 'test', level: 'silent' });

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function literal(value: Query['values'][number]): string {
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

function open(url: string): ReaderPool {
  return openReader({ postgres_reader_url: url, application_name: 'test', statement_timeout_ms: 30_000, connections_max: 2 }, log);
}

describe('on 50,000 transactions', () => {
  const blocks = seededBlocks({ seed: 7, blocks: 5_000, transactions_max: 25, first_height: 3 });
  const all = blocks.flatMap(({ transactions }) => transactions);
  const hot = mostFrequent(blocks);
  const [, , type] = TYPES;
  const block = blocks.reduce((most, one) => (one.transactions.length > most.transactions.length ? one : most));
  const page: Page = { limit: 100, offset: 1_000n };
  let urls: Awaited<ReturnType<typeof freshDatabase>>;

  beforeAll(async () => {
    urls = await freshDatabase(inject('stack'));
    await fillExplorer(urls.writer_url, blocks);
  });

  async function explained(query: Query, planCache: string): Promise<readonly PlanNode[]> {
    const client = new Client({ connectionString: urls.reader_url, options: `${READER_OPTIONS} -c plan_cache_mode=${planCache}` });
    await client.connect();
    try {
      await client.query(`PREPARE "${query.name}" AS ${query.text}`);
      const values = query.values.length === 0 ? '' : `(${query.values.map(literal).join(', ')})`;
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "${query.name}"${values}`,
      );
      const plan = rows[0]?.['QUERY PLAN'][0].Plan;
      if (plan === undefined) throw new Error('no plan');
      return nodesOf(plan);
    } finally {
      await client.end();
    }
  }

  const everything: TransactionFilter = { block: undefined, address: undefined, type: undefined };
  const of = (filter: Partial<TransactionFilter>, way?: Way, at: Page = page): Query =>
    queries.transactionsPage({ ...everything, ...filter }, at, way);
  const hash = block.transactions[0]?.hash ?? Buffer.alloc(32);

  const ranges: Readonly<Record<string, Query>> = {
    'the newest blocks': queries.blocksPage({ limit: 100, offset: 0n }),
    'blocks far down': queries.blocksPage({ limit: 100, offset: 4_500n }),
    'a block by height': queries.blockByHeight(BigInt(block.height)),
    'a block by hash': queries.blockByHash(block.hash),
    'the newest transactions': of({}, undefined, { limit: 100, offset: 0n }),
    'transactions far down': of({}, undefined, { limit: 100, offset: BigInt(all.length - 150) }),
    'transactions of an address': of({ address: hot }),
    'transactions of an address far down': of({ address: hot }, undefined, { limit: 100, offset: 10_000n }),
    'transactions of a type': of({ type }),
    'transactions of a type far down': of({ type }, undefined, { limit: 100, offset: 9_000n }),
    'transactions of a block': of({ block: BigInt(block.height) }, undefined, { limit: 100, offset: 3n }),
    'a transaction by hash': queries.transactionByHash(hash),
    'counts of an address and a type': queries.transactionCounts(hot, type),
    'an account': queries.accountByAddress(hot),
    'the indexed head': queries.indexedHead(),
    'blocks below a place': queries.blocksPage({ limit: 100, below: 2_000n }),
    'transactions below a place': of({}, undefined, { limit: 100, below: 30_000n }),
    'transactions of an address below a place': of({ address: hot }, undefined, { limit: 100, below: 10_000n }),
    'transactions of a type below a place': of({ type }, undefined, { limit: 100, below: 9_000n }),
    'transactions of a block below a place': of({ block: BigInt(block.height) }, undefined, { limit: 100, below: BigInt(all.length) }),
    stats: queries.stats(),
  };
  const filtered: Readonly<Record<string, Query>> = {
    'an address and a type': of({ address: hot, type }, 'address'),
    'a type and an address': of({ address: hot, type }, 'type'),
    'a block and an address': of({ block: BigInt(block.height), address: hot }),
    'a block and a type': of({ block: BigInt(block.height), type }),
    'a block, an address and a type': of({ block: BigInt(block.height), address: hot, type }),
  };
  const onward: Page = { limit: 100, below: 8_000n };
  const filteredBelow: Readonly<Record<string, Query>> = {
    'an address and a type below a place': of({ address: hot, type }, 'address', onward),
    'a type and an address below a place': of({ address: hot, type }, 'type', onward),
    'a block and an address below a place': of({ block: BigInt(block.height), address: hot }, undefined, onward),
    'a block and a type below a place': of({ block: BigInt(block.height), type }, undefined, onward),
  };
  const planCaches = ['force_custom_plan', 'force_generic_plan'];

  test('each list and detail reads an index range no longer than its page, and leaves out no row that it has read', async () => {
    for (const [what, query] of Object.entries(ranges)) {
      for (const planCache of planCaches) {
        const nodes = await explained(query, planCache);
        const scans = nodes.filter(
          (node) => node['Node Type'].includes('Scan') && !['Subquery Scan', 'Function Scan'].includes(node['Node Type']),
        );
        expect({ what, scans: scans.map((node) => node['Node Type']).filter((name) => !name.startsWith('Index')) }).toEqual({
          what,
          scans: [],
        });
        expect({ what, count: scans.length }).not.toEqual({ what, count: 0 });
        const removed = nodes.reduce((sum, node) => sum + (node['Rows Removed by Filter'] ?? 0), 0);
        expect({ what, removed }).toEqual({ what, removed: 0 });
        const read = scans.reduce((sum, node) => sum + Math.round(node['Actual Rows'] * node['Actual Loops']), 0);
        expect(read, what).toBeLessThanOrEqual(2 * 100 + 3);
        expect(read, what).toBeGreaterThan(0);
      }
    }
  });

  test('combined filters read along one ordinal and never a whole table', async () => {
    for (const [what, query] of Object.entries({ ...filtered, ...filteredBelow })) {
      for (const planCache of planCaches) {
        const nodes = await explained(query, planCache);
        const whole = nodes.filter(
          (node) => node['Node Type'] === 'Seq Scan' || node['Node Type'].startsWith('Bitmap') || node['Node Type'] === 'Sort',
        );
        expect({ what, planCache, whole: whole.map((node) => node['Node Type']) }).toEqual({ what, planCache, whole: [] });
      }
    }
  });

  test('both ways to an address and a type lead to the same rows', async () => {
    const reader = open(urls.reader_url);
    const ways = await Promise.all([reader.rows(of({ address: hot, type }, 'address')), reader.rows(of({ address: hot, type }, 'type'))]);
    expect(ways[0]).toHaveLength(100);
    const withoutPlaces = ways.map((rows) => rows.map((cells) => cells.slice(0, -1)));
    expect(withoutPlaces[0]).toEqual(withoutPlaces[1]);
    await reader.close();
  });

  test('a name always stands for the same text', () => {
    const texts = new Map<string, string>();
    for (const { name, text } of Object.values({ ...ranges, ...filtered, ...filteredBelow })) {
      expect(texts.get(name) ?? text).toBe(text);
      texts.set(name, text);
    }
    expect(new Set(texts.values()).size).toBe(texts.size);
  });

  test('heights and offsets beyond what a column holds are questions like any other', async () => {
    const reader = open(urls.reader_url);
    for (const far of [1n << 62n, (1n << 63n) - 1n, 1n << 63n, 1n << 64n, 10n ** 80n]) {
      const away: Page = { limit: 10, offset: far };
      const top: Page = { limit: 10, below: far };
      expect(await reader.rows(queries.blocksPage(top))).toEqual(await reader.rows(queries.blocksPage({ limit: 10, offset: 0n })));
      for (const filter of [{}, { address: hot }, { type }, { block: BigInt(block.height) }, { address: hot, type }]) {
        const first: Page = { limit: 10, offset: 0n };
        expect(await reader.rows(of(filter, undefined, top))).toEqual(await reader.rows(of(filter, undefined, first)));
      }
      expect(await reader.rows(queries.blocksPage(away))).toEqual([]);
      expect(await reader.rows(queries.blockByHeight(far))).toEqual([]);
      for (const filter of [{}, { address: hot }, { type }, { block: 3n }, { block: far }, { address: hot, type }, { block: 3n, type }]) {
        expect(await reader.rows(of(filter, undefined, away))).toEqual([]);
      }
    }
    await reader.close();
  });
});

test('a page and the count it is cut by are of one moment while blocks come and go', async () => {
  const blocks = seededBlocks({ seed: 11, blocks: 40, transactions_max: 6 });
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  const reader = open(urls.reader_url);
  const writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  const stop = new AbortController();

  // takes the top ten blocks away and puts them back, as a reorganisation does
  const first = blocks.slice(0, 30).flatMap(({ transactions }) => transactions).length;
  const count = blocks.flatMap(({ transactions }) => transactions).length;
  const reorganising = (async () => {
    await writer.query('CREATE TEMPORARY TABLE b AS SELECT * FROM explorer.blocks WHERE height >= 30');
    await writer.query(`CREATE TEMPORARY TABLE t AS SELECT * FROM explorer.transactions WHERE seq >= ${first}`);
    while (!stop.signal.aborted) {
      await writer.query(`BEGIN; DELETE FROM explorer.blocks WHERE height >= 30; DELETE FROM explorer.transactions WHERE seq >= ${first};
                          UPDATE explorer.head SET height = 29, transactions = ${first}; COMMIT`);
      await writer.query(`BEGIN; INSERT INTO explorer.blocks SELECT * FROM b; INSERT INTO explorer.transactions SELECT * FROM t;
                          UPDATE explorer.head SET height = 39, transactions = ${count}; COMMIT`);
    }
  })();

  const tops = new Set<number>();
  const statsOf = new Map([
    [29, first],
    [39, count],
  ]);
  for (let asked = 0; asked < 300 || tops.size < 2; asked++) {
    const heights = (await reader.rows(queries.blocksPage({ limit: 8, offset: 3n }))).map(([height]) => Number(height));
    const top = heights[0] ?? -1;
    tops.add(top);
    expect([26, 36]).toContain(top);
    expect(heights).toEqual(Array.from({ length: 8 }, (_, at) => top - at));
    const listed = await reader.rows(
      queries.transactionsPage({ block: undefined, address: undefined, type: undefined }, { limit: 5, offset: 2n }),
    );
    expect(listed).toHaveLength(5);
    const [row] = await reader.rows(queries.stats());
    expect(Number(row?.[1])).toBe(statsOf.get(Number(row?.[0])));
  }
  stop.abort();
  await reorganising;
  await writer.end();
  await reader.close();
});

function mostFrequent(blocks: readonly PlainBlock[]): Buffer {
  const counts = new Map<string, number>();
  for (const { from } of blocks.flatMap(({ transactions }) => transactions)) {
    counts.set(from.toString('hex'), (counts.get(from.toString('hex')) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  return Buffer.from(most?.[0] ?? '', 'hex');
}
