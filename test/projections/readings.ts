/**
 * Small logs of every projection and their tables, cut and interleaved in any way and written by
 * the projector's transactions.
 */
import { Client } from 'pg';
import { deposits } from '../../projections/deposits/deposits.ts';
import { explorer } from '../../projections/explorer/explorer.ts';
import type { Projection } from '../../projections/contract/projection.ts';
import { reserve } from '../../projections/reserve/reserve.ts';
import { rideMarket } from '../../projections/ride-market/ride-market.ts';
import { series } from '../../projections/series/series.ts';
import { watch } from '../../projections/watch/watch.ts';
import type { ReserveReconciled } from '../../schemas/reserve.runs/events.ts';
import { compareTables, TEXT_SETTINGS } from '../../services/projector/rebuild/compare.ts';
import { withTimes } from '../support/block-times.ts';
import { chainEvents } from '../support/chain.ts';
import { addressLog, ledgerLog, transferLog, withRefund } from '../support/deposit-log.ts';
import { Random } from '../support/random.ts';
import { applyStretch, openTables } from './deposits/applied.ts';
import { rideChain } from './ride-market/ride-chain.ts';

interface Log<Event> {
  readonly topic: string;
  readonly partition: number;
  readonly events: readonly Event[];
}

/** How the logs are cut and read. */
export interface Reading {
  /** of the next batch */
  readonly size: () => number;
  /** the log that comes next */
  readonly next: (open: readonly number[]) => number;
}

/** Each log to its end, then the next one. */
export function inTurn(size: number): Reading {
  return { size: () => size, next: ([first = 0]) => first };
}

/** Any of the logs next; batches of this size, or where it is not given of any up to 40 records. */
export function byChance(seed: number, size?: number): Reading {
  const random = new Random(seed);
  return { size: () => size ?? 1 + random.below(SIZE_MAX), next: (open) => random.pick(open) };
}

const SIZE_MAX = 40;

/** The rows of the last statement. */
export async function ask(url: string, statements: readonly string[]): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  let rows: readonly unknown[] = [];
  for (const statement of statements) ({ rows } = await client.query(statement));
  await client.end();
  return rows;
}

/** By table, of the rows in any order: equal where all rows are. The tables are gone afterwards. */
export async function tablesOf(
  url: string,
  name: string,
  reading: Reading,
): Promise<Record<string, string>> {
  const fold = CASES[name];
  if (fold === undefined) throw new Error(`no logs of ${name}`);
  const found = await fold(url, reading);
  await ask(url, [`DROP SCHEMA ${name} CASCADE`]);
  return found;
}

async function tables<Event extends { readonly type: string }>(
  url: string,
  projection: Projection<Event>,
  logs: readonly Log<Event>[],
  reading: Reading,
): Promise<Record<string, string>> {
  const pool = await openTables(url, projection);
  const nexts = logs.map(() => 0);
  for (;;) {
    const open = logs.flatMap(({ events }, at) => ((nexts[at] ?? 0) < events.length ? [at] : []));
    if (open.length === 0) break;
    const at = reading.next(open);
    const { topic, partition, events = [] } = logs[at] ?? { topic: '', partition: 0 };
    const from = nexts[at] ?? 0;
    const part = events.slice(from, from + reading.size());
    await applyStretch(pool, projection, { topic, partition, from, events: part });
    nexts[at] = from + part.length;
  }
  await pool.end();
  return digests(url, projection);
}

async function digests(
  url: string,
  projection: Pick<Projection, 'name' | 'tables'>,
): Promise<Record<string, string>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(TEXT_SETTINGS);
  const side = { client, schema: projection.name };
  const compared = await compareTables(side, side, projection.tables);
  await client.end();
  return Object.fromEntries(
    compared.map(({ table, rows, digest }) => [table, `${rows} ${digest}`]),
  );
}

function reserveRun(at: number): ReserveReconciled {
  const amount = BigInt(at) * 10n ** 20n;
  return {
    type: 'ReserveReconciled',
    run_id: `run ${at % 50}`,
    run_at: 1_790_000_000_000 + at,
    ledger_offset: at,
    block_height: at,
    block_hash: Buffer.alloc(32, at),
    onchain_supply: amount,
    genesis_allocation: 0n,
    treasury_minted: amount,
    burned: amount / 3n,
    ledger_liability: -amount,
    custody_reported: amount,
    held: 0n,
    retained_fees: 1n,
    minting: 0n,
    waiting: 0n,
    uncovered: 0n,
    booked_surplus: 0n,
    refunded: 0n,
    begun_at: 0,
    oldest_reading_at: 0,
    status: 'mismatch',
  };
}

/** Each projection with its logs. */
const CASES: Readonly<
  Record<string, (url: string, reading: Reading) => Promise<Record<string, string>>>
> = {
  explorer: (url, reading) => {
    const events = [
      ...chainEvents({ seed: 51, blocks: 40, transactions_per_block: 5, reorg_probability: 0.15 }),
    ];
    return tables(url, explorer, [{ topic: 'chain.blocks', partition: 0, events }], reading);
  },
  ride_market: (url, reading) => {
    const { log } = rideChain({
      seed: 59,
      blocks: 30,
      transactions_per_block: 8,
      reorg_probability: 0.2,
      final_depth: 5,
    });
    return tables(url, rideMarket, [{ topic: 'chain.blocks', partition: 0, events: log }], reading);
  },
  series: (url, reading) => {
    const { log } = rideChain({
      seed: 61,
      blocks: 30,
      transactions_per_block: 8,
      reorg_probability: 0.2,
      final_depth: 5,
    });
    const events = withTimes(log, ({ timestamp, height }) => timestamp + 1_000_000 * height);
    return tables(url, series, [{ topic: 'chain.blocks', partition: 0, events }], reading);
  },
  deposits: (url, reading) => {
    const addresses = {
      topic: 'deposit.addresses',
      partition: 0,
      events: addressLog({ seed: 53, accounts: 20, events: 60 }),
    };
    const ledger = {
      topic: 'treasury.ledger',
      partition: 0,
      events: withRefund(ledgerLog({ seed: 54, accounts: 8, events: 300 })),
    };
    return tables(url, deposits, [addresses, ledger], reading);
  },
  watch: (url, reading) => {
    const addresses = {
      topic: 'deposit.addresses',
      partition: 0,
      events: addressLog({ seed: 55, accounts: 20, events: 60 }),
    };
    const transfers = transferLog({ seed: 56, accounts: 20, events: 150 });
    return tables(
      url,
      watch,
      [
        addresses,
        ...transfers.map((events, partition) => ({ topic: 'tron.transfers', partition, events })),
      ],
      reading,
    );
  },
  reserve: (url, reading) => {
    const events = Array.from({ length: 80 }, (_, at) => reserveRun(at));
    return tables(url, reserve, [{ topic: 'reserve.runs', partition: 0, events }], reading);
  },
};
