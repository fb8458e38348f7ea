import { expect, test } from 'vitest';
import { reserve } from '../../../projections/reserve/reserve.ts';
import { selectOf } from '../../../services/projector/engine/table-reader.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import { plainHead } from '../../support/plain-chain.ts';
import { FoldedTables } from '../folded-tables.ts';
import { specify } from '../specify.ts';

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

const HASH = Buffer.alloc(32, 7);
const [A, B, C] = [run('a'), run('b'), run('c')];

test('runs are numbered in the order of the log, after the stored ones', () => {
  specify(reserve)
    .given([A, B])
    .when([C])
    .thenRows({
      runs: [
        { ordinal: 0, run_id: 'a' },
        { ordinal: 1, run_id: 'b' },
        { ordinal: 2, run_id: 'c' },
      ],
      head: [{ one: true, runs: 3, log_end: 3n, hash: plainHead([A, B, C]) }],
    });
});

test('a repeated run counts once, in the same batch and in a later one', () => {
  const repeated = specify(reserve).given([A]).when([A, B, B, C]);
  repeated.thenRows({ runs: [{ run_id: 'a' }, { run_id: 'b' }, { run_id: 'c' }] });
  repeated.thenFolded({
    outcomes: { applied: 2, replayed: 2, ignored: 0 },
    announced: ['b', 'c'],
  });
});

test('a repetition is a record of the chain, a record that was folded changes nothing', () => {
  specify(reserve)
    .given([A])
    .when([A])
    .thenRows({ head: [{ runs: 1, log_end: 2n, hash: plainHead([A, A]) }] });
  const tables = new FoldedTables(reserve);
  tables.apply({ events: [A, B] });
  expect(tables.fold({ events: [A, B] })).toMatchObject({ changes: { upserts: [{ rows: [] }] } });
});

function second(sequence: number, previous: Buffer): ReserveReconciled {
  return { ...B, sequence, previous };
}

test('a run that names another hash of the record before it, at its sequence, breaks the chain', () => {
  const whole = { changes: expect.anything() };
  specify(reserve)
    .when([A, second(1, plainHead([A]))])
    .thenFolded(whole);
  specify(reserve)
    .when([A, second(1, HASH)])
    .thenFolded({ broken: { at: 1 } });
  // another run came first
  specify(reserve)
    .when([A, second(0, HASH)])
    .thenFolded(whole);
});

test('every value is in the column of its name', () => {
  const { type: _type, ...fields } = run('a', 2n ** 80n);
  const tables = new FoldedTables(reserve);
  tables.apply({ events: [run('a', 2n ** 80n)] });
  expect(tables.rows('runs')).toEqual([{ ordinal: 0, ledger_head: Buffer.alloc(0), ...fields }]);
});

test('a run of an older writer says nothing of what came later', () => {
  const { frozen: _frozen, unminted: _unminted, ...older } = A;
  specify(reserve)
    .when([older])
    .thenRows({ runs: [{ frozen: 0n, unminted: 0n }] });
});

test('a run with a field out of range is a record of the chain, and no run', () => {
  const wrong = { ...B, custody_reported: 10n };
  const folded = specify(reserve).when([A, wrong, C]);
  folded.thenFolded({ outcomes: { applied: 2, replayed: 0, ignored: 1 } });
  folded.thenRows({
    runs: [{ run_id: 'a' }, { run_id: 'c' }],
    head: [{ runs: 2, log_end: 3n, hash: plainHead([A, wrong, C]) }],
  });
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
