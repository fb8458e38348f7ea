/** Explorer tables filled by INSERTs from a seeded list of blocks, and the expected answers. */
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { explorer } from '../../../projections/explorer/explorer.ts';
import { Random } from '../../support/random.ts';
import type { PlainTransaction, PlainBlock } from './plain-block.ts';
import { effectsOf } from './seeded-effects.ts';
import { rowsOf } from './table-rows.ts';

/** One of them needs care in SQL and in JSON. */
export const TYPES = [
  'Transfer',
  'RidePay',
  'Mint',
  'RideOffer',
  `Odd "100%_" O'Type \\ é`,
] as const;

export interface SeededOptions {
  readonly seed: number;
  readonly blocks: number;
  /** of a block; every fifth block has none */
  readonly transactions_max: number;
  readonly first_height?: number;
  readonly addresses?: number;
  /** the first of the addresses */
  readonly producers?: number;
}

/**
 * Amounts run far beyond 2^53, one transaction in eight goes to its sender, the first address takes
 * part in about a third. Effects keep every balance at 0 or more, and a pool pays the block
 * rewards.
 */
export function seededBlocks({
  seed,
  blocks,
  transactions_max: transactionsMax,
  first_height: firstHeight = 0,
  addresses: count = 12,
  producers = 4,
}: SeededOptions): readonly PlainBlock[] {
  const random = new Random(seed);
  const addresses = Array.from({ length: count }, () => random.bytes(20));
  const hot = addresses[0] ?? random.bytes(20);
  const someone = (): Buffer => (random.chance(0.2) ? hot : random.pick(addresses));
  const perhaps = (): Buffer | null => (random.chance(0.3) ? random.bytes(20) : null);
  const amount = (): bigint =>
    random.chance(0.3) ? BigInt(random.uint32()) ** 3n : BigInt(random.below(1_000_000));
  const effects = effectsOf(new Random(seed + 1), addresses);
  let parent = random.bytes(32);
  let timestamp = 1_790_000_000_000;
  return Array.from({ length: blocks }, (_, at) => {
    const height = firstHeight + at;
    const hash = random.bytes(32);
    timestamp += 500 + random.below(1_500);
    const transactions = Array.from(
      { length: at % 5 === 4 ? 0 : random.below(transactionsMax + 1) },
      (_unused, index): PlainTransaction => {
        const from = someone();
        return {
          hash: random.bytes(32),
          block_height: height,
          tx_index: index,
          from,
          to: random.chance(0.125) ? from : someone(),
          nonce: random.below(1_000_000),
          amount: amount(),
          fee: BigInt(random.below(2_000)),
          type: random.pick(TYPES),
          timestamp,
          referrer: perhaps(),
          request_referrer: perhaps(),
          offer_referrer: perhaps(),
          request_referrer_fee: amount(),
          offer_referrer_fee: amount(),
        };
      },
    );
    const block: PlainBlock = {
      height,
      hash,
      parent_hash: parent,
      producer: random.pick(addresses.slice(0, producers)),
      reward_recipient: random.pick(addresses),
      block_reward: amount(),
      total_fees: transactions.reduce((sum, { fee }) => sum + fee, 0n),
      timestamp,
      transactions,
      effects: [],
    };
    parent = hash;
    return { ...block, effects: effects(block) };
  });
}

/** The projector's table of projections, with the columns that readers use. */
const PROJECTIONS = `
  CREATE SCHEMA IF NOT EXISTS projector;
  CREATE TABLE IF NOT EXISTS projector.projections
    (projection text PRIMARY KEY, version integer, created_at timestamptz DEFAULT clock_timestamp(), indexed_at timestamptz);
  DELETE FROM projector.projections;
  INSERT INTO projector.projections (projection, version, indexed_at) VALUES ('explorer', ${explorer.version}, now())`;

/** Creates schema and tables as the projector does, puts the rows in, and ANALYZEs. */
export async function fillExplorer(
  writerUrl: string,
  blocks: readonly PlainBlock[],
): Promise<void> {
  const client = new Client({ connectionString: writerUrl });
  await client.connect();
  try {
    await client.query('CREATE SCHEMA explorer');
    await client.query('SET search_path TO explorer');
    await client.query(await readFile(explorer.table_sql, 'utf8'));
    for (const [table, rows] of Object.entries(rowsOf(blocks))) {
      await client.query(
        `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`,
        [JSON.stringify(rows)],
      );
    }
    await client.query(await readFile(explorer.index_sql, 'utf8'));
    await client.query(PROJECTIONS);
    await client.query('ANALYZE');
  } finally {
    await client.end();
  }
}

/** The same blocks, but `producer` produced those that `where` names. */
export function producedBy(
  producer: Buffer,
  blocks: readonly PlainBlock[],
  where: (block: PlainBlock, at: number) => boolean,
): readonly PlainBlock[] {
  return blocks.map((block, at) =>
    where(block, at) ? Object.assign({ ...block }, { producer }) : block,
  );
}

/** The sender of the most transactions. */
export function mostFrequent(blocks: readonly PlainBlock[]): Buffer {
  const counts = new Map<string, number>();
  for (const { from } of blocks.flatMap(({ transactions }) => transactions)) {
    counts.set(from.toString('hex'), (counts.get(from.toString('hex')) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  return Buffer.from(most?.[0] ?? '', 'hex');
}
