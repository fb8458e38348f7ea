/** The ride market's fold: requests, offers and trips from `chain.blocks`. */
import { bytesKey } from '../../schemas/address.ts';
import { isChainEvent, type ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { chainFromHead, evolve, revertedBelow, settled } from '../chain/chain.ts';
import { HEAD, JOURNAL, UndoLog } from '../chain/undo-log.ts';
import type { Folded, Load, Loaded, Projection, Recorded, Table } from '../contract/projection.ts';
import { Market } from './market.ts';
import { RECORD_TABLES } from './records.ts';
import { hashArgument } from './ride-step.ts';
import { UNDO_TEXT, type BlockUndo } from './undo-text.ts';

export const rideMarket: Projection<ChainEvent> = {
  name: 'ride_market',
  version: 4,
  topics: ['chain.blocks'],
  isEvent: isChainEvent,
  tables: [HEAD, JOURNAL, ...Object.values(RECORD_TABLES)],
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  settled,
  loads,
  fold,
};

/** The table in which a call's hash argument is looked up, by the type of the call. */
const LOOKUP_TABLES: Readonly<Record<string, Table>> = {
  RideOffer: RECORD_TABLES.open_requests,
  RideRequestCancel: RECORD_TABLES.open_requests,
  RideAcceptance: RECORD_TABLES.offers,
  RidePay: RECORD_TABLES.active_trips,
  RideCancel: RECORD_TABLES.active_trips,
};

function loads(batch: readonly Recorded<ChainEvent>[]): readonly Load[] {
  const keys = new Map<Table, Map<string, Buffer>>();
  for (const { event } of batch) {
    if (event.type !== 'BlockAppended') continue;
    for (const transaction of event.transactions) {
      const hash = hashArgument(transaction);
      const table = LOOKUP_TABLES[transaction.function_call_type];
      if (hash === undefined || table === undefined) continue;
      let hashes = keys.get(table);
      if (hashes === undefined) keys.set(table, (hashes = new Map()));
      hashes.set(bytesKey(hash), hash);
    }
  }
  const loaded: Load[] = [{ name: 'head', table: HEAD, keys: [true] }];
  for (const [table, hashes] of keys)
    loaded.push({ name: table.name, table, keys: [...hashes.values()] });
  const offers = keys.get(RECORD_TABLES.offers);
  if (offers !== undefined)
    loaded.push({
      name: 'requests_of_offers',
      // LATERAL with OFFSET 0: the planner would join many look-ups with the whole table
      text: `SELECT r.* FROM
             (SELECT DISTINCT request_hash FROM offers WHERE hash = ANY($1::bytea[])) o
             CROSS JOIN LATERAL
               (SELECT * FROM open_requests WHERE hash = o.request_hash OFFSET 0) r`,
      values: [[...offers.values()]],
    });
  const reverted = revertedBelow(batch);
  if (reverted.length > 0)
    loaded.push({
      name: 'journal',
      text: 'SELECT height, undo FROM journal WHERE height = ANY($1::bigint[])',
      values: [reverted],
    });
  return loaded;
}

function fold(loaded: Loaded, batch: readonly Recorded<ChainEvent>[]): Folded {
  const head = loaded['head']?.[0];
  let chain = chainFromHead(head);
  const market = new Market(loaded);
  const undoLog = new UndoLog(head, loaded, UNDO_TEXT);
  const outcomes = { applied: 0, replayed: 0, ignored: 0 };
  for (const [at, { event, offset }] of batch.entries()) {
    const judged = evolve(chain, event, offset);
    if (judged.verdict === 'broken') return { broken: { at, reason: judged.reason } };
    outcomes[judged.verdict]++;
    if (judged.verdict !== 'applied') continue;
    chain = judged.chain;
    apply(market, undoLog, event);
  }
  const { deletes, appends, upserts } = market.changes();
  return {
    changes: {
      cuts: undoLog.cuts(),
      deletes: [{ table: JOURNAL, rows: undoLog.finalized() }, ...deletes],
      appends: [{ table: JOURNAL, rows: undoLog.added() }, ...appends],
      upserts: [{ table: HEAD, rows: undoLog.head(chain) }, ...upserts],
    },
    outcomes,
    announced: [...market.change_keys],
  };
}

function apply(market: Market, undoLog: UndoLog<BlockUndo>, event: ChainEvent): void {
  switch (event.type) {
    case 'BlockAppended':
      return undoLog.push(event.height, market.append(event));
    case 'BlockReverted':
      return market.revert(undoLog.pop(event.height));
    case 'BlocksFinalized':
      return undoLog.finalize(event.height);
  }
}
