/** The reserve's projection: each reconciliation of `reserve.runs` as one row, by its id. */
import { isReserveEvent, type ReserveReconciled } from '../../schemas/reserve.runs/events.ts';
import { countIn, textIn } from '../contract/loaded-row.ts';
import type { Folded, Load, Loaded, Projection, Recorded, Row } from '../contract/projection.ts';
import { HEAD, RUNS } from './rows.ts';

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
    runs.push(rowOf(event, before + runs.length));
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

function rowOf(run: ReserveReconciled, ordinal: number): Row {
  return [
    ordinal,
    run.run_id,
    run.run_at,
    run.ledger_offset,
    run.block_height,
    run.block_hash,
    run.onchain_supply,
    run.genesis_allocation,
    run.treasury_minted,
    run.burned,
    run.ledger_liability,
    run.custody_reported,
    run.held,
    run.retained_fees,
    run.status,
  ];
}
