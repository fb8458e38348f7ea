/** One decision of several deposits: it counts as it was signed, for all of them, or not at all. */
import { beforeEach, describe, expect, test } from 'vitest';
import { decideTogether } from '../../../../projections/deposits/domain/approval.ts';
import {
  depositEventsIn,
  type DepositsDecided,
  type TreasuryEvent,
} from '../../../../schemas/treasury.ledger/events.ts';
import { decisionText } from '../../../../schemas/operator-signature.ts';
import { decidedEvent, depositEvents } from '../../../support/deposit-events.ts';
import { BEGIN, MintLedger, NOBODY, USD } from '../../../support/mint-ledger.ts';
import {
  addressOf,
  alice,
  authority,
  bob,
  BY,
  mallory,
  signed,
} from '../../../support/operators.ts';
import { Random } from '../../../support/random.ts';

const LEDGER_ID = Buffer.alloc(32, 0x1d);
const NO_BYTES = Buffer.alloc(0);
const PERSON = { actor: 'alice', reason: 'dust', now: BEGIN };

let made = new MintLedger();

/** A pinned ledger in which two operators approve a credit above 2,000 USDT. */
function pinned(ledger_id = LEDGER_ID): MintLedger {
  const ledger = new MintLedger();
  ledger.setPolicy({ first_fee: 0n, later_fee: 0n });
  const operators = [alice, bob].map(addressOf);
  const pin = {
    ledger_id,
    network: 'testnet',
    chain_id: 7777,
    usdt_contract: Buffer.alloc(20, 5),
    authority: addressOf(authority),
  };
  const place = { sequence: 2, decided_at: BEGIN };
  ledger.writeAll([
    { type: 'OperatorsSet', ...BY, version: 1, operators, two_above: 2_000n * USD },
    signed({ type: 'LedgerPinned', ...place, ...pin }, authority),
  ]);
  return ledger;
}

beforeEach(() => {
  made = pinned();
});

function signedNext(event: DepositsDecided, wallet = alice): DepositsDecided {
  return signed({ ...event, sequence: made.log.length }, wallet, LEDGER_ID);
}

function statesOf(ids: readonly string[], { ledger } = made): readonly unknown[] {
  return ids.map((id) => ledger.deposit(id));
}

/** Folded where it says that it belongs, or at the end. */
function fold(event: TreasuryEvent, { ledger } = made): 'applied' | 'replayed' | 'ignored' {
  return ledger.apply(event, BigInt(event.sequence));
}

describe('a decision of several deposits', () => {
  test('rejects all of them by one record, and leaves every other one as it is', () => {
    const dust = [1n, 2n, 3n].map((amount) => made.deposit(amount));
    const real = made.deposit(USD / 2n);
    const before = made.log.length;
    expect(made.write(signedNext(decidedEvent('reject', made.ledger, dust)))).toBe('applied');
    expect(made.log).toHaveLength(before + 1);
    for (const id of dust)
      expect(made.ledger.deposit(id)).toMatchObject({ status: 'needs_manual', rejected: true });
    expect(made.ledger.deposit(real)).toMatchObject({ status: 'needs_manual', rejected: false });
  });

  test('approves all of them, each for its place in the queue', () => {
    const ids = [USD / 2n, 1_500n * USD, 1n].map((amount) => made.deposit(amount));
    expect(made.write(signedNext(decidedEvent('approve', made.ledger, ids)))).toBe('applied');
    expect([...made.ledger.waiting].map(({ deposit_id: depositId }) => depositId)).toEqual(ids);
  });

  test('is of an amount, which its text names: other sums have no effect', () => {
    const ids = [made.deposit(4n), made.deposit(5n)];
    const event = decidedEvent('reject', made.ledger, ids);
    expect(decisionText(event, LEDGER_ID).split('\n')).toEqual([
      'CLT treasury',
      'DepositsDecided',
      'sequence: 0',
      `decided_at: ${BEGIN}`,
      'actor: "alice"',
      'reason: "dust"',
      'decision: "reject"',
      expect.stringMatching(/^deposit_ids: 2, SHA-256 0x[0-9a-f]{64}$/),
      'gross: 9',
      'credit: 9',
      `ledger: 0x${LEDGER_ID.toString('hex')}`,
    ]);
    const before = statesOf(ids);
    for (const other of [{ gross: 8n }, { credit: 0n }, { gross: 10n, credit: 10n }])
      expect(made.write(signedNext({ ...event, ...other }))).toBe('ignored');
    expect(statesOf(ids)).toEqual(before);
    expect(made.ledger.governance.refused).toEqual({ unsigned: 0, foreign_signature: 0 });
    expect(made.write(signedNext(event))).toBe('applied');
  });

  test.each([
    ['is approved and waits', (id: string) => depositEvents(id).approved()],
    ['is rejected', (id: string) => depositEvents(id).rejected()],
  ] as const)('has no effect on any where one of them %s', (_what, changed) => {
    const ids = [3n, 4n, 5n].map((amount) => made.deposit(amount));
    const event = decidedEvent('reject', made.ledger, ids);
    made.writeAll([
      signed({ ...changed(ids[1] ?? ''), sequence: made.log.length }, bob, LEDGER_ID),
    ]);
    const before = statesOf(ids);
    expect(made.write(signedNext(event))).toBe('ignored');
    expect(statesOf(ids)).toEqual(before);
  });

  test('releases no mint in flight', () => {
    const [held, minting] = [made.deposit(3n), made.deposit(8n * USD)];
    const { nonce, to, amount } = {
      nonce: 0,
      to: Buffer.alloc(20, 0xc1),
      amount: 8n * USD,
    };
    const intent = depositEvents(minting).intended({
      nonce,
      to,
      amount,
      tx_hash: Buffer.alloc(32, 7),
    });
    const placed = { ...intent, fee: 0n, sequence: made.log.length };
    made.writeAll([signed(placed, authority, LEDGER_ID)]);
    const event = decidedEvent('reject', made.ledger, [held, minting]);
    expect(made.write(signedNext(event))).toBe('ignored');
    expect(made.ledger.live.size).toBe(1);
    expect(made.ledger.deposit(held)).toMatchObject({ rejected: false });
  });

  test('approves a credit above the amount for two operators only with both', () => {
    const [small, large] = [made.deposit(1_500n * USD), made.deposit(3_000n * USD)];
    const event = decidedEvent('approve', made.ledger, [small, large]);
    expect(made.write(signedNext(event, alice))).toBe('applied');
    expect(made.ledger.deposit(small)).toMatchObject({ status: 'confirmed', approved: true });
    expect(made.ledger.deposit(large)).toMatchObject({ status: 'needs_manual' });
    const rest = decidedEvent('approve', made.ledger, [large]);
    expect(made.write(signedNext(rest, alice))).toBe('ignored');
    expect(made.write(signedNext(rest, bob))).toBe('applied');
    expect(made.ledger.deposit(large)).toMatchObject({ status: 'confirmed', approved: true });
  });

  test('is nothing for an unknown deposit, none, one twice, another decision or a stranger', () => {
    const [one, two] = [made.deposit(1n), made.deposit(2n)];
    const event = decidedEvent('reject', made.ledger, [one, two]);
    const before = statesOf([one, two]);
    for (const change of [
      { deposit_ids: [one, two, NOBODY] },
      { deposit_ids: [], gross: 0n, credit: 0n },
      { deposit_ids: [one, one], gross: 2n, credit: 2n },
      { decision: 'release' },
    ])
      expect(made.write(signedNext({ ...event, ...change }))).toBe('ignored');
    expect(made.write(signedNext(event, mallory))).toBe('ignored');
    expect(made.write({ ...event, sequence: made.log.length })).toBe('ignored');
    expect(statesOf([one, two])).toEqual(before);
    expect(made.ledger.governance.refused).toEqual({ unsigned: 1, foreign_signature: 1 });
  });
});

/** Records that somebody without a key makes of a signed one. */
const FORGERIES: Readonly<
  Record<
    string,
    (event: DepositsDecided, others: readonly string[], random: Random) => TreasuryEvent
  >
> = {
  'a part cut out': (event, _others, random) => {
    const deposit_ids = event.deposit_ids.filter(() => random.chance(0.5));
    return { ...event, deposit_ids: deposit_ids.slice(0, event.deposit_ids.length - 1) };
  },
  'another order': (event) => ({ ...event, deposit_ids: event.deposit_ids.toReversed() }),
  'one twice': (event) => ({
    ...event,
    deposit_ids: [...event.deposit_ids, ...event.deposit_ids.slice(0, 1)],
  }),
  'one more': (event, others, random) => ({
    ...event,
    deposit_ids: [...event.deposit_ids, random.pick(others)],
  }),
  'one replaced': (event, others, random) => ({
    ...event,
    deposit_ids: [random.pick(others), ...event.deposit_ids.slice(1)],
  }),
  'the other decision': (event) => ({
    ...event,
    decision: event.decision === 'approve' ? 'reject' : 'approve',
  }),
  'its signature on one of them': (event, _others, random) => {
    const one = random.pick(depositEventsIn(event));
    return { ...one, signature: event.signature ?? NO_BYTES };
  },
  'another person': (event) => ({ ...event, actor: 'mallory' }),
  'another time': (event) => ({ ...event, decided_at: event.decided_at + 1 }),
};

/** With the sums of the deposits that it names now, so that nothing but the signature is wrong. */
function summed(event: TreasuryEvent): TreasuryEvent {
  if (event.type !== 'DepositsDecided') return event;
  const { gross, credit } = decidedEvent('reject', made.ledger, event.deposit_ids);
  return { ...event, gross, credit };
}

test.each(Array.from({ length: 40 }, (_, seed) => seed))(
  'no change of a signed decision has an effect, nor its use at another place (seed %i)',
  (seed) => {
    const random = new Random(seed);
    const all = Array.from({ length: 3 + random.below(8) }, () =>
      made.deposit(BigInt(1 + random.below(900_000))),
    );
    const ids = all.slice(0, 2 + random.below(all.length - 2));
    const others = all.filter((id) => !ids.includes(id));
    const verb = random.pick(['approve', 'reject'] as const);
    const event = signedNext(decidedEvent(verb, made.ledger, ids));
    const before = statesOf(all);
    for (const [what, forge] of Object.entries(FORGERIES)) {
      if (others.length === 0 && what.startsWith('one ')) continue;
      const isSingle = what === 'its signature on one of them';
      for (const isSummed of [false, true]) {
        // a copy of the ledger as it is, at the offset that was signed
        const copy = pinned();
        for (const each of made.log.slice(3)) copy.ledger.apply(each, copy.ledger.end);
        const forged = forge(event, others, random);
        const written = isSummed && !isSingle ? summed(forged) : forged;
        expect([what, fold(written, copy)]).toEqual([what, 'ignored']);
        expect([what, statesOf(all, copy)]).toEqual([what, before]);
      }
    }
    // the same ledger under another id
    const elsewhere = pinned(Buffer.alloc(32, 0x2e));
    for (const each of made.log.slice(3)) elsewhere.ledger.apply(each, elsewhere.ledger.end);
    expect(fold(event, elsewhere)).toBe('ignored');
    expect(statesOf(all, elsewhere)).toEqual(before);
    // a place before or behind, as it is or renumbered
    made.deposit(USD);
    const late = { ...event, sequence: made.log.length };
    expect(made.ledger.apply(event, made.ledger.end)).toBe('ignored');
    made.log.push(event);
    expect(made.write(late)).toBe('ignored');
    expect(statesOf(all)).toEqual(before);
    // and as it was signed
    const whole = pinned();
    for (const each of made.log.slice(3, event.sequence))
      whole.ledger.apply(each, whole.ledger.end);
    expect(fold(event, whole)).toBe('applied');
    expect(fold(event, whole)).toBe('replayed');
    for (const id of ids)
      expect(whole.ledger.deposit(id)).toMatchObject(
        verb === 'approve'
          ? { status: 'confirmed', approved: true }
          : { status: 'needs_manual', rejected: true },
      );
    expect(statesOf(others, whole)).toEqual(others.map((id) => before[all.indexOf(id)]));
  },
);

describe('a request of a person', () => {
  test('becomes one record of the deposits that wait; the others are named with the reason', () => {
    const [one, two, three, four] = [1n, 2n, 3n, 4n].map((amount) => made.deposit(amount));
    const minted = made.deposit(8n * USD);
    const decided = { ...depositEvents(two ?? '').rejected(), sequence: made.log.length };
    made.writeAll([signed(decided, bob, LEDGER_ID)]);
    const ids = [one, two, three, four, minted, NOBODY].flatMap((id) => id ?? []);
    const made_ = decideTogether('reject', made.ledger, { deposit_ids: ids, ...PERSON });
    expect(made_).toMatchObject({
      events: [
        { type: 'DepositsDecided', decision: 'reject', deposit_ids: [one, three, four], gross: 8n },
      ],
    });
    expect([...made_.left_out]).toEqual([
      [two, 'decided_before'],
      [minted, 'not_waiting_for_a_person'],
      [NOBODY, 'no_such_deposit'],
    ]);
  });

  test('is the record of a single deposit where only one waits, and none where all are decided', () => {
    const [one, two] = [made.deposit(1n), made.deposit(2n)];
    const asked = { deposit_ids: [one, two, one], ...PERSON };
    made.writeAll([
      signed({ ...depositEvents(one).rejected(), sequence: made.log.length }, bob, LEDGER_ID),
    ]);
    expect(decideTogether('reject', made.ledger, asked)).toMatchObject({
      events: [{ type: 'DepositRejected', deposit_id: two }],
    });
    made.writeAll([
      signed({ ...depositEvents(two).rejected(), sequence: made.log.length }, bob, LEDGER_ID),
    ]);
    expect(decideTogether('reject', made.ledger, asked)).toMatchObject({ events: [] });
    expect(decideTogether('approve', made.ledger, asked)).toMatchObject({
      refused: 'rejected_for_good',
    });
  });
});
