import { readFileSync } from 'node:fs';
import type { Wallet } from 'ethers';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  decisionText,
  signerOf,
  type SignedDecision,
} from '../../../../schemas/operator-signature.ts';
import type { MintIntended, TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { bytesKey } from '../../../../schemas/address.ts';
import { TREASURY_LEDGER } from '../../../../schemas/topics.ts';
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { confirmedEvent, depositEvents } from '../../../support/deposit-events.ts';
import { addressOf, alice, bob, mallory, signed } from '../../../support/operators.ts';

const NOW = 1_790_000_000_000;

let ledger = new Ledger();
beforeEach(() => {
  ledger = new Ledger();
});

/** Writes the event for the end of the ledger, signed by `wallet` if given. */
function tell(event: TreasuryEvent, wallet?: Wallet): 'applied' | 'replayed' | 'ignored' {
  const placed = { ...event, sequence: Number(ledger.end) };
  const isSigned = wallet !== undefined && ('actor' in placed || placed.type === 'PolicySet');
  return ledger.apply(isSigned ? signed(placed, wallet) : placed, ledger.end);
}

const by = { sequence: 0, decided_at: NOW, actor: 'a person', reason: 'a reason' };
const POLICY: TreasuryEvent = {
  type: 'PolicySet',
  sequence: 0,
  decided_at: NOW,
  version: 1,
  network: 'testnet',
  first_fee: 2_000_000n,
  later_fee: 500_000n,
  minimum: 1_000_000n,
  single_cap: 5_000_000n,
  rolling_cap: 5_000_000_000n,
};

function operators(version: number, wallets: readonly Wallet[], two_above = 0n): TreasuryEvent {
  return { type: 'OperatorsSet', ...by, version, operators: wallets.map(addressOf), two_above };
}

function authority(version: number, byte: number): TreasuryEvent {
  return { type: 'AuthoritySet', ...by, version, authority: Buffer.alloc(20, byte) };
}

const { deposit_id: depositId } = confirmedEvent();
const events = depositEvents(depositId);

/** A deposit of 8 USDT credit that is held for a person. */
function holdDeposit(): void {
  expect(tell(confirmedEvent())).toBe('applied');
  expect(tell(events.held('over_single_cap'))).toBe('applied');
}

function intend(nonce: number): 'applied' | 'replayed' | 'ignored' {
  const { clt_address: cltAddress, credit: amount } = confirmedEvent();
  return tell(
    events.intended({ to: cltAddress, amount, nonce, tx_hash: Buffer.alloc(32, nonce + 1) }),
  );
}

describe('operators', () => {
  test('before the first list the decisions of persons count without signatures', () => {
    tell(POLICY);
    holdDeposit();
    expect(tell(events.approved())).toBe('applied');
    expect(ledger.deposit(depositId)).toMatchObject({ status: 'confirmed', approved: true });
  });

  test('an approval counts with the signature of a listed operator only', () => {
    tell(POLICY);
    expect(tell(operators(1, [alice]))).toBe('applied');
    holdDeposit();
    expect(tell(events.approved())).toBe('ignored');
    expect(tell(events.approved(), mallory)).toBe('ignored');
    expect(ledger.governance.refused).toEqual({ unsigned: 1, foreign_signature: 1 });
    expect(tell(events.approved(), alice)).toBe('applied');
    expect(ledger.deposit(depositId)).toMatchObject({ status: 'confirmed', approved: true });
  });

  test('a signature for another position in the ledger does not count', () => {
    tell(POLICY);
    tell(operators(1, [alice]));
    holdDeposit();
    const earlier = signed({ ...events.approved(), sequence: 3 }, alice);
    expect(ledger.apply({ ...earlier, sequence: 4 }, 4n)).toBe('ignored');
  });

  test('a signature does not cover another actor, reason or deposit', () => {
    const decision = signed(events.approved(), alice);
    expect(signerOf(decision)).toEqual(addressOf(alice));
    expect(signerOf({ ...decision, actor: 'bob' })).not.toEqual(addressOf(alice));
    expect(signerOf({ ...decision, reason: '' })).not.toEqual(addressOf(alice));
    const other = { ...decision, deposit_id: '6db65fd5-9fd3-86f6-b291-40571b5bcd6b' };
    expect(signerOf(other)).not.toEqual(addressOf(alice));
  });

  test('every field of a schema is signed, but the signature, the hash and later fields', () => {
    for (const { type, avsc } of TREASURY_LEDGER.events) {
      const { fields }: { fields: { name: string }[] } = JSON.parse(readFileSync(avsc, 'utf8'));
      const names = fields.map(({ name }) => name);
      if (!names.includes('signature')) continue;
      const zeros = Object.fromEntries(names.map((name) => [name, 0]));
      const decision: SignedDecision = JSON.parse(JSON.stringify({ ...zeros, type }));
      const lines = decisionText(decision).split('\n').slice(2);
      const expected = names.filter((name) => !['signature', 'previous'].includes(name));
      expect(lines.toSorted()).toEqual(expected.map((name) => `${name}: 0`).toSorted());
    }
  });

  test('a value with a line break does not read like another field', () => {
    const one = decisionText({ ...events.approved(), actor: 'a\nreason: "b"', reason: 'c' });
    const other = decisionText({ ...events.approved(), actor: 'a', reason: 'b' });
    expect(one.split('\n')).toHaveLength(other.split('\n').length);
  });

  test('the next list is signed by an operator in force, and replaces it', () => {
    tell(operators(1, [alice]));
    expect(tell(operators(2, [bob]))).toBe('ignored');
    expect(tell(operators(2, [bob]), bob)).toBe('ignored');
    expect(tell(operators(3, [bob]), alice)).toBe('ignored');
    expect(tell(operators(2, [bob]), alice)).toBe('applied');
    expect(tell(operators(3, [alice]), alice)).toBe('ignored');
  });

  test('a list that is empty, repeats a key or cannot give two approvals does not count', () => {
    expect(tell(operators(1, []))).toBe('ignored');
    expect(tell(operators(1, [alice, alice]))).toBe('ignored');
    expect(tell(operators(1, [alice], 1n))).toBe('ignored');
    expect(tell(operators(1, [alice, bob], 1n))).toBe('applied');
  });

  test('a credit above the amount needs two different operators', () => {
    tell(POLICY);
    tell(operators(1, [alice, bob], 7_999_999n));
    holdDeposit();
    expect(tell(events.approved(), alice)).toBe('applied');
    expect(ledger.deposit(depositId)).toMatchObject({ status: 'needs_manual', rejected: false });
    expect(tell(events.approved(), alice)).toBe('ignored');
    expect(intend(0)).toBe('ignored');
    expect(tell(events.approved(), bob)).toBe('applied');
    expect(intend(0)).toBe('applied');
  });

  test('the approval of an operator who was replaced since does not count', () => {
    tell(POLICY);
    tell(operators(1, [alice, mallory], 7_999_999n));
    holdDeposit();
    expect(tell(events.approved(), mallory)).toBe('applied');
    expect(tell(operators(2, [alice, bob], 7_999_999n), alice)).toBe('applied');
    expect(tell(events.approved(), alice)).toBe('applied');
    expect(ledger.deposit(depositId)).toMatchObject({
      status: 'needs_manual',
      approved_by: [bytesKey(addressOf(alice))],
    });
    expect(tell(events.approved(), bob)).toBe('applied');
    expect(ledger.deposit(depositId)).toMatchObject({ status: 'confirmed', approved: true });
  });

  test('a credit of just the amount needs one operator', () => {
    tell(POLICY);
    tell(operators(1, [alice, bob], 8_000_000n));
    holdDeposit();
    expect(tell(events.approved(), alice)).toBe('applied');
    expect(ledger.deposit(depositId)).toMatchObject({ status: 'confirmed', approved: true });
  });

  test('later limits need a signature, the first do not', () => {
    tell(operators(1, [alice]));
    expect(tell(POLICY)).toBe('applied');
    const next = { ...POLICY, version: 2, rolling_cap: 5_000_000n };
    expect(tell(next)).toBe('ignored');
    expect(tell({ ...next, actor: 'alice', reason: 'less' }, alice)).toBe('applied');
    expect(ledger.policy?.rolling_cap).toBe(5_000_000n);
  });
});

describe('mint authority', () => {
  beforeEach(() => {
    tell(POLICY);
    tell(operators(1, [alice]));
    tell(authority(1, 1));
    holdDeposit();
    tell(events.approved(), alice);
  });

  test('it is rotated by a signed event while no mint is in flight, and nonces begin again', () => {
    expect(intend(7)).toBe('applied');
    expect(tell(authority(2, 2), alice)).toBe('ignored');
    tell(events.dead(Buffer.alloc(32, 8), 7));
    expect(tell(authority(2, 2))).toBe('ignored');
    expect(tell(authority(2, 2), mallory)).toBe('ignored');
    expect(tell(authority(2, 2), alice)).toBe('applied');
    expect(ledger.governance.authority?.authority).toEqual(Buffer.alloc(20, 2));
    expect(ledger.last_nonce).toBe(-1);
    expect(intend(0)).toBe('applied');
  });

  test('the first is the key of the mints before: their nonces stay used, also while one is in flight', () => {
    ledger = new Ledger();
    tell(POLICY);
    tell(confirmedEvent({ gross: 6_000_000n, credit: 4_000_000n }));
    const amount = 4_000_000n;
    const { clt_address: cltAddress } = confirmedEvent();
    const tx_hash = Buffer.alloc(32, 1);
    expect(tell(events.intended({ to: cltAddress, amount, nonce: 7, tx_hash }))).toBe('applied');
    tell(operators(1, [alice]));
    expect(tell(authority(1, 1))).toBe('applied');
    expect(ledger.last_nonce).toBe(7);
  });

  test('a mint that no block takes is released by a signed event, and the authority rotated', () => {
    expect(intend(2 ** 50)).toBe('applied');
    const [mint] = ledger.live.values();
    expect(tell(events.rejected())).toBe('ignored');
    expect(tell(events.rejected(), mallory)).toBe('ignored');
    expect(tell(events.rejected(), alice)).toBe('applied');
    expect([...ledger.live.keys()]).toEqual([]);
    expect(ledger.givenUp(depositId)).toEqual([mint]);
    expect(ledger.deposit(depositId)).toMatchObject({ status: 'needs_manual', rejected: true });
    expect(tell(events.approved(), alice)).toBe('ignored');
    expect(tell(events.credited(Buffer.alloc(32, 2 ** 50 + 1)))).toBe('ignored');
    expect(tell(events.refunded(10_000_000n), alice)).toBe('applied');
    expect(tell(authority(2, 2), alice)).toBe('applied');
  });

  test('a stranger who names the first while a mint is in flight is rotated out after a release', () => {
    ledger = new Ledger();
    tell(POLICY);
    tell(confirmedEvent({ gross: 6_000_000n, credit: 4_000_000n }));
    const { clt_address: cltAddress } = confirmedEvent();
    tell(
      events.intended({
        to: cltAddress,
        amount: 4_000_000n,
        nonce: 7,
        tx_hash: Buffer.alloc(32, 1),
      }),
    );
    tell(operators(1, [alice]));
    expect(tell(authority(1, 0xee))).toBe('applied');
    expect(tell(authority(2, 1), alice)).toBe('ignored');
    expect(tell(events.rejected(), alice)).toBe('applied');
    expect(tell(authority(2, 1), alice)).toBe('applied');
    expect(ledger.governance.authority?.authority).toEqual(Buffer.alloc(20, 1));
  });

  test('mints of the authority before stay in the window of the rolling cap', () => {
    const mint = { tx_hash: Buffer.alloc(32, 1) };
    expect(intend(0)).toBe('applied');
    tell(events.credited(mint.tx_hash));
    const before = ledger.leftAt(NOW);
    tell(authority(2, 2), alice);
    expect(ledger.leftAt(NOW)).toBe(before);
  });
});

describe('money outside of deposits', () => {
  const acknowledged: TreasuryEvent = {
    type: 'MintAcknowledged',
    ...by,
    tx_hash: Buffer.alloc(32, 0xf0),
    to: Buffer.alloc(20, 3),
    amount: 5n,
    block_height: 9,
  };

  test('without operators nobody can acknowledge, book or pin a baseline', () => {
    expect(tell(acknowledged)).toBe('ignored');
    expect(tell(acknowledged, alice)).toBe('ignored');
    expect(tell({ type: 'SurplusBooked', ...by, amount: 1n }, alice)).toBe('ignored');
  });

  test('a foreign Mint is acknowledged once', () => {
    tell(operators(1, [alice]));
    expect(tell(acknowledged, alice)).toBe('applied');
    expect(tell(acknowledged, alice)).toBe('ignored');
    expect([...ledger.governance.acknowledged.values()]).toMatchObject([{ amount: 5n }]);
  });

  test('a Mint of a deposit cannot be acknowledged, unless it was given up', () => {
    tell(POLICY);
    tell(operators(1, [alice]));
    holdDeposit();
    tell(events.approved(), alice);
    intend(0);
    const tx_hash = Buffer.alloc(32, 1);
    expect(tell({ ...acknowledged, tx_hash }, alice)).toBe('ignored');
    tell(events.dead(tx_hash, 0));
    expect(tell({ ...acknowledged, tx_hash }, alice)).toBe('applied');
  });

  test('surpluses add up and can be taken back, but not below nothing', () => {
    tell(operators(1, [alice]));
    expect(tell({ type: 'SurplusBooked', ...by, amount: 7n }, alice)).toBe('applied');
    expect(tell({ type: 'SurplusBooked', ...by, amount: -8n }, alice)).toBe('ignored');
    expect(tell({ type: 'SurplusBooked', ...by, amount: -2n }, alice)).toBe('applied');
    expect(ledger.governance.booked_surplus).toBe(5n);
  });

  test('a baseline is pinned once, before the first mint is requested', () => {
    const baseline: TreasuryEvent = {
      type: 'BaselinePinned',
      ...by,
      block_height: 10,
      block_hash: Buffer.alloc(32, 7),
      supply: 100n,
      liability: 40n,
    };
    tell(operators(1, [alice]));
    expect(tell({ ...baseline, liability: 101n }, alice)).toBe('ignored');
    expect(tell(baseline, alice)).toBe('applied');
    expect(tell(baseline, alice)).toBe('ignored');
  });

  test('the refund of a rejected deposit leaves what custody is expected to hold', () => {
    tell(POLICY);
    tell(operators(1, [alice]));
    holdDeposit();
    expect(tell(events.refunded(10_000_000n), alice)).toBe('ignored');
    tell(events.rejected(), alice);
    expect(tell(events.refunded(10_000_000n))).toBe('ignored');
    expect(tell(events.refunded(10_000_000n), alice)).toBe('applied');
    expect(tell(events.refunded(1n), alice)).toBe('ignored');
    expect(ledger.sums.refunded).toBe(10_000_000n);
  });
});

test('events of older writers without the new fields count as they did', () => {
  tell(POLICY);
  const { sequence: _sequence, ...confirmed } = confirmedEvent({
    gross: 6_000_000n,
    credit: 4_000_000n,
  });
  tell({ ...confirmed, sequence: 0 });
  const { clt_address: cltAddress, credit: amount } = { ...confirmed };
  const intent: MintIntended = events.intended({
    to: cltAddress,
    amount,
    nonce: 0,
    tx_hash: Buffer.alloc(32),
  });
  expect(tell(intent)).toBe('applied');
});
