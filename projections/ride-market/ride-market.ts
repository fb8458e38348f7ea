/**
 * The fold of the ride market: requests, offers and trips of `chain.blocks`. What a block changed is kept until it is final, so that a revert puts back exactly
 * the rows that were there.
 */
import { isChainEvent, type ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { EMPTY_CHAIN, evolve, type Chain } from '../chain/chain.ts';
import { revertedBelow, settled } from '../chain/settled.ts';
import { bytesIn, countIn } from '../contract/loaded-row.ts';
import type {
  Folded,
  Load,
  Loaded,
  LoadedRow,
  Projection,
  Recorded,
  Row,
  Table,
} from '../contract/projection.ts';
import { Journal } from './journal.ts';
import { Market } from './market.ts';
import { namedHash } from './ride-step.ts';
import {
  ACTIVE_TRIPS,
  CLOSED_REQUESTS,
  ENDED_TRIPS,
  HEAD,
  JOURNAL,
  OFFERS,
  OPEN_REQUESTS,
} from './rows.ts';

export const rideMarket: Projection<ChainEvent> = {
  name: 'ride_market',
  version: 1,
  topics: ['chain.blocks'],
  skips: 'ride_market',
  isEvent: isChainEvent,
  tables: [HEAD, JOURNAL, OPEN_REQUESTS, CLOSED_REQUESTS, OFFERS, ACTIVE_TRIPS, ENDED_TRIPS],
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  settled,
  loads,
  fold,
};

/** What a transaction of each type names, by the table that it is looked up in. */
const LOOKED_UP: Readonly<Record<string, Table>> = {
  RideOffer: OPEN_REQUESTS,
  RideRequestCancel: OPEN_REQUESTS,
  RideAcceptance: OFFERS,
  RidePay: ACTIVE_TRIPS,
  RideCancel: ACTIVE_TRIPS,
};

function loads(batch: readonly Recorded<ChainEvent>[]): readonly Load[] {
  const keys = new Map<Table, Map<string, Buffer>>();
  for (const { event } of batch) {
    if (event.type !== 'BlockAppended') continue;
    for (const transaction of event.transactions) {
      const hash = namedHash(transaction);
      const table = LOOKED_UP[transaction.function_call_type];
      if (hash === undefined || table === undefined) continue;
      let ofTable = keys.get(table);
      if (ofTable === undefined) keys.set(table, (ofTable = new Map()));
      ofTable.set(hash.toString('latin1'), hash);
    }
  }
  const asked: Load[] = [...keys].map(([table, hashes]) => ({
    name: table.name,
    table,
    keys: [...hashes.values()],
  }));
  const offers = keys.get(OFFERS);
  const reverted = revertedBelow(batch);
  return [
    { name: 'head', table: HEAD, keys: [true] },
    ...asked,
    ...(offers === undefined ? [] : [requestsOf([...offers.values()])]),
    ...(reverted.length === 0 ? [] : [journalOf(reverted)]),
  ];
}

/** Looked up one by one: taken for many, they would be joined with the whole table. */
function requestsOf(offers: readonly Buffer[]): Load {
  return {
    name: 'requests_of_offers',
    text: `SELECT r.* FROM
             (SELECT DISTINCT request_hash FROM offers WHERE hash = ANY($1::bytea[])) o
             CROSS JOIN LATERAL (SELECT * FROM open_requests WHERE hash = o.request_hash OFFSET 0) r`,
    values: [offers],
  };
}

function journalOf(heights: readonly number[]): Load {
  return {
    name: 'journal',
    text: 'SELECT height, undo FROM journal WHERE height = ANY($1::bigint[])',
    values: [heights],
  };
}

function fold(loaded: Loaded, batch: readonly Recorded<ChainEvent>[]): Folded {
  const head = loaded['head']?.[0];
  let chain = chainOf(head);
  const market = new Market(loaded);
  const journal = new Journal(head, loaded);
  const outcomes = { applied: 0, replayed: 0, ignored: 0 };
  for (const [at, { event, offset }] of batch.entries()) {
    const judged = evolve(chain, event, offset);
    if (judged.verdict === 'broken') return { broken: { at, reason: judged.reason } };
    outcomes[judged.verdict]++;
    if (judged.verdict !== 'applied') continue;
    chain = judged.chain;
    move(market, journal, event);
  }
  const { deletes, appends, upserts } = market.changes();
  return {
    changes: {
      cuts: journal.cuts(),
      deletes: [{ table: JOURNAL, rows: journal.settled() }, ...deletes],
      appends: [{ table: JOURNAL, rows: journal.added() }, ...appends],
      upserts: [{ table: HEAD, rows: headOf(chain, journal) }, ...upserts],
    },
    outcomes,
    announced: [...market.announced],
  };
}

function move(market: Market, journal: Journal, event: ChainEvent): void {
  switch (event.type) {
    case 'BlockAppended':
      return journal.push(event.height, market.append(event));
    case 'BlockReverted':
      return market.revert(journal.pop(event.height));
    case 'BlocksFinalized':
      return journal.settle(event.height);
  }
}

function chainOf(head: LoadedRow | undefined): Chain {
  if (head === undefined) return EMPTY_CHAIN;
  return {
    status: 'growing',
    sequence: countIn(head, 'sequence'),
    top: { height: countIn(head, 'height'), hash: bytesIn(head, 'hash') },
    finalized_height: countIn(head, 'finalized_height'),
  };
}

function headOf(chain: Chain, journal: Journal): readonly Row[] {
  if (chain.status === 'empty') return [];
  const { sequence, top, finalized_height: finalized } = chain;
  return [[true, sequence, top.height, top.hash, finalized, journal.from]];
}
