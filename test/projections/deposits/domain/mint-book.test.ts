import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { depositEvents } from '../../../support/deposit-events.ts';
import { BEGIN, DAY_MS, HOUR_MS, MintLedger, USD } from '../../../support/mint-ledger.ts';
import { PlainMints } from '../../../support/plain-mints.ts';
import { fixedCases } from '../../../support/fixed-cases.ts';

const OWNER = Buffer.alloc(20, 0xc1);

interface Move {
  readonly kind: 'intend' | 'intend_again' | 'dead' | 'credited' | 'release' | 'policy';
  readonly usd: number;
  /** the nonce is that of the last intent and so much more */
  readonly nonce_step: number;
  /** by the hour, or just about a day after an intent that counted */
  readonly hours: number;
  readonly edge: number | undefined;
  readonly pick: number;
}

const MOVES = fc.array(
  fc.record<Move>({
    kind: fc.constantFrom(
      'intend',
      'intend',
      'intend',
      'intend_again',
      'dead',
      'credited',
      'release',
      'policy',
    ),
    usd: fc.integer({ min: 1, max: 60 }),
    nonce_step: fc.constantFrom(1, 1, 1, 1, 2, 0, -1),
    hours: fc.integer({ min: -30, max: 9 }),
    edge: fc.option(fc.constantFrom(-1, 0, 1), { nil: undefined }),
    pick: fc.nat({ max: 1_000 }),
  }),
  { minLength: 5, maxLength: 60 },
);

/** Plays the moves on the real ledger and on the plain one, side by side. */
class Match {
  readonly real = new MintLedger();
  readonly plain = new PlainMints();
  readonly verdicts = { counted: 0, void: 0, at_edge: 0, released: 0 };
  readonly #minted: {
    readonly id: string;
    readonly sequence: number;
    readonly nonce: number;
    readonly hash: Buffer;
    readonly usd: number;
  }[] = [];
  #nonce = 3;
  #time = BEGIN;

  constructor() {
    this.#setPolicy(100);
  }

  play(move: Move): void {
    const minted = this.#minted[move.pick % Math.max(1, this.#minted.length)];
    if (move.kind === 'policy') return this.#setPolicy(60 + move.usd);
    if (move.kind === 'intend' || minted === undefined)
      return this.#intend(this.real.deposit(BigInt(move.usd) * USD), move);
    if (move.kind === 'intend_again') return this.#intend(minted.id, { ...move, usd: minted.usd });
    const make = depositEvents(minted.id);
    const isLive = this.real.ledger.live.get(minted.nonce)?.tx_hash.equals(minted.hash) === true;
    if (
      move.kind === 'release' &&
      this.real.state(minted.id).status === 'mint_requested' &&
      !isLive
    )
      return;
    const event =
      move.kind === 'dead'
        ? make.dead(minted.hash, minted.nonce)
        : move.kind === 'release'
          ? make.rejected()
          : make.credited(minted.hash);
    expect(this.real.write(event)).toBe(isLive ? 'applied' : 'ignored');
    if (!isLive) return;
    if (move.kind === 'dead') this.plain.giveUp(minted.sequence);
    else if (move.kind === 'credited') this.plain.end(minted.sequence);
    else {
      this.plain.release(minted.sequence);
      this.#nonce = this.plain.lastNonce;
      this.verdicts.released++;
    }
  }

  #setPolicy(usd: number): void {
    this.real.setPolicy({ rolling_cap: BigInt(usd) * USD });
    const [set] = this.real.log.slice(-1);
    if (set?.type === 'PolicySet') expect(this.plain.set(set)).toBe(true);
  }

  #intend(id: string, { usd, nonce_step, hours, edge, pick }: Move): void {
    const nonce = this.#nonce + nonce_step;
    const anchor = this.plain.counted[pick % Math.max(1, this.plain.counted.length)];
    const decided_at =
      edge === undefined || anchor === undefined
        ? this.#time + hours * HOUR_MS
        : anchor.at + DAY_MS + edge;
    const before = this.real.state(id);
    const hash = Buffer.alloc(32);
    hash.writeUInt32BE(this.real.log.length);
    const amount = BigInt(usd) * USD;
    const sequence = this.real.log.length;
    const intent = {
      ...depositEvents(id).intended({ to: OWNER, amount, nonce, tx_hash: hash }),
      sequence,
      decided_at,
    };
    const expected =
      before.status === 'confirmed' &&
      this.plain.take(intent, {
        credit: amount,
        version: before.terms.policy_version,
        approved: before.approved,
      });
    expect(this.real.write(intent)).toBe(expected ? 'applied' : 'ignored');
    this.verdicts[expected ? 'counted' : 'void']++;
    if (edge !== undefined && anchor !== undefined) this.verdicts.at_edge++;
    if (!expected) return;
    this.#nonce = nonce;
    this.#time = Math.max(this.#time, decided_at);
    this.#minted.push({ id, sequence, nonce, hash, usd });
  }
}

test('in any order of events, the intents that count are those of a brute-force reading, to the millisecond', () => {
  const sum = { counted: 0, void: 0, at_edge: 0, released: 0 };
  fc.assert(
    fc.property(MOVES, (moves) => {
      const match = new Match();
      for (const move of moves) match.play(move);
      for (const key of ['counted', 'void', 'at_edge', 'released'] as const)
        sum[key] += match.verdicts[key];
      expect(match.real.ledger.lastNonce).toBe(match.plain.lastNonce);
    }),
    { numRuns: 300, examples: fixedCases(100, MOVES) },
  );
  expect(sum.counted).toBeGreaterThan(200);
  expect(sum.void).toBeGreaterThan(200);
  expect(sum.at_edge).toBeGreaterThan(100);
  expect(sum.released).toBeGreaterThan(30);
});

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
