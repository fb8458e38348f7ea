/** Rows of the explorer's tables without a log: a seeded list of blocks, filled in by plain INSERTs, and what must be answered from the same list. */
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { explorer } from '../../../projections/explorer/explorer.ts';
import { Random } from '../../support/random.ts';

export interface PlainTransaction {
  readonly hash: Buffer;
  readonly block_height: number;
  readonly tx_index: number;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly nonce: number;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly type: string;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly referrer: Buffer | null;
  readonly request_referrer: Buffer | null;
  readonly offer_referrer: Buffer | null;
  readonly request_referrer_fee: bigint;
  readonly offer_referrer_fee: bigint;
}

export interface PlainBlock {
  readonly height: number;
  readonly hash: Buffer;
  readonly parent_hash: Buffer;
  readonly producer: Buffer;
  readonly reward_recipient: Buffer;
  readonly block_reward: bigint;
  readonly total_fees: bigint;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly transactions: readonly PlainTransaction[];
}

/** One of them needs care in SQL and in JSON. */
export const TYPES = ['Transfer', 'RidePay', 'Mint', 'RideOffer', `Odd "100%_" O'Type \\ é`] as const;

export interface SeededOptions {
  readonly seed: number;
  readonly blocks: number;
  /** of a block; every fifth block has none */
  readonly transactions_max: number;
  readonly first_height?: number;
  readonly addresses?: number;
}

/** Amounts run far beyond 2^53, one transaction in eight goes to its sender, the first address takes part in about a third. */
export function seededBlocks({
  seed,
  blocks,
  transactions_max: max,
  first_height: first = 0,
  addresses: count = 12,
}: SeededOptions): readonly PlainBlock[] {
  const random = new Random(seed);
  const addresses = Array.from({ length: count }, () => random.bytes(20));
  const hot = addresses[0] ?? random.bytes(20);
  const someone = (): Buffer => (random.chance(0.2) ? hot : random.pick(addresses));
  const perhaps = (): Buffer | null => (random.chance(0.3) ? random.bytes(20) : null);
  const amount = (): bigint => (random.chance(0.3) ? BigInt(random.uint32()) ** 3n : BigInt(random.below(1_000_000)));
  let parent = random.bytes(32);
  let timestamp = 1_790_000_000_000;
  return Array.from({ length: blocks }, (_, at) => {
    const height = first + at;
    const hash = random.bytes(32);
    timestamp += 500 + random.below(1_500);
    const transactions = Array.from({ length: at % 5 === 4 ? 0 : random.below(max + 1) }, (_unused, index): PlainTransaction => {
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
    });
    const block: PlainBlock = {
      height,
      hash,
      parent_hash: parent,
      producer: random.pick(addresses.slice(0, 4)),
      reward_recipient: random.pick(addresses),
      block_reward: amount(),
      total_fees: transactions.reduce((sum, { fee }) => sum + fee, 0n),
      timestamp,
      transactions,
    };
    parent = hash;
    return block;
  });
}

/** Creates schema and tables as the projector does, puts the rows in, and ANALYZEs. */
export async function fillExplorer(writerUrl: string, blocks: readonly PlainBlock[]): Promise<void> {
  const client = new Client({ connectionString: writerUrl });
  await client.connect();
  try {
    await client.query('CREATE SCHEMA explorer');
    await client.query('SET search_path TO explorer');
    await client.query(await readFile(explorer.table_sql, 'utf8'));
    for (const [table, rows] of Object.entries(rowsOf(blocks))) {
      await client.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`, [JSON.stringify(rows)]);
    }
    await client.query(await readFile(explorer.index_sql, 'utf8'));
    await client.query('ANALYZE');
  } finally {
    await client.end();
  }
}

type Row = Readonly<Record<string, boolean | number | string | null>>;

function rowsOf(blocks: readonly PlainBlock[]): Readonly<Record<string, readonly Row[]>> {
  const all = blocks.flatMap(({ transactions }) => transactions);
  const seqs = new Map(all.map(({ hash }, seq) => [hash, seq]));
  const types = new Map<string, number>();
  const accounts = new Map<string, number>();
  const transactions: Row[] = [];
  const accountTransactions: Row[] = [];
  for (const [seq, transaction] of all.entries()) {
    const { from, to, type, amount, fee, hash, referrer, request_referrer, offer_referrer, ...rest } = transaction;
    transactions.push({
      ...rest,
      seq,
      hash: bytea(hash),
      from_address: bytea(from),
      to_address: bytea(to),
      amount: String(amount),
      fee: String(fee),
      function_call_type: type,
      type_ordinal: next(types, type),
      is_ride_related: type.startsWith('Ride'),
      timestamp: iso(rest.timestamp),
      referrer: bytea(referrer),
      request_referrer: bytea(request_referrer),
      offer_referrer: bytea(offer_referrer),
      request_referrer_fee: String(rest.request_referrer_fee),
      offer_referrer_fee: String(rest.offer_referrer_fee),
    });
    for (const address of new Set([from.toString('hex'), to.toString('hex')])) {
      accountTransactions.push({ address: `\\x${address}`, ordinal: next(accounts, address), seq });
    }
  }
  const newest = blocks.at(-1);
  const head = newest && {
    one: true,
    sequence: blocks.length,
    height: newest.height,
    hash: bytea(newest.hash),
    finalized_height: -1,
    transactions: all.length,
  };
  let before = 0;
  return {
    head: head === undefined ? [] : [head],
    blocks: blocks.map(({ transactions: own, block_reward: reward, total_fees: fees, ...block }) => {
      const first = own[0] === undefined ? before : (seqs.get(own[0].hash) ?? -1);
      before = first + own.length;
      return {
        ...block,
        hash: bytea(block.hash),
        parent_hash: bytea(block.parent_hash),
        producer: bytea(block.producer),
        reward_recipient: bytea(block.reward_recipient),
        block_reward: String(reward),
        total_fees: String(fees),
        timestamp: iso(block.timestamp),
        tx_count: own.length,
        first_seq: first,
      };
    }),
    transactions,
    transaction_types: [...types].map(([type, count]) => ({ function_call_type: type, transactions: count })),
    accounts: [...accounts].map(([address, count]) => ({ address: `\\x${address}`, transactions: count })),
    account_transactions: accountTransactions,
  };
}

function next(counts: Map<string, number>, key: string): number {
  const count = counts.get(key) ?? 0;
  counts.set(key, count + 1);
  return count;
}

function bytea(bytes: Buffer): string;
function bytea(bytes: Buffer | null): string | null;
function bytea(bytes: Buffer | null): string | null {
  return bytes === null ? null : `\\x${bytes.toString('hex')}`;
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
