/** The reserve's projection: each reconciliation of `reserve.runs` as one row, by its id. */
import { isReserveEvent, type ReserveReconciled } from '../../schemas/reserve.runs/events.ts';
import { countIn, rowOf, textIn } from '../contract/loaded-row.ts';
import type {
  Folded,
  Load,
  Loaded,
  Projection,
  Recorded,
  Row,
  Table,
} from '../contract/projection.ts';

/** The tables as the fold writes them; `table.sql` describes each column. */
const HEAD: Table = { name: 'head', columns: { one: 'bool', runs: 'int8' }, key: ['one'] };

const RUNS = {
  name: 'runs',
  columns: {
    ordinal: 'int8',
    run_id: 'text',
    run_at: 'timestamptz',
    ledger_offset: 'int8',
    block_height: 'int8',
    block_hash: 'bytea',
    onchain_supply: 'numeric',
    genesis_allocation: 'numeric',
    treasury_minted: 'numeric',
    burned: 'numeric',
    ledger_liability: 'numeric',
    custody_reported: 'numeric',
    held: 'numeric',
    retained_fees: 'numeric',
    status: 'text',
  },
  key: ['run_id'],
} as const satisfies Table;

export const reserve: Projection<ReserveReconciled> = {
  name: 'reserve',
  version: 1,
  topics: ['reserve.runs'],
  isEvent: isReserveEvent,
  tables: [HEAD, RUNS],
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  loads,
  fold,
};

function loads(batch: readonly Recorded<ReserveReconciled>[]): readonly Load[] {
  return [
    { name: 'head', text: 'SELECT runs FROM head', values: [] },
    {
      name: 'known',
      text: 'SELECT run_id FROM runs WHERE run_id = ANY($1::text[])',
      values: [batch.map(({ event }) => event.run_id)],
    },
  ];
}

function fold(loaded: Loaded, batch: readonly Recorded<ReserveReconciled>[]): Folded {
  const head = loaded['head']?.[0];
  const before = head === undefined ? 0 : countIn(head, 'runs');
  const known = new Set((loaded['known'] ?? []).map((row) => textIn(row, 'run_id')));
  const runs: Row[] = [];
  const announced: string[] = [];
  for (const { event } of batch) {
    if (known.has(event.run_id)) continue;
    known.add(event.run_id);
    announced.push(event.run_id);
    runs.push(rowOf(RUNS, { ...event, ordinal: before + runs.length }));
  }
  const heads: Row[] = runs.length === 0 ? [] : [[true, before + runs.length]];
  return {
    changes: {
      cuts: [],
      deletes: [],
      appends: [{ table: RUNS, rows: runs }],
      upserts: [{ table: HEAD, rows: heads }],
    },
    outcomes: { applied: runs.length, replayed: batch.length - runs.length, ignored: 0 },
    announced,
  };
}
