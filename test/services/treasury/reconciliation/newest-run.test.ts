import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import { BrokenChain } from '../../../../schemas/hash-chain.ts';
import { decisionText } from '../../../../schemas/operator-signature.ts';
import { RESERVE_RUNS } from '../../../../schemas/topics.ts';
import { MintSigner } from '../../../../services/treasury/minting/mint-signer.ts';
import {
  mintingForbidden,
  NewestRun,
} from '../../../../services/treasury/reconciliation/newest-run.ts';
import { BEGIN } from '../../../support/deposit-log.ts';
import { plainHash, plainHead } from '../../../support/plain-chain.ts';

function runOf(status: string, age: number): ReserveReconciled {
  const zero = {
    onchain_supply: 0n,
    genesis_allocation: 0n,
    treasury_minted: 0n,
    burned: 0n,
    ledger_liability: 0n,
  };
  const none = { custody_reported: 0n, held: 0n, retained_fees: 0n, minting: 0n, waiting: 0n };
  const sums = {
    uncovered: 0n,
    booked_surplus: 0n,
    refunded: 0n,
    begun_at: 0,
    oldest_reading_at: 0,
  };
  const places = { ledger_offset: 0, block_height: 0, block_hash: Buffer.alloc(32) };
  return {
    type: 'ReserveReconciled',
    run_id: 'a-run',
    run_at: BEGIN - age,
    status,
    ...zero,
    ...none,
    ...sums,
    ...places,
  };
}

test.each([
  ['of now that is ok', runOf('ok', 0), 1_000, undefined],
  ['with more than is explained', runOf('over_backed_drift', 0), 1_000, undefined],
  ['as old as may be', runOf('ok', 1_000), 1_000, undefined],
  [
    'that is older',
    runOf('ok', 1_001),
    1_000,
    /is 1 s old\. What to do: look why there is no newer one/,
  ],
  ['of the future', runOf('ok', -1_001), 1_000, /is 1 s ahead of this clock/],
  [
    'that ended in time and began before',
    { ...runOf('ok', 0), begun_at: BEGIN - 1_001 },
    1_000,
    /is 1 s old/,
  ],
  [
    'that ended before and whose beginning is unknown',
    { ...runOf('ok', 1_000), begun_at: 0 },
    1_000,
    undefined,
  ],
  [
    'that does not cover the deposits',
    { ...runOf('ok', 0), uncovered: 1n },
    1_000,
    /1 micro-USDT .*\(reconciliation a-run of 2026-.*\)\. What to do: `ops reserve runs`/,
  ],
  [
    'that does not cover the deposits, where no age matters',
    { ...runOf('over_backed_drift', 10 ** 12), uncovered: 1n },
    0,
    /does not cover/,
  ],
  [
    'that does not cover the deposits, with frozen money',
    { ...runOf('ok', 0), uncovered: 5n, frozen: 7n },
    1_000,
    /5 micro-USDT are missing .*; 7 micro-USDT in custody are frozen.*\. What to do: /,
  ],
  [
    'that does not match, with frozen money',
    { ...runOf('mismatch', 0), frozen: 7n },
    1_000,
    /does not match \(.*\); 7 micro-USDT in custody are frozen.*\. What to do: /,
  ],
  ['with frozen money that nobody needs', { ...runOf('ok', 0), frozen: 7n }, 1_000, undefined],
  ['that is older, where no age matters', runOf('ok', 10 ** 12), 0, undefined],
  [
    'that does not match',
    runOf('mismatch', 0),
    1_000,
    /does not match \(reconciliation a-run of 2026-.*\)\. What to do: `ops reserve runs`/,
  ],
  ['that does not match, where no age matters', runOf('mismatch', 10 ** 12), 0, /does not match/],
  ['that says what nobody knows', runOf('fine', 0), 0, /does not match/],
  ['that there never was', undefined, 1_000, /there is no reconciliation that this treasury made/],
  ['that there never was, where no age matters', undefined, 0, undefined],
])('a newest run %s', (_what, run, ageMax, why) => {
  const said = mintingForbidden({ run, own: run, is_read: true }, ageMax, BEGIN);
  if (why === undefined) expect(said).toBe(undefined);
  else expect(said).toMatch(why);
});

test('minting is closed until the newest run is known', () => {
  const said = mintingForbidden({ run: undefined, own: undefined, is_read: false }, 0, BEGIN);
  expect(said).toMatch('not read yet');
});

const MISMATCH = runOf('mismatch', 100);
const SHORT = { ...runOf('ok', 100), uncovered: 1n };

test.each([
  ['ok after an own mismatch', runOf('ok', 0), MISMATCH, 1_000, /does not match/],
  ['ok after an own mismatch, of any age', runOf('ok', 0), MISMATCH, 0, /does not match/],
  ['ok after an own one with too little custody', runOf('ok', 0), SHORT, 1_000, /does not cover/],
  ['ok, without an own one', runOf('ok', 0), undefined, 1_000, /there is no reconciliation that/],
  ['ok, after an own one that is too old', runOf('ok', 0), runOf('ok', 1_001), 1_000, /1 s old/],
  ['ok, without an own one where no age matters', runOf('ok', 0), undefined, 0, undefined],
  ['a mismatch after an own one that is ok', MISMATCH, runOf('ok', 0), 1_000, /does not match/],
  ['without cover after an own one that is ok', SHORT, runOf('ok', 0), 1_000, /does not cover/],
  ['old after an own one that is ok', runOf('ok', 10 ** 9), runOf('ok', 0), 1_000, undefined],
])(
  'a newest run of somebody else closes minting and never opens it: %s',
  (_what, run, own, ageMax, why) => {
    const said = mintingForbidden({ run, own, is_read: true }, ageMax, BEGIN);
    if (why === undefined) expect(said).toBe(undefined);
    else expect(said).toMatch(why);
  },
);

function folded(runs: readonly ReserveReconciled[], authority?: Buffer): NewestRun {
  const newest = new NewestRun(authority);
  const events = runs.map((event, at) => ({
    event,
    partition: 0,
    offset: BigInt(at),
    timestamp: event.run_at,
    value_hash: plainHash(event),
  }));
  const place = { topic: 'runs', partition: 0, from: 0n, next: BigInt(runs.length) };
  newest.fold({ ...place, events, fingerprints: [], sizes: [] });
  newest.read();
  return newest;
}

test('a run that names another hash of the run before it, at its sequence, breaks the chain', () => {
  const first = runOf('ok', 2);
  const next = { ...runOf('ok', 1), sequence: 1, previous: plainHead([first]) };
  const { head } = folded([first, next]);
  expect(head).toEqual(plainHead([first, next]));
  expect(() => folded([{ ...first, held: 1n }, next])).toThrow(BrokenChain);
  // a run of another process came between
  expect(() => folded([first, { ...first, held: 1n }, next])).not.toThrow();
});

test('a run that breaks a rule of its fields is never the newest, is counted, and is in the chain', () => {
  const known = { ...runOf('ok', 2), sequence: 0 };
  const broken = { ...runOf('mismatch', 1), sequence: 1, previous: plainHead([known]), held: 1n };
  const negative = { ...broken, uncovered: -1n };
  expect(folded([known, broken])).toMatchObject({ run: broken, broken: 0 });
  expect(folded([known, negative])).toMatchObject({ run: known, broken: 1 });
  expect(folded([known, negative]).head).toEqual(plainHead([known, negative]));
});

test('a run of an older block or offset is the newest only if it began after the other was written', () => {
  const known = { ...runOf('ok', 50), begun_at: BEGIN - 60, block_height: 7, ledger_offset: 9 };
  for (const place of [{ block_height: 6 }, { ledger_offset: 8 }]) {
    const slow = { ...known, ...place, begun_at: BEGIN - 70, run_at: BEGIN };
    expect(folded([known, slow]).run).toBe(known);
    const older = { ...slow, begun_at: 0 };
    expect(folded([known, older]).run).toBe(known);
  }
  const forged = { ...known, status: 'mismatch', block_height: 2 ** 50, ledger_offset: 2 ** 50 };
  const next = { ...known, begun_at: BEGIN - 40, run_at: BEGIN };
  expect(folded([known, forged]).run).toBe(forged);
  expect(folded([known, forged, next]).run).toBe(next);
});

const OURS = new MintSigner(`0x${'51'.repeat(32)}`, 1);
const THEIRS = new MintSigner(`0x${'52'.repeat(32)}`, 1);

type Runs = readonly ReserveReconciled[];

/** The log with one more run, which is signed for its end; `after`: what came first. */
function signed(log: Runs, run: ReserveReconciled, { by = OURS, after = log } = {}): Runs {
  const placed = { ...run, sequence: log.length, previous: plainHead(log) };
  return [...after, { ...placed, signature: by.signRun(placed) }];
}

/** A run of the time since which so many milliseconds have passed, of that time's block. */
function runFrom(status: string, age: number): ReserveReconciled {
  return { ...runOf(status, age), begun_at: BEGIN - age - 1, block_height: 10 ** 6 - age };
}

const FORGED = { ...runFrom('ok', 0), run_id: 'forged' };

describe('a run is an own one with the signature of the authority at its place in the log', () => {
  const own = (log: Runs): ReserveReconciled | undefined => folded(log, OURS.address).own;
  const first: Runs = [FORGED];

  test('the newest of them counts, of whatever process', () => {
    const one = signed(first, runFrom('mismatch', 90));
    expect(own(one)).toBe(one[1]);
    const two = signed(one, runFrom('ok', 80));
    expect(own([...two, FORGED])).toBe(two[2]);
    const fromBegin = signed([], runFrom('ok', 90));
    expect(own(fromBegin)).toBe(fromBegin[0]);
  });

  test('an unsigned run, one of another key and one that was changed are none', () => {
    expect(own(first)).toBe(undefined);
    const foreign = signed(first, runFrom('ok', 90), { by: THEIRS });
    expect(own(foreign)).toBe(undefined);
    expect(folded(foreign, THEIRS.address).own).toBe(foreign[1]);
    expect(folded(foreign).own).toBe(undefined);
    const [, mismatch] = signed(first, runFrom('mismatch', 90));
    if (mismatch === undefined) throw new Error('there is no run');
    expect(own([...first, { ...mismatch, status: 'ok' }])).toBe(undefined);
  });

  test('a copy of a run that is ok is none, with its own place or with that of the copy', () => {
    const log = signed(signed(first, runFrom('ok', 90)), runFrom('mismatch', 80));
    const [, ok, mismatch] = log;
    if (ok === undefined) throw new Error('there is no run');
    expect(own([...log, ok])).toBe(mismatch);
    expect(own([...log, { ...ok, sequence: 3, previous: plainHead(log) }])).toBe(mismatch);
    expect(own([...log, { ...ok, sequence: 3, previous: Buffer.alloc(0) }])).toBe(mismatch);
    // where the log has another record before it
    expect(() => own([{ ...FORGED, held: 1n }, ok])).toThrow(BrokenChain);
  });

  test('a run behind another one than its writer saw does not open the gate, and closes it', () => {
    const before = signed(first, runFrom('ok', 90));
    const after = [...before, FORGED];
    const passed = signed(before, runFrom('ok', 80), { after });
    expect(own(passed)).toBe(before[1]);
    const closing = signed(before, runFrom('mismatch', 80), { after });
    expect(own([...closing, FORGED])).toBe(closing[3]);
  });

  test('a copy of a mismatch that a later own run ended closes nothing', () => {
    const log = signed(signed(first, runFrom('mismatch', 90)), runFrom('ok', 80));
    expect(own([...log, ...log.slice(1, 2)])).toBe(log[2]);
  });

  test('at the start it is found at the end of the log, and later wherever it comes', () => {
    const log = signed(first, runFrom('ok', 90));
    const forged = (count: number): Runs =>
      Array.from({ length: count }, () => ({ ...runFrom('mismatch', 80), run_id: 'forged' }));
    expect(own([...log, ...forged(99)])).toBe(log[1]);
    expect(own([...log, ...forged(100)])).toBe(undefined);
  });
});

test('the signature is over every field of the schema but itself', () => {
  for (const { type, avsc } of RESERVE_RUNS.events) {
    const { fields }: { fields: { name: string }[] } = JSON.parse(readFileSync(avsc, 'utf8'));
    const names = fields.map(({ name }) => name).filter((name) => name !== 'signature');
    const zeros = Object.fromEntries(names.map((name) => [name, 0]));
    const run: ReserveReconciled = JSON.parse(JSON.stringify({ ...zeros, type }));
    const lines = decisionText(run).split('\n').slice(2);
    expect(lines.toSorted()).toEqual(names.map((name) => `${name}: 0`).toSorted());
  }
});
