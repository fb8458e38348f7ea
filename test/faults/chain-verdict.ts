/**
 * The verdict on the chain's path at the end of a fault run: when all has come to rest, the node,
 * the log and the tables of the explorer, the ride market and the series are held against each
 * other.
 */
import type { Pool } from 'pg';
import { evolve, EMPTY_CHAIN, type Chain } from '../../projections/chain/chain.ts';
import type { ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import { plainMarket, textsOf, withoutJournal } from '../projections/ride-market/plain-market.ts';
import { plainSeries } from '../projections/series/plain-series.ts';
import { differences, plainFold, readChainEvents, readTables } from '../support/plain-fold.ts';
import { until } from '../support/until.ts';
import { unlikeTheNode } from './node-accounts.ts';

export interface ChainVerdict {
  /** events in the log, and how many of them were repetitions without effect */
  readonly events: number;
  readonly repeated: number;
  readonly reverted: number;
  readonly blocks: number;
  readonly transactions: number;
  /** of the ride market, active and ended */
  readonly trips: number;
  /** violations; empty: none */
  readonly violations: readonly string[];
}

const SCHEMAS = ['explorer', 'ride_market', 'series'];

/** The node grows no more. */
export async function judgeChain({
  kafka,
  codec,
  pool,
  node_url,
}: {
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly pool: Pick<Pool, 'query'>;
  readonly node_url: string;
}): Promise<ChainVerdict> {
  const chain = await nodeChain(node_url);
  const heads = async (): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ head: string }>(
      SCHEMAS.map(
        (schema) =>
          `SELECT encode(hash, 'hex') || ' ' || finalized_height AS head FROM ${schema}.head`,
      ).join(' UNION ALL '),
    );
    return rows.map(({ head }) => head);
  };
  const head = `${chain.head} ${chain.finalized}`;
  await until(
    heads,
    `the tables at rest at ${head}`,
    (seen) => seen.length === SCHEMAS.length && seen.every((each) => each === head),
  );
  const events = await readChainEvents(kafka, codec);
  const violations: string[] = [];
  const told = fold(events, violations);
  if (told.hashes.join() !== chain.hashes.join())
    violations.push('the blocks of the log are not those of the node');
  const market = plainMarket(events);
  const marketTables = await readTables(pool, 'ride_market');
  const series = plainSeries(events);
  const seriesTables = await readTables(pool, 'series');
  violations.push(
    ...[
      ...differences(await readTables(pool, 'explorer'), plainFold(events)),
      ...differences(withoutJournal(marketTables), textsOf(market)),
      ...differences(withoutJournal(seriesTables), series.tables),
    ].map((difference) => `table and plain fold differ: ${difference}`),
  );
  for (const [tables, { journal_heights: heights }] of [
    [marketTables, market],
    [seriesTables, series],
  ] as const)
    if ((tables['journal']?.length ?? 0) !== heights.length)
      violations.push('a journal does not have one row for each block that is not final');
  violations.push(...(await unlikeTheNode(pool, node_url)));
  return {
    events: events.length,
    repeated: told.repeated,
    reverted: told.reverted,
    blocks: chain.hashes.length,
    transactions: events.reduce(
      (sum, event) => sum + (event.type === 'BlockAppended' ? event.transactions.length : 0),
      0,
    ),
    trips: market.active_trips.length + market.ended_trips.length,
    violations,
  };
}

function fold(
  events: readonly ChainEvent[],
  violations: string[],
): { hashes: string[]; repeated: number; reverted: number } {
  let chain: Chain = EMPTY_CHAIN;
  const hashes: string[] = [];
  let repeated = 0;
  let reverted = 0;
  for (const [offset, event] of events.entries()) {
    const step = evolve(chain, event, BigInt(offset));
    if (step.verdict === 'broken') violations.push(`the log is broken: ${step.reason}`);
    if (step.verdict === 'ignored') repeated++;
    if (step.verdict !== 'applied') continue;
    chain = step.chain;
    if (event.type === 'BlockAppended') hashes.push(event.hash.toString('hex'));
    if (event.type === 'BlockReverted') {
      hashes.pop();
      reverted++;
    }
  }
  return { hashes, repeated, reverted };
}

async function nodeChain(
  url: string,
): Promise<{ readonly hashes: string[]; readonly head: string; readonly finalized: number }> {
  const node = new ChainNode(url, new AbortController().signal);
  const { finalized_height: finalized } = await node.chain();
  const hashes: string[] = [];
  for (;;) {
    const { blocks } = await node.blocks(hashes.length, 500);
    if (blocks.length === 0) break;
    hashes.push(...blocks.map(({ hash }) => hash.toString('hex')));
  }
  return { hashes, head: hashes.at(-1) ?? '', finalized };
}
