import * as fc from 'fast-check';
import type { Pool } from 'pg';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import type { Changes, Row } from '../../../../../projections/contract/projection.ts';
import { explorer } from '../../../../../projections/explorer/explorer.ts';
import { BLOCKS } from '../../../../../projections/explorer/rows.ts';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import {
  applyBatch,
  type ApplyOutcome,
} from '../../../../../services/projector/engine/apply-batch.ts';
import {
  readCheckpoints,
  type Checkpoint,
} from '../../../../../services/projector/engine/checkpoint.ts';
import { DIGEST_OF_NOTHING, digestNext } from '../../../../../services/runtime/kafka/record.ts';
import { LogLost } from '../../../../../services/runtime/kafka/position.ts';
import { chainEvents, TestChain } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import type { FaultMode } from '../../../../support/fault-proxy.ts';
import { HANG_MS } from '../../../../support/limits.ts';
import { differences, plainFold, readTables } from '../../../../support/plain-fold.ts';
import {
  batchOf,
  CLUSTER,
  faultAtCommit,
  openTables,
  proxyOf,
  type TableOptions,
  type Tables,
} from '../../../../services/projector/engine/projected.ts';

/** A time that no Date can hold. */
const NO_BLOCK: Row = Object.values(BLOCKS.columns).map((type) =>
  type === 'timestamptz' ? Number.MAX_SAFE_INTEGER : null,
);
/** Two cuts whose statements have the same name. */
const ONE_NAME = [
  { table: BLOCKS, column: 'height', from: 1_000_000 },
  { table: BLOCKS, column: 'first_seq', from: 1_000_000 },
];

let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(inject('stack')));
});

async function open(options?: TableOptions): Promise<Tables> {
  const tables = await openTables(writerUrl, undefined, options);
  onTestFinished(() => tables.pool.end());
  return tables;
}

function apply(
  { pool, projection }: Tables,
  events: readonly ChainEvent[],
  from = 0n,
  timeoutMs = HANG_MS,
): Promise<ApplyOutcome> {
  return applyBatch(
    { pool, projection, cluster_id: CLUSTER, timeout_ms: timeoutMs },
    batchOf(events, from, projection),
  );
}

async function checkpoint({ pool, projection }: Tables): Promise<Checkpoint | undefined> {
  return (await readCheckpoints(pool, projection))[0];
}

async function expectTables(
  { pool, projection }: { readonly pool: Pool; readonly projection: { readonly name: string } },
  events: readonly ChainEvent[],
): Promise<void> {
  expect(differences(await readTables(pool, projection.name), plainFold(events))).toEqual([]);
}

test('random chains in random overlapping batches give the rows of a plain fold and one digest', async () => {
  const batchings = fc.array(
    fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 10 })),
    { minLength: 1, maxLength: 4 },
  );
  const chains = fc.record({
    seed: fc.nat(),
    blocks: fc.constantFrom(5, 40),
    transactions_per_block: fc.constantFrom(1, 10),
    reorg_probability: fc.constantFrom(0.1, 0.4),
  });
  await fc.assert(
    fc.asyncProperty(chains, batchings, async (options, sizes) => {
      const tables = await openTables(writerUrl);
      const events = [...chainEvents({ ...options, accounts: 12 })];
      for (let from = 0, at = 0; from < events.length; at++) {
        const [size, back] = sizes[at % sizes.length] ?? [1, 0];
        const begin = Math.max(0, from - back);
        const applied = await apply(tables, events.slice(begin, from + size), BigInt(begin));
        from = Math.min(events.length, from + size);
        expect(applied).toMatchObject({ outcome: 'applied', next_offset: BigInt(from) });
      }
      await expectTables(tables, events);
      const { fingerprints } = batchOf(events);
      const digest = fingerprints.reduce(digestNext, DIGEST_OF_NOTHING);
      expect(await checkpoint(tables)).toMatchObject({
        next_offset: BigInt(events.length),
        last_record: fingerprints.at(-1),
        digest,
        cluster_id: CLUSTER,
      });
      await tables.pool.end();
    }),
    { numRuns: 12 },
  );
});

test('a batch that does not continue the checkpoint is a conflict and changes nothing', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 1, blocks: 10, reorg_probability: 0 })];
  await apply(tables, events.slice(0, 6));
  const before = await checkpoint(tables);
  expect(await apply(tables, events.slice(0, 6))).toEqual({ outcome: 'conflict' });
  expect(await apply(tables, events.slice(2, 5), 2n)).toEqual({ outcome: 'conflict' });
  expect(await apply(tables, events.slice(7), 7n)).toEqual({ outcome: 'conflict' });
  expect(await checkpoint(tables)).toEqual(before);
  await expectTables(tables, events.slice(0, 6));
});

test('a batch applied by many at once is applied once', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 2, blocks: 12 })];
  const outcomes = await Promise.all(Array.from({ length: 4 }, () => apply(tables, events)));
  expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual([
    'applied',
    'conflict',
    'conflict',
    'conflict',
  ]);
  await expectTables(tables, events);
});

test('rows are read after the checkpoint was locked, also where it was created', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 10, blocks: 3 })];
  const reading = {
    name: 'checkpoints',
    text: 'SELECT next_offset FROM projector.checkpoints WHERE projection = $1',
    values: [tables.projection.name],
  };
  const seen: unknown[] = [];
  const projection: typeof tables.projection = {
    ...tables.projection,
    loads: (batch) => [...explorer.loads(batch), reading],
    fold(loaded, ...rest) {
      seen.push(loaded['checkpoints']);
      return tables.projection.fold(loaded, ...rest);
    },
  };
  await apply({ ...tables, projection }, events.slice(0, 1));
  await apply({ ...tables, projection }, events);
  expect(seen).toEqual([[{ next_offset: '0' }], [{ next_offset: '1' }]]);
});

test('a checkpoint moved in spite of the lock is a conflict, and nothing is written', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 9, blocks: 3 })];
  await apply(tables, events.slice(0, 1));
  const moving = {
    name: 'moving',
    text: 'UPDATE projector.checkpoints SET next_offset = 2 WHERE projection = $1',
    values: [tables.projection.name],
  };
  const projection = {
    ...tables.projection,
    loads: (batch: Parameters<typeof explorer.loads>[0]) => [...explorer.loads(batch), moving],
  };
  expect(await apply({ ...tables, projection }, events)).toEqual({ outcome: 'conflict' });
  expect(await checkpoint(tables)).toMatchObject({ next_offset: 1n });
  await expectTables(tables, events.slice(0, 1));
});

test('records before one that breaks the log are applied, and repeating that has no effect', async () => {
  const tables = await open();
  const chain = new TestChain({ seed: 3 });
  const sound = [chain.append(3), chain.append(2), chain.revert(), chain.append(4)];
  chain.append(1);
  // it stands where it was written for, but on a block that is not in the log
  const [broken, after] = [{ ...chain.append(1), sequence: sound.length }, chain.append(1)];
  const applied = await apply(tables, [...sound, broken, after]);
  expect(applied).toMatchObject({
    outcome: 'applied',
    next_offset: 4n,
    outcomes: { applied: 4, replayed: 0, ignored: 0 },
    broken: {
      offset: 4n,
      reason: expect.stringMatching(
        /^BlockAppended 4 at height 3: the newest block is 1 [0-9a-f]{64}, to which it does not link$/,
      ),
    },
  });
  await expectTables(tables, sound);
  const before = await checkpoint(tables);
  expect(await apply(tables, [broken, after], 4n)).toEqual({
    outcome: 'applied',
    next_offset: 4n,
    outcomes: { applied: 0, replayed: 0, ignored: 0 },
    rows: 0,
    announced: [],
    broken: { offset: 4n, reason: expect.stringContaining('to which it does not link') },
  });
  expect(await checkpoint(tables)).toEqual(before);
  await expectTables(tables, sound);
});

test('the first record can break the log', async () => {
  const tables = await open();
  const chain = new TestChain({ seed: 4 });
  chain.append(1);
  chain.append(1);
  expect(await apply(tables, [{ ...chain.revert(), sequence: 0 }])).toMatchObject({
    next_offset: 0n,
    broken: { offset: 0n },
  });
  await expectTables(tables, []);
});

test("a checkpoint of another cluster's log is refused with a remedy", async () => {
  const tables = await open();
  const [first, second] = chainEvents({ seed: 5, blocks: 3, reorg_probability: 0 });
  if (first === undefined || second === undefined) throw new Error('two events');
  await apply(tables, [first]);
  const elsewhere = applyBatch({ ...tables, cluster_id: 'elsewhere' }, batchOf([second], 1n));
  await expect(elsewhere).rejects.toBeInstanceOf(LogLost);
  await expect(elsewhere).rejects.toMatchObject({
    message: expect.stringContaining('elsewhere'),
    remedy: expect.stringContaining('APP_KAFKA_BROKERS'),
  });
});

test('a failure leaves nothing behind and closes its connection', async () => {
  const tables = await open();
  const events = [...chainEvents({ seed: 6, blocks: 8, reorg_probability: 0 })];
  await apply(tables, events.slice(0, 4));
  const before = [await checkpoint(tables), await readTables(tables.pool, tables.projection.name)];
  const { rows: connected } = await tables.pool.query<{ pid: number }>(
    'SELECT pg_backend_pid() AS pid',
  );
  await tables.pool.query('ALTER TABLE accounts RENAME TO away');
  await expect(apply(tables, events.slice(4), 4n)).rejects.toMatchObject({
    code: 'storage_missing',
    retry: false,
  });
  await tables.pool.query('ALTER TABLE away RENAME TO accounts');
  expect([await checkpoint(tables), await readTables(tables.pool, tables.projection.name)]).toEqual(
    before,
  );
  const { rows: now } = await tables.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  expect(now[0]?.pid).not.toBe(connected[0]?.pid);
  await apply(tables, events.slice(4), 4n);
  await expectTables(tables, events);
});

test('tables of another version are named as such, even where they cannot be read', async () => {
  const tables = await open();
  const { pool, projection } = tables;
  const events = [...chainEvents({ seed: 11, blocks: 4, reorg_probability: 0 })];
  await apply(tables, events.slice(0, 2));
  const setVersion = 'UPDATE projector.projections SET version = $2 WHERE projection = $1';
  await pool.query(setVersion, [projection.name, projection.version + 1]);
  await pool.query('ALTER TABLE accounts RENAME TO away');
  await expect(apply(tables, events.slice(2), 2n)).rejects.toMatchObject({
    code: 'projection_version',
    retry: true,
  });
  await pool.query('ALTER TABLE away RENAME TO accounts');
  await pool.query(setVersion, [projection.name, projection.version]);
  await apply(tables, events.slice(2), 2n);
  await expectTables(tables, events);
});

test('tables without indexes are named as such, and their connection goes on', async () => {
  const tables = await open();
  const { pool, projection } = tables;
  const events = [...chainEvents({ seed: 12, blocks: 4, reorg_probability: 0 })];
  await pool.query('UPDATE projector.projections SET indexed_at = NULL WHERE projection = $1', [
    projection.name,
  ]);
  expect(await apply(tables, events)).toEqual({ outcome: 'not_indexed' });
  await pool.query('UPDATE projector.projections SET indexed_at = now() WHERE projection = $1', [
    projection.name,
  ]);
  await apply(tables, events);
  await expectTables(tables, events);
});

test.each<[string, (changes: Changes) => Changes]>([
  ['encoded', (changes) => ({ ...changes, upserts: [{ table: BLOCKS, rows: [NO_BLOCK] }] })],
  ['sent', (changes) => ({ ...changes, cuts: [...changes.cuts, ...ONE_NAME] })],
])('changes of which one cannot be %s leave nothing behind', async (_, spoil) => {
  const tables = await open();
  const events = [...chainEvents({ seed: 13, blocks: 8, reorg_probability: 0 })];
  await apply(tables, events.slice(0, 4));
  const before = await checkpoint(tables);
  const projection: typeof tables.projection = {
    ...tables.projection,
    fold(...parameters) {
      const folded = tables.projection.fold(...parameters);
      return 'broken' in folded ? folded : { ...folded, changes: spoil(folded.changes) };
    },
  };
  await expect(apply({ ...tables, projection }, events.slice(4), 4n)).rejects.toThrow(
    /Invalid time value|Prepared statements must be unique/,
  );
  expect(await checkpoint(tables)).toEqual(before);
  await expectTables(tables, events.slice(0, 4));
  await apply(tables, events.slice(4), 4n);
  await expectTables(tables, events);
});

test('a bug in a fold is thrown unchanged, and nothing is written', async () => {
  const tables = await open();
  const projection = {
    ...tables.projection,
    fold(...parameters: Parameters<typeof explorer.fold>): ReturnType<typeof explorer.fold> {
      explorer.fold(...parameters);
      throw new RangeError('out of its mind');
    },
  };
  await expect(apply({ ...tables, projection }, [...chainEvents({ blocks: 2 })])).rejects.toThrow(
    new RangeError('out of its mind'),
  );
  expect(await checkpoint(tables)).toBeUndefined();
});

test.each<[FaultMode, boolean]>([
  ['reset_after', true],
  ['reset_before', false],
])('a COMMIT whose connection breaks (%s) is applied exactly once', async (mode, committed) => {
  const proxy = await proxyOf(writerUrl);
  const tables = await open({ through: proxy });
  const faults: FaultMode[] = ['pass', mode, 'pass'];
  faultAtCommit(tables.pool, proxy, () => faults.shift() ?? 'pass');
  const events = [...chainEvents({ seed: 7, blocks: 20 })];
  await apply(tables, events.slice(0, 10));
  const lost = apply(tables, events.slice(10), 10n);
  await expect(lost).rejects.toMatchObject({ code: 'storage_unreachable', retry: true });
  expect(proxy.counts[mode]).toBe(1);
  const again = await apply(tables, events.slice(10), 10n);
  expect(again.outcome).toBe(committed ? 'conflict' : 'applied');
  await expectTables(tables, events);
});

test('a silent Postgres ends in a timeout, and its transaction does not block the next attempt', async () => {
  const proxy = await proxyOf(writerUrl);
  // limit under test
  const tables = await open({ through: proxy, lock_timeout_ms: 1_000 });
  const faults: FaultMode[] = ['black_hole'];
  faultAtCommit(tables.pool, proxy, () => faults.shift() ?? 'pass');
  const events = [...chainEvents({ seed: 8, blocks: 5 })];
  let failure: unknown;
  // a slow machine may reach the limit before the COMMIT
  while (faults.length > 0)
    failure = await apply(tables, events, 0n, 1_500).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'storage_timeout', retry: true });
  await expect
    .poll(() => apply(tables, events).catch((error: unknown) => error))
    .toMatchObject({ outcome: 'applied' });
  await expectTables(tables, events);
});
