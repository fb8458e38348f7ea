/** The chain of records of the ledger, in memory and in the read model (LOG-8). */
import { expect, test } from 'vitest';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { deposits } from '../../../projections/deposits/deposits.ts';
import { BrokenChain } from '../../../schemas/hash-chain.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { placed } from '../../support/deposit-events.ts';
import { ledgerLog } from '../../support/deposit-log.ts';
import { plainHash, plainHead } from '../../support/plain-chain.ts';
import { Random } from '../../support/random.ts';
import { FoldedTables } from '../folded-tables.ts';

const SEEDS = Array.from({ length: 10 }, (_, at) => at + 1);

/** Links every record that stands where it was written for, from this offset on. */
function linkedFrom(log: readonly TreasuryEvent[], from: number): readonly TreasuryEvent[] {
  const chained: TreasuryEvent[] = [];
  return log.map((event, offset) => {
    if (event.sequence !== offset) return event;
    const record = offset < from ? event : { ...event, previous: plainHead(chained) };
    chained.push(record);
    return record;
  });
}

function folded(log: readonly TreasuryEvent[]): Ledger {
  const ledger = new Ledger();
  for (const event of log) ledger.apply(event, ledger.end, plainHash(event));
  return ledger;
}

function stored(log: readonly TreasuryEvent[], seed: number): FoldedTables<TreasuryEvent> {
  const random = new Random(seed);
  const made = new FoldedTables<TreasuryEvent>(deposits);
  for (let from = 0; from < log.length;) {
    const events = log.slice(from, from + 1 + random.below(20));
    made.apply({ from, events });
    from += events.length;
  }
  return made;
}

/** Both readers find the log broken, the read model at one offset with all before it applied. */
function expectBroken(log: readonly TreasuryEvent[], seed: number): void {
  expect(() => folded(log)).toThrow(BrokenChain);
  expect(() => stored(log, seed)).toThrow(/names [0-9a-f]{64} .* it is [0-9a-f]{64}/);
}

test.each([0, 30, 59])('a log whose chain begins at offset %i has one head everywhere', (from) => {
  for (const seed of SEEDS) {
    const log = linkedFrom(ledgerLog({ seed, accounts: 5, events: 60 }), from);
    const head = plainHead(log.filter(({ sequence }, offset) => sequence === offset));
    expect(folded(log).head).toEqual(head);
    expect(stored(log, seed).rows('ledger')).toMatchObject([{ head }]);
  }
});

test('records without links go on, and the next link covers them', () => {
  for (const seed of SEEDS) {
    const log = linkedFrom(ledgerLog({ seed, accounts: 5, events: 60 }), 0);
    const gap = log.map((event, at) => (at === 20 ? unlinked(event) : event)).slice(0, 21);
    const longer = [...gap, ...ledgerLog({ seed: seed + 1, accounts: 5, events: 20 })];
    const renumbered = [...gap, ...placed(longer.slice(21), 21)];
    expect(() => folded(linkedFrom(renumbered, 21))).not.toThrow();
  }
});

test('a record that breaks the chain changes nothing, and is refused again', () => {
  const log = linkedFrom(ledgerLog({ seed: 1, accounts: 5, events: 60 }), 0);
  const at = log.findIndex(({ sequence }, offset) => offset > 20 && sequence === offset);
  const ledger = folded(log.slice(0, at));
  const { end, head } = ledger;
  const [event] = log.slice(at);
  if (event === undefined) throw new Error('the log has no record that counts');
  const broken = { ...event, previous: Buffer.alloc(32, 1) };
  for (let times = 0; times < 2; times++)
    expect(() => ledger.apply(broken, BigInt(at), plainHash(broken))).toThrow(BrokenChain);
  expect([ledger.end, ledger.head]).toEqual([end, head]);
  expect(ledger.apply(event, BigInt(at), plainHash(event))).not.toBe('replayed');
});

function changedAt(log: readonly TreasuryEvent[], at: number): readonly TreasuryEvent[] {
  const event = log[at];
  return event === undefined ? log : log.with(at, { ...event, decided_at: 7 });
}

function unlinked({ previous: _previous, ...event }: TreasuryEvent): TreasuryEvent {
  return event;
}

/** At the offsets of two neighbours that are both records of the chain, not the last ones. */
function neighbours(log: readonly TreasuryEvent[], random: Random): number {
  const places = log.flatMap((event, at) =>
    event.sequence === at && log[at + 1]?.sequence === at + 1 && at + 2 < log.length - 8
      ? [at]
      : [],
  );
  return random.pick(places);
}

const REWRITES: readonly (readonly [
  string,
  (log: readonly TreasuryEvent[], at: number) => readonly TreasuryEvent[],
])[] = [
  ['changed', changedAt],
  ['removed, with those behind it moved up', (log, at) => placed(log.toSpliced(at, 1))],
  [
    'moved behind the next one',
    (log, at) => {
      const [one, other] = log.slice(at, at + 2);
      if (one === undefined || other === undefined) throw new Error('there are no two');
      return log.toSpliced(at, 2, { ...other, sequence: at }, { ...one, sequence: at + 1 });
    },
  ],
];

test.each(REWRITES)(
  'a record that was %s is found by the ledger and by the read model',
  (_, rewrite) => {
    for (const seed of SEEDS) {
      const log = linkedFrom(ledgerLog({ seed, accounts: 5, events: 60 }), 0);
      expectBroken(rewrite(log, neighbours(log, new Random(seed))), seed);
    }
  },
);

test('a record before the chain begins is covered by the first link', () => {
  for (const seed of SEEDS) {
    const log = linkedFrom(ledgerLog({ seed, accounts: 5, events: 60 }), 40);
    const at = log.findIndex(({ sequence }, offset) => sequence === offset);
    expectBroken(changedAt(log, at), seed);
  }
});

test('a record that lost a race is no part of the chain', () => {
  const log = linkedFrom(ledgerLog({ seed: 3, accounts: 5, events: 60 }), 0);
  const lost = log.findIndex(({ sequence }, offset) => sequence !== offset);
  expect(lost).toBeGreaterThan(0);
  expect(folded(changedAt(log, lost)).head).toEqual(folded(log).head);
});

test('a read model that continues finds changed records before its checkpoint by the next link', () => {
  for (const seed of SEEDS) {
    const log = linkedFrom(ledgerLog({ seed, accounts: 5, events: 60 }), 0);
    const at = log.findIndex(({ sequence }, offset) => sequence === offset);
    const anew = linkedFrom(changedAt(log, at), 0);
    expect(() => folded(anew)).not.toThrow();
    const made = new FoldedTables<TreasuryEvent>(deposits);
    made.apply({ events: log.slice(0, 30) });
    expect(() => made.apply({ from: 30, events: anew.slice(30) })).toThrow(/names/);
  }
});
