import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { reserve } from '../../../projections/reserve/reserve.ts';
import type { Folded, Row } from '../../../projections/contract/projection.ts';
import { selectOf } from '../../../services/projector/engine/table-reader.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import { plainHash, plainHead } from '../../support/plain-chain.ts';
import { plainRows, rowsIn } from '../../support/plain-rows.ts';

function run(id: string, supply = 1n): ReserveReconciled {
  return {
    type: 'ReserveReconciled',
    run_id: id,
    run_at: 1_790_000_000_000,
    ledger_offset: 7,
    block_height: 9,
    block_hash: Buffer.alloc(32, 9),
    onchain_supply: supply,
    genesis_allocation: 0n,
    treasury_minted: 0n,
    burned: 2n ** 70n,
    ledger_liability: -(2n ** 70n),
    custody_reported: 12n,
    held: 0n,
    retained_fees: 0n,
    minting: 3n,
    waiting: 4n,
    uncovered: 5n,
    booked_surplus: 6n,
    refunded: 7n,
    unproven: 8n,
    unminted: 9n,
    unproven_refunds: 10n,
    frozen: 11n,
    begun_at: 1_790_000_000_001,
    oldest_reading_at: 1_790_000_000_002,
    status: 'mismatch',
  };
}

function recorded(runs: readonly ReserveReconciled[], from = 0) {
  return runs.map((event, at) => ({
    event,
    partition: 0,
    offset: BigInt(from + at),
    timestamp: 0,
    value_hash: plainHash(event),
  }));
}

const HASH = Buffer.alloc(32, 7);

/** Folds a batch behind as many records as there were runs before. */
function fold(
  runs: readonly ReserveReconciled[],
  before: number | undefined,
  known: readonly string[],
): Extract<Folded, { readonly changes: unknown }> {
  const batch = recorded(runs, before);
  const log_end = String(before);
  const head = before === undefined ? [] : [{ runs: String(before), log_end, hash: HASH }];
  const folded = reserve.fold(
    { head, known: known.map((run_id) => ({ run_id })) },
    batch,
    plainRows,
  );
  if ('broken' in folded) throw new Error(folded.broken.reason);
  return folded;
}

function sha256(...parts: readonly Buffer[]): Buffer {
  return createHash('sha256').update(Buffer.concat(parts)).digest();
}

function rowsOf(folded: Extract<Folded, { readonly changes: unknown }>): readonly Row[] {
  return folded.changes.appends.flatMap(rowsIn);
}

test('runs are numbered in the order of the log, after the stored ones', () => {
  expect(
    rowsOf(fold([run('a'), run('b')], undefined, [])).map(([ordinal, id]) => [ordinal, id]),
  ).toEqual([
    [0, 'a'],
    [1, 'b'],
  ]);
  const folded = fold([run('c')], 2, []);
  expect(rowsOf(folded).map(([ordinal]) => ordinal)).toEqual([2]);
  const hash = sha256(HASH, plainHash(run('c')));
  expect(folded.changes.upserts).toEqual([
    expect.objectContaining({ rows: [[true, 3, 3n, hash]] }),
  ]);
});

test('a repeated run counts once, in the same batch and in a later one', () => {
  const folded = fold([run('a'), run('b'), run('b'), run('c')], 1, ['a']);
  expect(rowsOf(folded).map(([, id]) => id)).toEqual(['b', 'c']);
  expect(folded.outcomes).toEqual({ applied: 2, replayed: 2, ignored: 0 });
  expect(folded.announced).toEqual(['b', 'c']);
});

test('a repetition is a record of the chain, a record that was folded changes nothing', () => {
  const folded = fold([run('a')], 1, ['a']);
  expect(rowsOf(folded)).toEqual([]);
  expect(folded.changes.upserts.flatMap(({ rows }) => rows)).toEqual([
    [true, 1, 2n, sha256(HASH, plainHash(run('a')))],
  ]);
  const head = [{ runs: '2', log_end: '2', hash: HASH }];
  const again = reserve.fold({ head, known: [] }, recorded([run('a'), run('b')]), plainRows);
  expect(again).toMatchObject({ changes: { upserts: [{ rows: [] }] } });
});

test('a run that names another hash of the record before it, at its sequence, breaks the chain', () => {
  const next = (sequence: number, previous: Buffer): ReserveReconciled => ({
    ...run('b'),
    sequence,
    previous,
  });
  const folding = (second: ReserveReconciled): Folded =>
    reserve.fold({}, recorded([run('a'), second]), plainRows);
  expect(folding(next(1, plainHead([run('a')])))).toHaveProperty('changes');
  expect(folding(next(1, HASH))).toMatchObject({ broken: { at: 1 } });
  // another run came first
  expect(folding(next(0, HASH))).toHaveProperty('changes');
});

test('every value is in the column of its name', () => {
  const event = run('a', 2n ** 80n);
  const [row = []] = rowsOf(fold([event], undefined, []));
  const names = Object.keys(reserve.tables[1]?.columns ?? {});
  const named = Object.fromEntries(names.map((name, at) => [name, row[at]]));
  const { type: _type, ...fields } = event;
  expect(named).toEqual({ ordinal: 0, ledger_head: Buffer.alloc(0), ...fields });
});

test('a run of an older writer says nothing of what came later', () => {
  const { frozen: _frozen, unminted: _unminted, ...older } = run('a');
  const [row = []] = rowsOf(fold([older], undefined, []));
  const names = Object.keys(reserve.tables[1]?.columns ?? {});
  expect(['frozen', 'unminted'].map((name) => row[names.indexOf(name)])).toEqual([0n, 0n]);
});

test('a run with a field out of range is a record of the chain, and no run', () => {
  const broken = { ...run('b'), custody_reported: 10n };
  const folded = fold([run('a'), broken, run('c')], undefined, []);
  expect(rowsOf(folded).map(([, id]) => id)).toEqual(['a', 'c']);
  expect(folded.outcomes).toEqual({ applied: 2, replayed: 0, ignored: 1 });
  expect(folded.changes.upserts.flatMap(({ rows }) => rows)).toEqual([
    [true, 2, 3n, plainHead([run('a'), broken, run('c')])],
  ]);
});

test('known runs are loaded by the ids of the batch', () => {
  const batch = [run('a'), run('b')].map((event, at) => ({
    event,
    partition: 0,
    offset: BigInt(at),
    timestamp: 0,
  }));
  expect(
    reserve
      .loads(batch)
      .map(selectOf)
      .map(({ name, values }) => [name, values]),
  ).toEqual([
    ['head', []],
    ['known', [['a', 'b']]],
  ]);
});
