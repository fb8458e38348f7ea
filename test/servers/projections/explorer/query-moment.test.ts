import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { blocksPage } from '../../../../projections/explorer/queries/blocks.ts';
import { stats } from '../../../../projections/explorer/queries/chain.ts';
import { transactionsPage } from '../../../../projections/explorer/queries/transactions.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { openReader } from '../../../../services/runtime/postgres/pool.ts';
import { freshDatabase } from '../../../support/database.ts';
import { fillExplorer, seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import { HANG_MS } from '../../../support/limits.ts';

const log = openLog({ service: 'test', level: 'silent' });

test('a page and its count are of one snapshot while blocks are added and reverted', async () => {
  const blocks = seededBlocks({ seed: 11, blocks: 40, transactions_max: 6 });
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  const reader = openReader(
    { postgres_reader_url: urls.reader_url, statement_timeout_ms: HANG_MS, connections_max: 2 },
    'test',
    log,
  );
  const writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  const stop = new AbortController();

  // takes the top ten blocks away and puts them back, as a reorganisation does
  const first = blocks.slice(0, 30).flatMap(({ transactions }) => transactions).length;
  const count = blocks.flatMap(({ transactions }) => transactions).length;
  const reorganising = (async () => {
    await writer.query(
      'CREATE TEMPORARY TABLE b AS SELECT * FROM explorer.blocks WHERE height >= 30',
    );
    await writer.query(
      `CREATE TEMPORARY TABLE t AS SELECT * FROM explorer.transactions WHERE seq >= ${first}`,
    );
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
    const heights = (await reader.rows(blocksPage({ limit: 8, offset: 3n }))).map(([height]) =>
      Number(height),
    );
    const top = heights[0] ?? -1;
    tops.add(top);
    expect([26, 36]).toContain(top);
    expect(heights).toEqual(Array.from({ length: 8 }, (_, at) => top - at));
    const listed = await reader.rows(
      transactionsPage(
        { block: undefined, address: undefined, type: undefined },
        { limit: 5, offset: 2n },
      ),
    );
    expect(listed).toHaveLength(5);
    const [row] = await reader.rows(stats());
    expect(Number(row?.[1])).toBe(statsOf.get(Number(row?.[0])));
  }
  stop.abort();
  await reorganising;
  await writer.end();
  await reader.close();
});
