/** Plans and rows of export pieces: 40,000 transactions, and a block of many effects. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import * as exported from '../../../../projections/explorer/queries/export.ts';
import type { Query } from '../../../../projections/contract/page.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import {
  openReader,
  type Cells,
  type ReaderPool,
} from '../../../../services/runtime/postgres/pool.ts';
import { freshDatabase } from '../../../support/database.ts';
import { explained, PLAN_CACHES } from '../../../projections/explorer/explained.ts';
import {
  fillExplorer,
  mostFrequent,
  seededBlocks,
  TYPES,
} from '../../../projections/explorer/seeded-rows.ts';
import type { PlainBlock } from '../../../projections/explorer/plain-block.ts';
import { HANG_MS } from '../../../support/limits.ts';

const FIRST = 3;
const BIG = 2_000;
const blocks = seededBlocks({
  seed: 7,
  blocks: 4_000,
  transactions_max: 20,
  first_height: FIRST,
  addresses: 400,
}).map(withManyEffects);
const all = blocks.flatMap(({ transactions }) => transactions);
const hot = mostFrequent(blocks);
const [, , type] = TYPES;
const big = blocks[BIG - FIRST];
const inBig = (big?.effects ?? []).filter(({ delta }) => delta !== 0n).length;
const newest = blocks.at(-1);
const end: exported.ExportEnd = {
  height: BigInt(newest?.height ?? 0),
  hash: newest?.hash ?? Buffer.alloc(32),
};

/** The block at one height moves each of its balances again and again. */
function withManyEffects(block: PlainBlock): PlainBlock {
  if (block.height !== BIG) return block;
  return {
    ...block,
    effects: Array.from(
      { length: Math.ceil(60_000 / block.effects.length) },
      () => block.effects,
    ).flat(),
  };
}

let urls: Awaited<ReturnType<typeof freshDatabase>>;
let reader: ReaderPool;
beforeAll(async () => {
  urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  const settings = {
    postgres_reader_url: urls.reader_url,
    statement_timeout_ms: HANG_MS,
    connections_max: 2,
  };
  reader = openReader(settings, 'test', openLog({ service: 'test', level: 'silent' }));
});
afterAll(() => reader.close());

const ROWS = 1_000;
const range = { low: 2_000n, high: 3_000n };
const byAddress = { by: 'address', address: hot, type: undefined } as const;
const byType = { by: 'type', type, address: undefined } as const;
const within: exported.ActivityCursor = {
  height: BigInt(BIG),
  seq: -1n,
  address: Buffer.alloc(20, 0x80),
  ordinal: 5n,
};

const pieces = {
  transactions: exported.transactionsPiece({ by: 'seq' }, range, ROWS, end),
  'transactions of an address': exported.transactionsPiece(byAddress, range, ROWS, end),
  'transactions of an address and a type': exported.transactionsPiece(
    { ...byAddress, type },
    range,
    ROWS,
    end,
  ),
  'transactions of a type': exported.transactionsPiece(byType, range, ROWS, end),
  'transactions of a type and an address': exported.transactionsPiece(
    { ...byType, address: hot },
    range,
    ROWS,
    end,
  ),
  'activity of an address': exported.addressActivityPiece(hot, range, ROWS, end),
  activity: exported.activityPiece(exported.beforeBlock(500n), end.height, ROWS, end),
} as const satisfies Readonly<Record<string, Query>>;
const piecesOfBigBlock = {
  'from the beginning of a big block': exported.activityPiece(
    exported.beforeBlock(BigInt(BIG)),
    end.height,
    ROWS,
    end,
  ),
  'from within a big block': exported.activityPiece(within, end.height, ROWS, end),
} as const satisfies Readonly<Record<string, Query>>;
const bounds = {
  'the seqs of blocks': exported.seqsOf({ low: 100n, high: 2_000n }, end),
  'the ordinals of an address': exported.addressOrdinals(
    hot,
    { low: 5_000n, high: BigInt(all.length) },
    end,
  ),
  'the ordinals of a type': exported.typeOrdinals(type, { low: 5_000n, high: 30_000n }, end),
  'the ordinals of activity': exported.activityOrdinals(hot, { low: 100n, high: 2_000n }, end),
} as const satisfies Readonly<Record<string, Query>>;
const ends = {
  newest: exported.exportEnd(undefined),
  'at a height': exported.exportEnd(100n),
} as const;

describe.each(PLAN_CACHES)('under %s', (planCache) => {
  test.each(Object.entries(pieces))(
    'a piece of %s is one index range, with a transaction or a block looked up for each row at most',
    async (_what, query) => {
      const { scans } = await explained(urls.reader_url, query, planCache);
      expect(scans.filter(({ how }) => !how.startsWith('Index'))).toEqual([]);
      const read = scans.reduce((sum, { rows }) => sum + rows, 0);
      // all activity: the heights, the effects with the rest of their block, their transactions
      expect(read).toBeLessThanOrEqual((query === pieces.activity ? 3 : 2) * ROWS + 200);
      expect(read).toBeGreaterThanOrEqual(ROWS);
    },
  );

  test.each(Object.entries(piecesOfBigBlock))(
    'activity %s is looked for in that block alone',
    async (_what, query) => {
      const { scans } = await explained(urls.reader_url, query, planCache);
      expect(scans.filter(({ how }) => !how.startsWith('Index'))).toEqual([]);
      expect(
        scans.filter(({ table }) => table === 'activity').reduce((sum, { rows }) => sum + rows, 0),
      ).toBeLessThanOrEqual(inBig + ROWS + 1);
    },
  );

  test.each(Object.entries(bounds))(
    '%s are as many look-ups as their number has binary digits',
    async (_what, query) => {
      const { scans } = await explained(urls.reader_url, query, planCache);
      expect(scans.filter(({ how }) => !how.startsWith('Index'))).toEqual([]);
      expect(scans.reduce((sum, { loops }) => sum + loops, 0)).toBeLessThanOrEqual(
        2 * all.length.toString(2).length + 4,
      );
    },
  );

  test.each(Object.entries(ends))('the end %s takes three look-ups', async (_what, query) => {
    const { scans } = await explained(urls.reader_url, query, planCache);
    expect(scans.map(({ how, rows }) => [how.startsWith('Index'), rows])).toEqual([
      [true, 1],
      [true, 1],
      [true, 1],
    ]);
  });
});

const statements = { ...pieces, ...piecesOfBigBlock, ...bounds };

test.each(Object.keys(statements))(
  '%s: `same` is true for the current chain and false for another end block',
  async (what) => {
    const query = Object.entries(statements).find(([name]) => name === what)?.[1];
    const [height, , ...values] = query?.values ?? [];
    if (query === undefined || height === undefined) throw new Error(what);
    const asked = async (
      at: typeof height,
      hash: Buffer,
    ): Promise<ReadonlySet<Cells[number] | undefined>> =>
      new Set(
        (await reader.rows({ ...query, values: [at, hash, ...values] })).map((cells) =>
          cells.at(-1),
        ),
      );
    expect(await asked(height, end.hash)).toEqual(new Set(['t']));
    expect(await asked(height, Buffer.alloc(32))).toEqual(new Set(['f']));
    expect(await asked(end.height + 1n, end.hash)).toEqual(new Set(['f']));
  },
);

test('a statement name belongs to one text', () => {
  const texts = new Map<string, string>();
  for (const { name, text } of [...Object.values(statements), ...Object.values(ends)]) {
    expect(texts.get(name) ?? text).toBe(text);
    texts.set(name, text);
  }
  expect(new Set(texts.values()).size).toBe(texts.size);
});

async function ordinals(query: Query): Promise<readonly number[]> {
  const [row = []] = await reader.rows(query);
  return row.slice(0, 2).map(Number);
}

function below(keys: readonly number[], bound: number): number {
  return keys.filter((key) => key < bound).length;
}

test('the binary search finds every bound', async () => {
  const own = [...all.entries()]
    .filter(([, { from, to }]) => from.equals(hot) || to.equals(hot))
    .map(([seq]) => seq);
  const typed = [...all.entries()].filter(([, one]) => one.type === type).map(([seq]) => seq);
  const moved = blocks.flatMap(({ effects, height }) =>
    effects.filter(({ address, delta }) => address.equals(hot) && delta !== 0n).map(() => height),
  );
  const seqs = [
    0,
    1,
    own[0] ?? 0,
    typed[7] ?? 0,
    (own[100] ?? 0) + 1,
    own.at(-1) ?? 0,
    all.length - 1,
    all.length,
  ];
  for (const low of seqs) {
    for (const high of seqs.filter((one) => one >= low)) {
      const asked = { low: BigInt(low), high: BigInt(high) };
      expect(await ordinals(exported.addressOrdinals(hot, asked, end))).toEqual([
        below(own, low),
        below(own, high),
      ]);
      expect(await ordinals(exported.typeOrdinals(type, asked, end))).toEqual([
        below(typed, low),
        below(typed, high),
      ]);
    }
  }
  for (const low of [0, FIRST, 100, BIG, BIG + 1, Number(end.height)]) {
    for (const high of [FIRST, 100, BIG, Number(end.height)].filter((one) => one >= low)) {
      const asked = { low: BigInt(low), high: BigInt(high) };
      expect(await ordinals(exported.activityOrdinals(hot, asked, end))).toEqual([
        below(moved, low),
        below(moved, high + 1),
      ]);
    }
  }
});

test('an unknown address or type has no ordinals', async () => {
  const nobody = Buffer.alloc(20);
  expect(await ordinals(exported.addressOrdinals(nobody, { low: 0n, high: 10n }, end))).toEqual([
    0, 0,
  ]);
  expect(await ordinals(exported.typeOrdinals('Unseen', { low: 0n, high: 10n }, end))).toEqual([
    0, 0,
  ]);
  expect(
    await ordinals(exported.activityOrdinals(nobody, { low: 0n, high: end.height }, end)),
  ).toEqual([0, 0]);
});
