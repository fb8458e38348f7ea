/**
 * Loads without Kafka and runner: chunks of a log, cut into batches, into tables without indexes.
 */
import * as fc from 'fast-check';
import { beforeAll, expect, inject, test } from 'vitest';
import { settled } from '../../../../../projections/chain/chain.ts';
import { explorer } from '../../../../../projections/explorer/explorer.ts';
import type { Cut } from '../../../../../projections/contract/projection.ts';
import type { ChainEvent } from '../../../../../schemas/chain.blocks/events.ts';
import { applyBatch } from '../../../../../services/projector/engine/apply-batch.ts';
import { BatchLookahead } from '../../../../../services/projector/engine/batches.ts';
import type { Chunk } from '../../../../../services/runtime/kafka/chunk-queue.ts';
import type { Decoder } from '../../../../../services/runtime/kafka/codec.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { insisting } from '../../../../support/kafka.ts';
import { differences, plainFold, readTables } from '../../../../support/plain-fold.ts';
import {
  CLUSTER,
  openTables,
  ownExplorer,
} from '../../../../services/projector/engine/projected.ts';
import { fixedCases } from '../../../../support/fixed-cases.ts';

let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(inject('stack')));
});

interface Loaded {
  readonly wrong: readonly string[];
  /** how many cuts of stored rows there were */
  readonly cuts: number;
  readonly batches: number;
}

async function load(
  events: readonly ChainEvent[],
  sizes: readonly number[],
  unfinalizedBytesMax: number,
): Promise<Loaded> {
  const cuts: Cut[] = [];
  const projection = {
    ...ownExplorer(),
    settled,
    fold(...parameters: Parameters<typeof explorer.fold>): ReturnType<typeof explorer.fold> {
      const folded = explorer.fold(...parameters);
      if (!('broken' in folded)) cuts.push(...folded.changes.cuts);
      return folded;
    },
  };
  const codec: Decoder = {
    learn: () => Promise.resolve(),
    decode: (value) => events[Number(String(value))] ?? { type: 'nothing' },
  };
  const chunks = chunksOf(events.length, sizes);
  const batches = new BatchLookahead({
    projection,
    codec,
    take: () => Promise.resolve(chunks.shift()),
    retrying: insisting,
    load: {
      is_loading: true,
      goesBeyond: (_topic, _partition, offset) => offset + 1n < BigInt(events.length),
    },
    unfinalized_bytes_max: unfinalizedBytesMax,
  });
  const tables = await openTables(writerUrl, projection, { indexed: false });
  let applied = 0;
  for (let next = await batches.next(); next !== undefined; next = await batches.next()) {
    expect(await applyBatch({ ...tables, cluster_id: CLUSTER, loading: true }, next)).toMatchObject(
      { outcome: 'applied' },
    );
    applied++;
  }
  const wrong = differences(await readTables(tables.pool, projection.name), plainFold(events));
  await tables.pool.end();
  return { wrong, cuts: cuts.length, batches: applied };
}

function chunksOf(records: number, sizes: readonly number[]): Chunk[] {
  const chunks: Chunk[] = [];
  for (let from = 0, at = 0; from < records; at++) {
    const to = Math.min(records, from + (sizes[at % sizes.length] ?? 1));
    const numbers = Array.from({ length: to - from }, (_, each) => from + each);
    const taken = numbers.map((n) => ({
      offset: BigInt(n),
      timestamp: 0,
      key: null,
      value: Buffer.from(String(n)),
      headers: {},
    }));
    const offsets = { from: BigInt(from), next: BigInt(from + taken.length) };
    const place = { topic: 'chain.blocks', partition: 0, generation: 1, fetched_at: 0 };
    chunks.push({ ...place, ...offsets, records: taken, bytes: 0 });
    from = to;
  }
  return chunks;
}

const CHAINS = fc.record({
  seed: fc.nat(),
  blocks: fc.constantFrom(20, 80),
  transactions_per_block: fc.constantFrom(1, 6),
  reorg_probability: fc.constantFrom(0.1, 0.4),
});
const SIZES = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 });
const BUFFERS = fc.constantFrom(0, 300, 1_500);

test('random chains in random chunks give the rows of a plain fold without cutting stored rows', async () => {
  let batches = 0;
  const property = fc.asyncProperty(CHAINS, SIZES, async (options, sizes) => {
    const loaded = await load([...chainEvents({ ...options, accounts: 12 })], sizes, 1_000_000);
    expect(loaded).toMatchObject({ wrong: [], cuts: 0 });
    batches += loaded.batches;
  });
  await fc.assert(property, { numRuns: 12, examples: fixedCases(6, CHAINS, SIZES) });
  expect(batches).toBeGreaterThan(24);
});

test('with a small unfinalized buffer stored rows are cut, and the rows are the same', async () => {
  let cuts = 0;
  const property = fc.asyncProperty(CHAINS, SIZES, BUFFERS, async (options, sizes, bytes) => {
    const loaded = await load(
      [...chainEvents({ ...options, accounts: 12, reorg_probability: 0.4 })],
      sizes,
      bytes,
    );
    expect(loaded.wrong).toEqual([]);
    cuts += loaded.cuts;
  });
  await fc.assert(property, { numRuns: 12, examples: fixedCases(6, CHAINS, SIZES, BUFFERS) });
  expect(cuts).toBeGreaterThan(0);
});
