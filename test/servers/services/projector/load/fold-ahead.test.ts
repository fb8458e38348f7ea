import * as fc from 'fast-check';
import { beforeAll, expect, inject, test, vi } from 'vitest';
import { applyBatch } from '../../../../../services/projector/engine/apply-batch.ts';
import { Coming, type Batch } from '../../../../../services/projector/engine/batches.ts';
import { readCheckpoints } from '../../../../../services/projector/engine/checkpoint.ts';
import { FoldAhead } from '../../../../../services/projector/load/fold-ahead.ts';
import type { More } from '../../../../../services/projector/load/load-group.ts';
import type { Prepared } from '../../../../../services/projector/engine/prepare.ts';
import { RowMemory } from '../../../../../services/projector/load/row-memory.ts';
import type { ExplorerEvent } from '../../../../../projections/explorer/events.ts';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { differences, plainFold, readTables } from '../../../../support/plain-fold.ts';
import { batchOf, CLUSTER, openTables } from '../../../../services/projector/engine/projected.ts';

let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(inject('stack')));
});

interface Step {
  /** how many records the batch has */
  readonly size: number;
  /** how many another projector applies just before; 0: there is none */
  readonly other: number;
}

interface Outcome {
  readonly wrong: readonly string[];
  /** transactions */
  readonly batches: number;
  /** batches that were applied as they had been folded ahead */
  readonly ahead: number;
  readonly conflicts: number;
}

/** Applies a log with each batch folded ahead where that can be, another projector in between, and holds the rows against a plain fold. */
async function applied(
  events: readonly ChainEvent[],
  steps: readonly Step[],
  rowsRemembered: number,
  together = 1,
): Promise<Outcome> {
  const tables = await openTables(writerUrl);
  const { pool, projection } = tables;
  const memory = new RowMemory(rowsRemembered);
  const fold = new FoldAhead(projection, pool, memory);
  const take = vi.spyOn(fold, 'take');
  const made = new Map<string, Prepared<ChainEvent>>();
  const batchAt = (from: number, turn: number): Prepared<ChainEvent> | undefined => {
    const to = Math.min(events.length, from + (steps[turn % steps.length]?.size ?? 1));
    if (from === to) return undefined;
    const batch =
      made.get(`${from} ${to}`) ?? batchOf(events.slice(from, to), BigInt(from), projection);
    made.set(`${from} ${to}`, batch);
    return batch;
  };
  let batches = 0;
  let conflicts = 0;
  for (let turn = 0, at = 0; at < events.length; turn++) {
    const batch = batchAt(at, turn);
    if (batch === undefined) break;
    const prepared = batchAt(at + batch.events.length, turn + 1);
    const other = steps[turn % steps.length]?.other ?? 0;
    if (other > 0)
      await applyBatch(
        { ...tables, cluster_id: CLUSTER },
        batchOf(events.slice(at, at + other), BigInt(at), projection),
      );
    const following = Promise.resolve(prepared && { prepared });
    let [next, from, left] = [turn + 1, at + batch.events.length, together];
    const more: More<ExplorerEvent> = {
      comesAt: (offset) => Number(offset) < events.length && --left > 0,
      hasTaken: () => false,
      take() {
        from += batchAt(from, next)?.events.length ?? 0;
        const then = batchAt(from, ++next);
        return Promise.resolve({ following: Promise.resolve(then && { prepared: then }) });
      },
    };
    const { outcome } = await applyBatch(
      { ...tables, cluster_id: CLUSTER, memory, ahead: { fold, following, more } },
      batch,
    );
    if (outcome === 'applied') batches++;
    else conflicts++;
    at = Number(
      (await readCheckpoints(pool, { projection: projection.name, version: projection.version }))[0]
        ?.next_offset ?? 0n,
    );
  }
  const taken = await Promise.all(
    take.mock.results.map(({ value }: { readonly value: unknown }) => value),
  );
  const wrong = differences(await readTables(pool, projection.name), plainFold(events));
  await pool.end();
  return { wrong, batches, ahead: taken.filter((whole) => whole !== undefined).length, conflicts };
}

test('on a chain that only grows every batch but the first is folded ahead', async () => {
  const events = [...chainEvents({ seed: 4, blocks: 40, reorg_probability: 0 })];
  const outcome = await applied(events, [{ size: 5, other: 0 }], 100_000);
  expect(outcome).toEqual({
    wrong: [],
    batches: Math.ceil(events.length / 5),
    ahead: Math.ceil(events.length / 5) - 1,
    conflicts: 0,
  });
});

test('batches that are folded ahead are written together, as many as may be', async () => {
  const events = [...chainEvents({ seed: 9, blocks: 60, reorg_probability: 0 })];
  const outcome = await applied(events, [{ size: 3, other: 0 }], 100_000, 8);
  const batches = Math.ceil(events.length / 3);
  expect(outcome).toEqual({
    wrong: [],
    batches: Math.ceil(batches / 8),
    ahead: batches - 1,
    conflicts: 0,
  });
});

test('where the rows of a batch cannot all be remembered nothing is folded ahead, and all is right', async () => {
  const events = [...chainEvents({ seed: 5, blocks: 20, reorg_probability: 0 })];
  expect(await applied(events, [{ size: 4, other: 0 }], 2)).toMatchObject({
    wrong: [],
    ahead: 0,
    conflicts: 0,
  });
});

test('what was folded ahead is not used for tables that another projector has moved', async () => {
  const events = [...chainEvents({ seed: 6, blocks: 30, reorg_probability: 0 })];
  const outcome = await applied(
    events,
    [
      { size: 4, other: 0 },
      { size: 4, other: 6 },
    ],
    100_000,
  );
  expect(outcome.wrong).toEqual([]);
  expect(outcome.conflicts).toBeGreaterThan(0);
});

test('random chains with reverts, batches, memories and other projectors give the rows of a plain fold', async () => {
  const chains = fc.record({
    seed: fc.nat(),
    blocks: fc.constantFrom(10, 40),
    transactions_per_block: fc.constantFrom(1, 8),
    reorg_probability: fc.constantFrom(0, 0.1, 0.4),
  });
  const others = fc.oneof(
    { arbitrary: fc.constant(0), weight: 4 },
    { arbitrary: fc.integer({ min: 1, max: 20 }), weight: 1 },
  );
  const steps = fc.array(fc.record({ size: fc.integer({ min: 1, max: 15 }), other: others }), {
    minLength: 1,
    maxLength: 6,
  });
  let ahead = 0;
  await fc.assert(
    fc.asyncProperty(
      chains,
      steps,
      fc.constantFrom(5, 30, 100_000),
      fc.constantFrom(1, 3, 100),
      async (options, turns, rowsRemembered, together) => {
        const outcome = await applied(
          [...chainEvents({ ...options, accounts: 12 })],
          turns,
          rowsRemembered,
          together,
        );
        ahead += outcome.ahead;
        expect(outcome.wrong).toEqual([]);
      },
    ),
    { numRuns: 20 },
  );
  expect(ahead).toBeGreaterThan(0);
});

test('when a batch that was followed is not committed, what comes after is folded into what stands', async () => {
  const tables = await openTables(writerUrl);
  const { pool, projection } = tables;
  const memory = new RowMemory();
  const fold = new FoldAhead(projection, pool, memory);
  const events = [...chainEvents({ seed: 7, blocks: 12, reorg_probability: 0 })];
  const [first, second] = [
    batchOf(events.slice(0, 6), 0n, projection),
    batchOf(events.slice(6), 6n, projection),
  ];
  const to = { ...tables, cluster_id: CLUSTER, memory };
  const stopped = new AbortController();
  // folded ahead, and given up before it is written
  const following = Promise.resolve({ prepared: second }).finally(() => stopped.abort());
  const givenUp = applyBatch({ ...to, ahead: { fold, following }, signal: stopped.signal }, first);
  await expect(givenUp).rejects.toMatchObject({ code: 'stopped' });
  expect(
    await applyBatch({ ...to, ahead: { fold, following: Promise.resolve(undefined) } }, second),
  ).toEqual({ outcome: 'conflict' });
  expect(
    await applyBatch(
      { ...to, ahead: { fold, following: Promise.resolve({ prepared: second }) } },
      first,
    ),
  ).toMatchObject({
    outcome: 'applied',
  });
  expect(
    await applyBatch({ ...to, ahead: { fold, following: Promise.resolve(undefined) } }, second),
  ).toMatchObject({ outcome: 'applied' });
  expect(differences(await readTables(pool, projection.name), plainFold(events))).toEqual([]);
  await pool.end();
});

test('what an attempt had taken when it failed is read again', async () => {
  const tables = await openTables(writerUrl);
  const { pool, projection } = tables;
  const memory = new RowMemory();
  const fold = new FoldAhead(projection, pool, memory);
  const events = [...chainEvents({ seed: 11, blocks: 12, reorg_probability: 0 })];
  const of = (from: number, to: number): Batch<ExplorerEvent> => ({
    generation: 1,
    prepared: batchOf(events.slice(from, to), BigInt(from), projection),
  });
  const [first, second] = [of(0, 6), of(6, events.length)];
  const left = [first, second];
  // after these there are none for a long time
  const never = Promise.withResolvers<undefined>();
  const batches = { next: () => (left.length > 0 ? Promise.resolve(left.shift()) : never.promise) };
  const coming = new Coming(batches, () => false, {
    isOn: true,
    goesBeyond: (_topic, _partition, offset) => Number(offset) + 1 < events.length,
  });
  expect(await coming.following).toBe(first);
  coming.advance();
  const stopped = new AbortController();
  const { following, more } = coming.after(first.prepared);
  const take: More<ExplorerEvent>['take'] = async (each) =>
    await more?.take(each).finally(() => stopped.abort());
  const to = { ...tables, cluster_id: CLUSTER, memory };
  const ahead = {
    fold,
    following,
    more: { comesAt: () => true, hasTaken: () => more?.hasTaken() === true, take },
  };
  await expect(
    applyBatch({ ...to, ahead, signal: stopped.signal }, first.prepared),
  ).rejects.toMatchObject({ code: 'stopped' });
  expect(await applyBatch({ ...to, ahead }, first.prepared)).toEqual({ outcome: 'conflict' });
  // read again
  left.push(first, second);
  coming.advance();
  expect(await coming.following).toBe(first);
  coming.advance();
  expect(
    await applyBatch({ ...to, ahead: { fold, ...coming.after(first.prepared) } }, first.prepared),
  ).toMatchObject({
    outcome: 'applied',
    next_offset: BigInt(events.length),
  });
  expect(differences(await readTables(pool, projection.name), plainFold(events))).toEqual([]);
  await pool.end();
});

test.each([1, 8, 15, 19])(
  'when block %i cannot be written, whatever is on its way after it, nothing of the group stays',
  async (height) => {
    const tables = await openTables(writerUrl);
    const { pool, projection } = tables;
    const memory = new RowMemory();
    const events = [...chainEvents({ seed: 12, blocks: 20, reorg_probability: 0 })];
    const batchAt = (from: number): { readonly prepared: Prepared<ChainEvent> } | undefined => {
      const part = events.slice(from, from + 3);
      return part.length === 0 ? undefined : { prepared: batchOf(part, BigInt(from), projection) };
    };
    const write = async (): Promise<void> => {
      for (let next = 0; next < events.length;) {
        const batch = batchAt(next);
        if (batch === undefined) return;
        let from = next + 3;
        const more: More<ExplorerEvent> = {
          comesAt: (offset) => Number(offset) < events.length,
          hasTaken: () => false,
          take: () => Promise.resolve({ following: Promise.resolve(batchAt((from += 3))) }),
        };
        const ahead = {
          fold: new FoldAhead(projection, pool, memory),
          following: Promise.resolve(batchAt(from)),
          more,
        };
        const written = await applyBatch(
          { ...tables, cluster_id: CLUSTER, memory, ahead },
          batch.prepared,
        );
        if (written.outcome !== 'applied') throw new Error(`not applied: ${written.outcome}`);
        next = Number(written.next_offset);
      }
    };
    await pool.query(
      `ALTER TABLE blocks ADD CONSTRAINT without_that_block CHECK (height <> ${height})`,
    );
    await expect(write()).rejects.toThrow('without_that_block');
    expect(differences(await readTables(pool, projection.name), plainFold([]))).toEqual([]);
    await pool.query('ALTER TABLE blocks DROP CONSTRAINT without_that_block');
    await write();
    expect(differences(await readTables(pool, projection.name), plainFold(events))).toEqual([]);
    await pool.end();
  },
);

test('a fold is not used where what was remembered for it was forgotten meanwhile, nor when it was dropped', async () => {
  const { pool, projection } = await openTables(writerUrl);
  const memory = new RowMemory();
  const fold = new FoldAhead(projection, pool, memory);
  const batch = batchOf(
    [...chainEvents({ seed: 8, blocks: 3, reorg_probability: 0 })],
    0n,
    projection,
  );
  const nothing = { cuts: [], deletes: [], appends: [], upserts: [] };
  const at = { build: 'this', next_offset: 0n };
  const folded = async (meanwhile: () => void): Promise<boolean> => {
    const following = Promise.withResolvers<{ readonly prepared: Prepared<ChainEvent> }>();
    fold.begin(nothing, at, following.promise);
    meanwhile();
    following.resolve({ prepared: batch });
    return (await fold.take(batch, at)) !== undefined;
  };
  expect(await folded(() => undefined)).toBe(true);
  expect(await folded(() => memory.clear())).toBe(false);
  expect(await folded(() => fold.drop())).toBe(false);
  await pool.end();
});
