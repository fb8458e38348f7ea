import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { freshDatabase } from '../../../support/database.ts';
import {
  plainBlock,
  plainBlocks,
  plainTransaction,
  plainTransactions,
  type PlainFilter,
} from '../../../projections/explorer/plain-answers.ts';
import { fillExplorer, seededBlocks, TYPES } from '../../../projections/explorer/seeded-rows.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';

const blocks = seededBlocks({ seed: 3, blocks: 260, transactions_max: 9, first_height: 5 });
const all = blocks.flatMap(({ transactions }) => transactions);
const newest = blocks.at(-1)?.height ?? 0;
const FAR = [2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 10n ** 40n];

let explorer: ExplorerServer;
beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  explorer = await openExplorer({ postgres_reader_url: urls.reader_url });
});
afterAll(() => explorer.close());

async function answers(path: string, wanted: string): Promise<void> {
  const { status, text } = await explorer.get(path);
  expect({ path, status, text }).toEqual({ path, status: 200, text: wanted });
}

test('the chain of these tests has the cases that they need', () => {
  expect(all.filter(({ amount }) => amount > 2n ** 53n).length).toBeGreaterThan(50);
  expect(all.filter(({ from, to }) => from.equals(to)).length).toBeGreaterThan(50);
  expect(blocks.filter(({ transactions }) => transactions.length === 0).length).toBeGreaterThan(20);
});

describe('blocks', () => {
  test('are newest first on any page', async () => {
    await answers('/api/v1/blocks', plainBlocks(blocks));
    const count = BigInt(blocks.length);
    for (const limit of [1, 7, 100]) {
      for (const offset of [0n, 1n, 100n, count - 7n, count - 1n, count, count + 1n, ...FAR]) {
        await answers(
          `/api/v1/blocks?limit=${limit}&offset=${offset}`,
          plainBlocks(blocks, limit, offset),
        );
      }
    }
  });

  test('are found by height and by hash, in any notation', async () => {
    for (const block of [blocks[0], blocks[4], blocks[200], blocks.at(-1)].flatMap(
      (one) => one ?? [],
    )) {
      const hash = block.hash.toString('hex');
      for (const id of [
        block.height,
        `00${block.height}`,
        hash,
        `0x${hash}`,
        `0x${hash.toUpperCase()}`,
        hash.toUpperCase(),
      ]) {
        await answers(`/api/v1/blocks/${id}`, plainBlock(block));
      }
    }
  });

  test('that do not exist are not found', async () => {
    for (const id of [
      4,
      newest + 1,
      ...FAR,
      '0'.repeat(64),
      '9'.repeat(64),
      `0x${'ab'.repeat(32)}`,
    ]) {
      const { status, text } = await explorer.get(`/api/v1/blocks/${id}`);
      expect([status, text]).toEqual([
        404,
        '{"code":"not_found","message":"no such block is indexed"}',
      ]);
    }
  });
});

describe('transactions', () => {
  const addresses = [
    ...new Map(
      all.flatMap(({ from, to }) => [from, to]).map((one) => [one.toString('hex'), one]),
    ).values(),
  ].slice(0, 3);
  const busy = blocks
    .filter(({ transactions }) => transactions.length >= 8)
    .slice(0, 2)
    .map(({ height }) => height);
  const empty = blocks.find(({ transactions }) => transactions.length === 0)?.height ?? 0;

  const filters: PlainFilter[] = [];
  for (const address of [undefined, ...addresses, Buffer.alloc(20)]) {
    for (const type of [undefined, ...TYPES.slice(-2), 'Unseen', 'transfer', '%']) {
      for (const block of [undefined, ...busy, empty, newest + 1]) {
        filters.push({
          ...(address && { address }),
          ...(type !== undefined && { type }),
          ...(block !== undefined && { block }),
        });
      }
    }
  }

  test.each([0n, 1n, 3n, 50n])(
    'are listed newest first under every combination of filters, from offset %s',
    async (offset) => {
      for (const filter of filters) {
        const query = new URLSearchParams({ limit: '4', offset: String(offset) });
        if (filter.address !== undefined)
          query.set('address', `0x${filter.address.toString('hex')}`);
        if (filter.type !== undefined) query.set('type', filter.type);
        if (filter.block !== undefined) query.set('block', String(filter.block));
        await answers(
          `/api/v1/transactions?${query.toString()}`,
          plainTransactions(blocks, filter, 4, offset),
        );
      }
    },
  );

  test('are listed from any offset', async () => {
    const count = BigInt(all.length);
    for (const offset of [0n, 1n, 500n, count - 20n, count - 1n, count, count + 1n, ...FAR]) {
      await answers(
        `/api/v1/transactions?limit=20&offset=${offset}`,
        plainTransactions(blocks, {}, 20, offset),
      );
    }
    await answers('/api/v1/transactions?limit=100', plainTransactions(blocks, {}, 100));
  });

  test('at an impossible height are an empty list', async () => {
    for (const block of FAR)
      await answers(`/api/v1/transactions?block=${block}`, plainTransactions([], {}));
  });

  test('are found by hash, in any notation', async () => {
    for (const transaction of [all[0], all[77], all.at(-1)].flatMap((one) => one ?? [])) {
      const hash = transaction.hash.toString('hex');
      for (const id of [hash, `0x${hash}`, `0x${hash.toUpperCase()}`])
        await answers(`/api/v1/transactions/${id}`, plainTransaction(transaction));
    }
    for (const hash of ['0'.repeat(64), blocks[0]?.hash.toString('hex')]) {
      const { status, text } = await explorer.get(`/api/v1/transactions/${hash}`);
      expect([status, text]).toEqual([
        404,
        '{"code":"not_found","message":"no such transaction is indexed"}',
      ]);
    }
  });
});

test.each([0, 1, 2])('an index of %i blocks is served like any other', async (count) => {
  const few = seededBlocks({ seed: 5, blocks: count, transactions_max: 3 });
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, few);
  const small = await openExplorer({ postgres_reader_url: urls.reader_url });
  expect((await small.get('/api/v1/blocks')).text).toBe(plainBlocks(few));
  expect((await small.get('/api/v1/transactions')).text).toBe(plainTransactions(few, {}));
  await small.close();
});
