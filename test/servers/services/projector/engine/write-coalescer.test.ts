import * as fc from 'fast-check';
import { beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import type { ExplorerEvent } from '../../../../../projections/explorer/events.ts';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import {
  applyBatch,
  type ApplyOutcome,
} from '../../../../../services/projector/engine/apply-batch.ts';
import type { Batch } from '../../../../../services/projector/engine/batches.ts';
import { readCheckpoints } from '../../../../../services/projector/engine/checkpoint.ts';
import type { Rests } from '../../../../../services/projector/engine/rests.ts';
import {
  LastRows,
  WriteCoalescer,
} from '../../../../../services/projector/engine/write-coalescer.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { differences, plainFold, readTables } from '../../../../support/plain-fold.ts';
import {
  batchOf,
  CLUSTER,
  openTables,
  type Tables,
} from '../../../../services/projector/engine/projected.ts';

let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(inject('stack')));
});

async function open(): Promise<Tables> {
  const tables = await openTables(writerUrl);
  onTestFinished(() => tables.pool.end());
  return tables;
}

interface Steps {
  /** records of the batches, in turns */
  readonly sizes: readonly number[];
  /** batches in one transaction */
  readonly batches_max?: number;
  readonly rows_max?: number;
  readonly rests?: Pick<Rests, 'due_ms' | 'take'>;
  /** new ones when not given */
  readonly last?: LastRows;
}

/** One transaction from this offset on, with as many batches as the coalescer takes. */
async function applyFrom(
  { pool, projection }: Tables,
  events: readonly ChainEvent[],
  from: number,
  { sizes, batches_max: batchesMax = Infinity, ...options }: Steps,
  signal?: AbortSignal,
): Promise<{ readonly outcome: ApplyOutcome; readonly batches: number }> {
  let at = from;
  let batches = 0;
  const next = (): Batch<ExplorerEvent> => {
    const to = Math.min(events.length, at + (sizes[batches % sizes.length] ?? 1));
    const batch = batchOf(events.slice(at, to), BigInt(at), projection);
    at = to;
    return batch;
  };
  const first = next();
  batches++;
  let peeked: Batch<ExplorerEvent> | undefined;
  const coalescer = new WriteCoalescer<ExplorerEvent>({
    projection,
    pool,
    batches: {
      peek: () => Promise.resolve((peeked ??= next())),
      advance() {
        peeked = undefined;
        batches++;
      },
    },
    load: {
      is_loading: true,
      goesBeyond: (_topic, _partition, offset) =>
        batches < batchesMax && Number(offset) + 1 < events.length,
    },
    isStale: () => false,
    last: new LastRows(),
    ...options,
  });
  const outcome = await applyBatch(
    { pool, projection, cluster_id: CLUSTER, coalescer, signal },
    first,
  );
  return { outcome, batches };
}

async function appliedUpTo({ pool, projection }: Tables): Promise<number> {
  const [checkpoint] = await readCheckpoints(pool, projection);
  return Number(checkpoint?.next_offset ?? 0n);
}

/** The number of transactions that it took. */
async function applyAll(
  tables: Tables,
  events: readonly ChainEvent[],
  steps: Steps,
): Promise<number> {
  let transactions = 0;
  const last = new LastRows();
  for (let at = 0; at < events.length; at = await appliedUpTo(tables)) {
    const { outcome } = await applyFrom(tables, events, at, { last, ...steps });
    expect(outcome.outcome).toBe('applied');
    transactions++;
  }
  return transactions;
}

async function expectTables(
  { pool, projection }: Tables,
  events: readonly ChainEvent[],
): Promise<void> {
  expect(differences(await readTables(pool, projection.name), plainFold(events))).toEqual([]);
}

test('one transaction takes all batches of a chain that only grows', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 4, blocks: 40, reorg_probability: 0 })];
  expect(await applyAll(tables, events, { sizes: [5] })).toBe(1);
  await expectTables(tables, events);
});

test('a transaction ends where the load ends', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 9, blocks: 60, reorg_probability: 0 })];
  const transactions = await applyAll(tables, events, { sizes: [3], batches_max: 8 });
  expect(transactions).toBe(Math.ceil(Math.ceil(events.length / 3) / 8));
  await expectTables(tables, events);
});

test('a transaction ends before it holds too many dirty rows', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 5, blocks: 20, reorg_probability: 0 })];
  expect(await applyAll(tables, events, { sizes: [4], rows_max: 12 })).toBeGreaterThan(1);
  await expectTables(tables, events);
});

function isLoadOfAccounts(
  statement: unknown,
): statement is { readonly values: readonly [readonly Buffer[]] } {
  return Reflect.get(Object(statement), 'name') === 'load_accounts';
}

test('a transaction reads no rows for its further batches that the one before has written', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 6, blocks: 60, reorg_probability: 0, accounts: 40 })];
  const last = new LastRows();
  await applyFrom(tables, events, 0, { sizes: [5], batches_max: 4, last });
  const { rows: written } = await tables.pool.query<{ address: Buffer }>(
    'SELECT address FROM accounts',
  );
  const known = new Set(written.map(({ address }) => address.toString('hex')));
  const query = vi.spyOn(tables.pool, 'query');
  await applyFrom(tables, events, await appliedUpTo(tables), { sizes: [5], last });
  const read = query.mock.calls
    .map(([statement]): unknown => statement)
    .filter(isLoadOfAccounts)
    .flatMap(({ values: [addresses] }) => addresses.map((address) => address.toString('hex')));
  expect(read.length).toBeGreaterThan(0);
  expect(read.filter((address) => known.has(address))).toEqual([]);
  await expectTables(tables, events);
});

test('rows that another process has written since are read again', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 6, blocks: 60, reorg_probability: 0 })];
  const last = new LastRows();
  await applyFrom(tables, events, 0, { sizes: [5], batches_max: 4, last });
  const other = await appliedUpTo(tables);
  await applyFrom(tables, events, other, { sizes: [5], batches_max: 4 });
  await applyFrom(tables, events, await appliedUpTo(tables), { sizes: [1], last });
  await expectTables(tables, events);
});

test.each([
  ['5 seconds are taken after each batch of a transaction', 5_000, 1, 8],
  ['more than 5 seconds end a transaction', 5_001, 8, 0],
])('rests of %s', async (_rests, due_ms, transactions, rested) => {
  const tables = await open();
  const events = [...chainEvents({ seed: 8, blocks: 40, reorg_probability: 0 })].slice(0, 40);
  let taken = 0;
  const take = async (): Promise<void> => void taken++;
  expect(await applyAll(tables, events, { sizes: [5], rests: { due_ms, take } })).toBe(
    transactions,
  );
  expect(taken).toBe(rested);
  await expectTables(tables, events);
});

test('random chains with reverts, in random batches, give the rows of a plain fold', async () => {
  const chains = fc.record({
    seed: fc.nat(),
    blocks: fc.constantFrom(10, 40),
    transactions_per_block: fc.constantFrom(1, 8),
    reorg_probability: fc.constantFrom(0, 0.1, 0.4),
  });
  const sizes = fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 6 });
  const bounds = fc.record({
    batches_max: fc.constantFrom(1, 3, 100),
    rows_max: fc.constantFrom(0, 5, 30, 100_000),
  });
  await fc.assert(
    fc.asyncProperty(chains, sizes, bounds, async (options, records, bound) => {
      const tables = await openTables(writerUrl);
      const events = [...chainEvents({ ...options, accounts: 12 })];
      await applyAll(tables, events, { sizes: records, ...bound });
      await expectTables(tables, events);
      await tables.pool.end();
    }),
    { numRuns: 10 },
  );
});

test('an aborted transaction leaves no rows of its batches', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 7, blocks: 12, reorg_probability: 0 })];
  const stopped = new AbortController();
  const blocked = await tables.pool.connect();
  await blocked.query('BEGIN; LOCK TABLE accounts IN EXCLUSIVE MODE');
  const applying = applyFrom(tables, events, 0, { sizes: [3] }, stopped.signal);
  stopped.abort();
  await expect(applying).rejects.toMatchObject({ code: 'stopped' });
  await blocked.query('ROLLBACK');
  blocked.release();
  await expectTables(tables, []);
  await applyAll(tables, events, { sizes: [3] });
  await expectTables(tables, events);
});

test.each([1, 8, 15, 19])(
  'a transaction that cannot write block %i leaves no rows of its batches',
  async (height) => {
    const tables = await open();
    const { pool } = tables;
    const events = [...chainEvents({ seed: 12, blocks: 20, reorg_probability: 0 })];
    await pool.query(
      `ALTER TABLE blocks ADD CONSTRAINT without_that_block CHECK (height <> ${height})`,
    );
    await expect(applyAll(tables, events, { sizes: [3] })).rejects.toThrow('without_that_block');
    await expectTables(tables, []);
    await pool.query('ALTER TABLE blocks DROP CONSTRAINT without_that_block');
    await applyAll(tables, events, { sizes: [3] });
    await expectTables(tables, events);
  },
);
