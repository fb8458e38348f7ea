/**
 * The series' fold: the figures of each hour of `chain.blocks`, for charts. A block adds to its
 * hour; the journal keeps what it added until it is final, so that a revert takes off just that.
 * Days are summed from hours by the queries, except their active accounts.
 */
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import { AddressMap } from '../bytes-index.ts';
import { chainFromHead, evolve, revertedBelow, settled } from '../chain/chain.ts';
import { HEAD, JOURNAL, UndoLog } from '../chain/undo-log.ts';
import type { Folded, Load, Loaded, Projection, Recorded } from '../contract/projection.ts';
import { PART_TEXT, UNREAD, type SeriesEvent } from './block-part.ts';
import { Buckets } from './buckets.ts';
import { ACCOUNTS, DAYS, HOURS, PRODUCERS, TABLES } from './rows.ts';

export const series: Projection<SeriesEvent> = {
  name: 'series',
  version: 2,
  topics: ['chain.blocks'],
  isEvent: isChainEvent,
  unread: { Transaction: UNREAD },
  tables: TABLES,
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  settled,
  loads,
  fold,
};

/** The hour of the newest final block: no event changes an earlier one. */
const OPEN_HOUR = `(SELECT hour FROM hours WHERE last_height >= (SELECT finalized_height FROM head) ORDER BY last_height LIMIT 1)`;

function loads(batch: readonly Recorded<SeriesEvent>[]): readonly Load[] {
  const addresses = new AddressMap<true>();
  for (const { event } of batch) {
    if (event.type !== 'BlockAppended') continue;
    for (const { from, to } of event.transactions) {
      if (addresses.get(from) === undefined) addresses.add(from, true);
      if (addresses.get(to) === undefined) addresses.add(to, true);
    }
  }
  const always: Load[] = [
    { name: 'head', table: HEAD, keys: [true] },
    { name: 'accounts', table: ACCOUNTS, keys: addresses.addresses },
    openLoad('hours', HOURS, 'hour', OPEN_HOUR),
    openLoad('days', DAYS, 'day', `${OPEN_HOUR} / 24`),
    openLoad('producers', PRODUCERS, 'hour', OPEN_HOUR),
  ];
  const reverted = revertedBelow(batch);
  if (reverted.length === 0) return always;
  const text = 'SELECT height, undo FROM journal WHERE height = ANY($1::bigint[])';
  return [...always, { name: 'journal', text, values: [reverted] }];
}

function openLoad(
  name: string,
  table: { readonly name: string; readonly columns: object },
  bucket: string,
  from: string,
): Load {
  const columns = Object.keys(table.columns).join(', ');
  return {
    name,
    text: `SELECT ${columns} FROM ${table.name} WHERE ${bucket} >= ${from}`,
    values: [],
  };
}

function fold(loaded: Loaded, batch: readonly Recorded<SeriesEvent>[]): Folded {
  const head = loaded['head']?.[0];
  let chain = chainFromHead(head);
  const buckets = new Buckets(loaded);
  const undoLog = new UndoLog(head, loaded, PART_TEXT);
  const announced = new Set<string>();
  const outcomes = { applied: 0, replayed: 0, ignored: 0 };
  for (const [at, { event, offset }] of batch.entries()) {
    const judged = evolve(chain, event, offset);
    if (judged.verdict === 'broken') return { broken: { at, reason: judged.reason } };
    outcomes[judged.verdict]++;
    if (judged.verdict !== 'applied') continue;
    chain = judged.chain;
    switch (event.type) {
      case 'BlockAppended': {
        const part = buckets.push(event);
        undoLog.push(event.height, part);
        announced.add(String(part.hour));
        break;
      }
      case 'BlockReverted': {
        const part = undoLog.pop(event.height);
        buckets.pop(event.height, part);
        announced.add(String(part.hour));
        break;
      }
      case 'BlocksFinalized':
        undoLog.finalize(event.height);
        break;
    }
  }
  const { deletes, upserts } = buckets.changes();
  return {
    changes: {
      cuts: undoLog.cuts(),
      deletes: [{ table: JOURNAL, rows: undoLog.finalized() }, ...deletes],
      appends: [{ table: JOURNAL, rows: undoLog.added() }],
      upserts: [{ table: HEAD, rows: undoLog.head(chain) }, ...upserts],
    },
    outcomes,
    announced: [...announced],
  };
}
