import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  MintBook,
  WINDOW_MS,
  type CountedMint,
} from '../../../../projections/deposits/domain/mint-book.ts';
import type { MintIntended, TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { depositEvents } from '../../../support/deposit-events.ts';
import { BEGIN, DAY_MS, HOUR_MS, MintLedger, USD } from '../../../support/mint-ledger.ts';

const OWNER = Buffer.alloc(20, 0xc1);

function intentOf(
  id: string | undefined,
  amount: bigint,
  nonce: number,
  decided_at: number,
): TreasuryEvent {
  return {
    ...depositEvents(id ?? '').intended({
      to: OWNER,
      amount,
      nonce,
      tx_hash: Buffer.alloc(32, 10 + nonce),
    }),
    decided_at,
  };
}

/** A book in which so much was minted at the beginning, under a rolling cap of 100. */
function bookWith(usd: number): MintLedger {
  const made = new MintLedger();
  made.setPolicy({ rolling_cap: 100n * USD });
  const id = made.deposit(BigInt(usd) * USD);
  made.writeAll([
    {
      ...depositEvents(id).intended({
        to: OWNER,
        amount: BigInt(usd) * USD,
        nonce: 0,
        tx_hash: Buffer.alloc(32, 1),
      }),
      decided_at: BEGIN,
    },
  ]);
  return made;
}

test.each([
  ['a millisecond before a day has passed', DAY_MS - 1, 40n, 'ignored'],
  ['just a day later, when the older one has left', DAY_MS, 100n, 'applied'],
  ['a millisecond later still', DAY_MS + 1, 100n, 'applied'],
] as const)('%s', (_when, after, left, verdict) => {
  const made = bookWith(60);
  expect(made.ledger.leftAt(BEGIN + after)).toBe(left * USD);
  const id = made.deposit(41n * USD);
  const verdictOf = made.write(intentOf(id, 41n * USD, 1, BEGIN + after));
  expect(verdictOf).toBe(verdict);
});

test('a mint that just fills the cap counts, one micro-USDT more does not', () => {
  const made = bookWith(60);
  const more = made.deposit(40n * USD + 1n);
  const just = made.deposit(40n * USD);
  expect(made.write(intentOf(more, 40n * USD + 1n, 1, BEGIN))).toBe('ignored');
  expect(made.write(intentOf(just, 40n * USD, 1, BEGIN))).toBe('applied');
});

test('a slow clock cannot move the window back, and a void intent with a fast one cannot move it on', () => {
  const made = bookWith(60);
  const [late, slow, fast, last] = [40n, 60n, 101n, 60n].map((usd) => made.deposit(usd * USD));
  expect(made.write(intentOf(late, 40n * USD, 1, BEGIN + HOUR_MS))).toBe('applied');
  // by its own clock nothing has been minted yet
  expect(made.write(intentOf(slow, 60n * USD, 2, BEGIN - DAY_MS))).toBe('ignored');
  expect(made.write(intentOf(fast, 101n * USD, 2, BEGIN + 30 * DAY_MS))).toBe('ignored');
  expect(made.write(intentOf(last, 60n * USD, 2, BEGIN + 2 * HOUR_MS))).toBe('ignored');
  expect(made.write(intentOf(last, 60n * USD, 2, BEGIN + DAY_MS))).toBe('applied');
});

test('dead, failed and released mints leave the window, credited ones stay', () => {
  for (const [end, left] of [
    ['dead', 100n],
    ['failed', 100n],
    ['released', 100n],
    ['credited', 40n],
  ] as const) {
    const made = bookWith(60);
    const make = depositEvents([...made.ledger.deposits.keys()][0] ?? '');
    const hash = Buffer.alloc(32, 1);
    made.writeAll([
      end === 'dead'
        ? make.dead(hash, 0)
        : end === 'failed'
          ? make.held('mint_failed')
          : end === 'released'
            ? make.rejected()
            : make.credited(hash),
    ]);
    expect(made.ledger.leftAt(BEGIN)).toBe(left * USD);
  }
});

/** An intent that a book counts, dated by its writer. */
function counted(sequence: number, decided_at: number, amount = 1n): MintIntended {
  const of = { to: OWNER, amount, nonce: sequence, tx_hash: Buffer.alloc(32, 1) };
  return { ...depositEvents('a').intended(of), sequence, decided_at };
}

test('mints that a void one had moved out of the window are in it again', () => {
  for (const after of [-1, 0, 1]) {
    const book = new MintBook();
    book.count(counted(1, BEGIN));
    book.count(counted(2, BEGIN + HOUR_MS));
    book.count(counted(3, BEGIN + DAY_MS + after));
    const left = after < 0 ? [1, 2, 3] : [2, 3];
    expect([...book.counted].map(({ sequence }) => sequence)).toEqual(left);
    book.unmake(3);
    expect(book.time).toBe(BEGIN + HOUR_MS);
    expect([...book.counted].map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(book.leftAt(BEGIN)).toBe(-2n);
    expect(book.leftAt(BEGIN + DAY_MS)).toBe(-1n);
  }
});

test('a mint at the edge of the window comes back when the one a day later is void', () => {
  const book = new MintBook();
  for (const [at, days] of [0, 1, 2].entries()) book.count(counted(at, BEGIN + days * DAY_MS));
  const left = [2, 1, 0].map((sequence) => {
    const before = [...book.counted].map((mint) => mint.sequence);
    book.unmake(sequence);
    return before;
  });
  expect(left).toEqual([[2], [1], [0]]);
});

const steps = fc.array(
  fc.oneof(
    // hours around the edges of windows, and just beside them
    fc.record({
      act: fc.constant('count' as const),
      hours: fc.constantFrom(0, 1, 23, 24, 25, 48, 49, 72),
      beside: fc.constantFrom(-1, 0, 0, 1),
      amount: fc.integer({ min: 1, max: 50 }),
    }),
    fc.record({ act: fc.constantFrom('unmake', 'give_up'), which: fc.nat(20) }),
  ),
  { maxLength: 40 },
);

test('a book is what its mints make it, whatever was void or given up, and whoever dated it', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 100 }), (taken, hours) => {
      const book = new MintBook();
      let mints: readonly CountedMint[] = [];
      let time = 0;
      for (const [sequence, step] of taken.entries()) {
        if ('hours' in step) {
          time = Math.max(time, BEGIN + step.hours * HOUR_MS + step.beside);
          const amount = BigInt(step.amount);
          const mint = { sequence, amount, at: time };
          const intent = counted(sequence, BEGIN + step.hours * HOUR_MS + step.beside, amount);
          expect(book.count(intent)).toEqual(mint);
          mints = mints.concat(mint);
        } else {
          const gone = mints[step.which % Math.max(1, mints.length)]?.sequence ?? -1;
          mints = mints.filter((mint) => mint.sequence !== gone);
          if (step.act === 'give_up') book.giveUp(gone);
          else {
            book.unmake(gone);
            time = mints.reduce((newest, { at }) => Math.max(newest, at), 0);
          }
        }
        expect(book.time).toBe(time);
        expect([...book.counted]).toEqual(mints.filter(({ at }) => at > time - WINDOW_MS));
      }
      const now = Math.max(time, BEGIN + hours * HOUR_MS);
      const inWindow = mints.filter(({ at }) => at > now - WINDOW_MS);
      expect(-book.leftAt(now)).toBe(inWindow.reduce((sum, { amount }) => sum + amount, 0n));
    }),
  );
});
