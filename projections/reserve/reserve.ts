/**
 * The reserve's projection: each reconciliation of `reserve.runs` as one row, by its id. Every
 * record is one of the chain (LOG-8); it names the head where it stands at its sequence.
 */
import { brokenLink, headAfter, NO_RECORDS } from '../../schemas/hash-chain.ts';
import { isReserveEvent, type ReserveReconciled } from '../../schemas/reserve.runs/events.ts';
import { RUN_RULES } from '../../schemas/reserve.runs/rules.ts';
import { brokenRule } from '../../schemas/rules.ts';
import { amountIn, bytesIn, countIn, rowOf, textIn } from '../contract/loaded-row.ts';
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
const HEAD: Table = {
  name: 'head',
  columns: { one: 'bool', runs: 'int8', log_end: 'int8', hash: 'bytea' },
  key: ['one'],
};

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
    ledger_head: 'bytea',
    begun_at: 'timestamptz',
    minting: 'numeric',
    waiting: 'numeric',
    uncovered: 'numeric',
    booked_surplus: 'numeric',
    refunded: 'numeric',
    oldest_reading_at: 'timestamptz',
    unproven: 'numeric',
    unminted: 'numeric',
    unproven_refunds: 'numeric',
    frozen: 'numeric',
  },
  key: ['run_id'],
} as const satisfies Table;

/** Fields that runs of older writers do not have. */
const LATER_FIELDS = {
  ledger_head: NO_RECORDS,
  unproven: 0n,
  unminted: 0n,
  unproven_refunds: 0n,
  frozen: 0n,
};

export const reserve: Projection<ReserveReconciled> = {
  name: 'reserve',
  version: 5,
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
    { name: 'head', text: 'SELECT runs, log_end, hash FROM head', values: [] },
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
  let end = head === undefined ? 0n : amountIn(head, 'log_end');
  let hash = head === undefined ? NO_RECORDS : bytesIn(head, 'hash');
  const known = new Set((loaded['known'] ?? []).map((row) => textIn(row, 'run_id')));
  const runs: Row[] = [];
  const announced: string[] = [];
  let ignored = 0;
  let isNew = false;
  for (const [at, { event, offset, value_hash: valueHash }] of batch.entries()) {
    if (offset < end) continue;
    const reason = brokenLink(hash, event, offset);
    if (reason !== undefined) return { broken: { at, reason } };
    hash = headAfter(hash, valueHash);
    end = offset + 1n;
    isNew = true;
    if (brokenRule(RUN_RULES, event) !== undefined) {
      ignored++;
      continue;
    }
    if (known.has(event.run_id)) continue;
    known.add(event.run_id);
    announced.push(event.run_id);
    runs.push(rowOf(RUNS, { ...LATER_FIELDS, ...event, ordinal: before + runs.length }));
  }
  const heads: Row[] = isNew ? [[true, before + runs.length, end, hash]] : [];
  return {
    changes: {
      cuts: [],
      deletes: [],
      appends: [{ table: RUNS, rows: runs }],
      upserts: [{ table: HEAD, rows: heads }],
    },
    outcomes: { applied: runs.length, replayed: batch.length - runs.length - ignored, ignored },
    announced,
  };
}
