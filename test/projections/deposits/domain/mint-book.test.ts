import { expect, test } from 'vitest';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
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
