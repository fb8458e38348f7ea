import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { activityPage, balanceAt } from '../../../../projections/explorer/queries/accounts.ts';
import { blockByHeight, blocksPage } from '../../../../projections/explorer/queries/blocks.ts';
import type { Page, Query } from '../../../../projections/contract/page.ts';
import {
  transactionsPage,
  type TransactionFilter,
  type ScanBy,
} from '../../../../projections/explorer/queries/transactions.ts';
import { validatorsPage } from '../../../../projections/explorer/queries/chain.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { openReader, type ReaderPool } from '../../../../services/runtime/postgres/pool.ts';
import { freshDatabase } from '../../../support/database.ts';
import { plainBalance } from '../../../projections/explorer/plain-answers.ts';
import { POOL } from '../../../projections/explorer/seeded-effects.ts';
import {
  fillExplorer,
  mostFrequent,
  seededBlocks,
  TYPES,
} from '../../../projections/explorer/seeded-rows.ts';
import { HANG_MS } from '../../../support/limits.ts';

const log = openLog({ service: 'test', level: 'silent' });

function open(url: string): ReaderPool {
  return openReader(
    { postgres_reader_url: url, statement_timeout_ms: HANG_MS, connections_max: 2 },
    'test',
    log,
  );
}

const blocks = seededBlocks({ seed: 7, blocks: 300, transactions_max: 25, first_height: 3 });
const hot = mostFrequent(blocks);
const [, , type] = TYPES;
const block = blocks.reduce((most, one) =>
  one.transactions.length > most.transactions.length ? one : most,
);
const page: Page = { limit: 100, offset: 100n };
const everything: TransactionFilter = { block: undefined, address: undefined, type: undefined };
const of = (filter: Partial<TransactionFilter>, way?: ScanBy, at: Page = page): Query =>
  transactionsPage({ ...everything, ...filter }, at, way);

let reader: ReaderPool;
beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  reader = open(urls.reader_url);
});
afterAll(() => reader.close());

test('both scans for an address and a type return the same rows', async () => {
  const ways = await Promise.all([
    reader.rows(of({ address: hot, type }, 'address')),
    reader.rows(of({ address: hot, type }, 'type')),
  ]);
  expect(ways[0]).toHaveLength(100);
  const withoutPlaces = ways.map((rows) => rows.map((cells) => cells.slice(0, -1)));
  expect(withoutPlaces[0]).toEqual(withoutPlaces[1]);
});

test('heights and offsets beyond int8 are answered', async () => {
  for (const far of [1n << 62n, (1n << 63n) - 1n, 1n << 63n, 1n << 64n, 10n ** 80n]) {
    const away: Page = { limit: 10, offset: far };
    const top: Page = { limit: 10, below: far };
    for (const filter of [
      {},
      { address: hot },
      { type },
      { block: BigInt(block.height) },
      { address: hot, type },
    ]) {
      const first: Page = { limit: 10, offset: 0n };
      expect(await reader.rows(of(filter, undefined, top))).toEqual(
        await reader.rows(of(filter, undefined, first)),
      );
    }
    const lists = [blocksPage, validatorsPage, (at: Page): Query => activityPage(hot, at)];
    for (const list of lists) {
      expect(await reader.rows(list(top))).toEqual(
        await reader.rows(list({ limit: 10, offset: 0n })),
      );
      expect(await reader.rows(list(away))).toEqual([]);
    }
    expect(await reader.rows(balanceAt(hot, far))).toEqual([
      ['3', '302', null, 't', expect.any(String), 'f'],
    ]);
    expect(await reader.rows(blockByHeight(far))).toEqual([]);
    for (const filter of [
      {},
      { address: hot },
      { type },
      { block: 3n },
      { block: far },
      { address: hot, type },
      { block: 3n, type },
    ]) {
      expect(await reader.rows(of(filter, undefined, away))).toEqual([]);
    }
  }
});

test('the balance at every height is the sum of the effects up to it', async () => {
  for (const address of [hot, POOL, block.producer]) {
    for (let height = 3; height < 303; height += 7) {
      const [row] = await reader.rows(balanceAt(address, BigInt(height)));
      expect({ height, row }).toEqual({
        height,
        row: [
          null,
          '302',
          expect.stringMatching(/^.x[0-9a-f]{64}$/),
          't',
          String(plainBalance(blocks, address, height)),
          'f',
        ],
      });
    }
  }
});
