/**
 * The requests to an explorer: of each list, pages at the beginning, deep inside, at the end and
 * anywhere; of each detail, any item.
 */
import type { Pool } from 'pg';
import { toHex } from '../../schemas/address.ts';
import type { Random } from '../support/random.ts';
import type { ChainCounts } from './generator.ts';

/** A path to ask for. */
export type Ask = (random: Random) => string;

/** By what it is called in the report. */
export type PageMix = Readonly<Record<string, Ask>>;

const SAMPLES = 3_000;
/** Rows of a page. */
const LIMIT = 20;
/** How far into the list. */
const DEPTHS = [0, 0.01, 0.5, 0.99, 'anywhere'] as const;

interface SampledBlock {
  readonly height: number;
  readonly hash: string;
  readonly tx_count: number;
}

/** The mix of one database, of the same kinds for every size. */
export async function pageMixOf(pool: Pool, counts: ChainCounts, random: Random): Promise<PageMix> {
  const blocks = await sampleBlocks(pool, counts, random);
  const transactions = await sampleHashes(pool, counts, random);
  const accounts = await sampleAccounts(pool, random);
  const full = blocks.filter(({ tx_count: size }) => size > 0);
  const types = Object.entries(counts.transactions_of_type);
  const hot = toHex(counts.hot.address);
  const rare = toHex(counts.rare.address);
  const height = (by: Random): number => by.below(counts.blocks);
  return {
    blocks: list('/api/v1/blocks?', counts.blocks),
    transactions: list('/api/v1/transactions?', counts.transactions),
    'transactions of the hot address': list(
      `/api/v1/transactions?address=${hot}&`,
      counts.hot.transactions,
    ),
    'transactions of a rare address': list(
      `/api/v1/transactions?address=${rare}&`,
      counts.rare.transactions,
    ),
    'transactions of a type': (by) => {
      const [type, count] = by.pick(types);
      return list(`/api/v1/transactions?type=${type}&`, count)(by);
    },
    'transactions of a block': (by) => {
      const block = by.pick(full);
      return list(`/api/v1/transactions?block=${block.height}&`, block.tx_count)(by);
    },
    'activity of the hot address': list(`/api/v1/accounts/${hot}/activity?`, counts.hot.activities),
    'activity of a rare address': list(
      `/api/v1/accounts/${rare}/activity?`,
      counts.rare.activities,
    ),
    validators: list('/api/v1/validators?', counts.validators),
    'block by height or hash': (by) => {
      const block = by.pick(blocks);
      return `/api/v1/blocks/${by.chance(0.5) ? block.height : block.hash}`;
    },
    'transaction by hash': (by) => `/api/v1/transactions/${by.pick(transactions)}`,
    account: (by) => `/api/v1/accounts/${by.pick(accounts)}`,
    'balance of the hot address at a height': (by) =>
      `/api/v1/accounts/${hot}/balance-at?height=${height(by)}`,
    'balance of any account at a height': (by) =>
      `/api/v1/accounts/${by.pick(accounts)}/balance-at?height=${height(by)}`,
  };
}

/**
 * Full pages only, where a list has one: otherwise the last page of a short list is compared with
 * twenty rows of a long one.
 */
function list(path: string, rows: number): Ask {
  const offsets = Math.max(1, rows - LIMIT + 1);
  return (random) => {
    const depth = random.pick(DEPTHS);
    const offset = depth === 'anywhere' ? random.below(offsets) : Math.floor((offsets - 1) * depth);
    return `${path}limit=${LIMIT}&offset=${offset}`;
  };
}

/** The fullest block among them. */
async function sampleBlocks(
  pool: Pool,
  counts: ChainCounts,
  random: Random,
): Promise<readonly SampledBlock[]> {
  const heights = Array.from({ length: SAMPLES }, () => random.below(counts.blocks));
  const { rows } = await pool.query<{ height: string; hash: Buffer; tx_count: number }>(
    `SELECT height, hash, tx_count FROM blocks WHERE height = ANY($1::bigint[])
        OR height = (SELECT height FROM blocks ORDER BY tx_count DESC LIMIT 1) ORDER BY height`,
    [heights],
  );
  return rows.map(({ height, hash, tx_count: size }) => ({
    height: Number(height),
    hash: toHex(hash),
    tx_count: size,
  }));
}

async function sampleHashes(
  pool: Pool,
  counts: ChainCounts,
  random: Random,
): Promise<readonly string[]> {
  const places = Array.from({ length: SAMPLES }, () => random.below(counts.transactions));
  const { rows } = await pool.query<{ hash: Buffer }>(
    'SELECT hash FROM transactions WHERE seq = ANY($1::bigint[]) ORDER BY seq',
    [places],
  );
  return rows.map(({ hash }) => toHex(hash));
}

/** A random sample of accounts: the next address after each random place in their order. */
async function sampleAccounts(pool: Pool, random: Random): Promise<readonly string[]> {
  const places = Array.from({ length: SAMPLES }, () => random.bytes(20));
  const { rows } = await pool.query<{ address: Buffer }>(
    `SELECT a.address FROM unnest($1::bytea[]) AS place
       CROSS JOIN LATERAL (SELECT address FROM accounts WHERE address >= place ORDER BY address LIMIT 1) a ORDER BY a.address`,
    [places],
  );
  return rows.map(({ address }) => toHex(address));
}
