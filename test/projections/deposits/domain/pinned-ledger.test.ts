import type { Wallet } from 'ethers';
import { beforeEach, describe, expect, test } from 'vitest';
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { depositIdOf } from '../../../../schemas/deposit-id.ts';
import type { HumanDecision, SignedDecision } from '../../../../schemas/operator-signature.ts';
import type {
  DepositConfirmed,
  LedgerPinned,
  MintIntended,
  PolicySet,
  TreasuryEvent,
} from '../../../../schemas/treasury.ledger/events.ts';
import { confirmedEvent, depositEvents } from '../../../support/deposit-events.ts';
import {
  addressOf,
  alice,
  authority,
  bob,
  BY,
  mallory,
  signed,
} from '../../../support/operators.ts';

const LEDGER_ID = Buffer.alloc(32, 0x1d);
const OTHER_LEDGER = Buffer.alloc(32, 0x2d);
const TOKEN = Buffer.alloc(20, 9);
const USD = 1_000_000n;

const PINNED: LedgerPinned = {
  type: 'LedgerPinned',
  sequence: 0,
  decided_at: BY.decided_at,
  ledger_id: LEDGER_ID,
  network: 'testnet',
  chain_id: 7777,
  usdt_contract: TOKEN,
  authority: addressOf(authority),
};

const POLICY: PolicySet = {
  type: 'PolicySet',
  ...BY,
  version: 1,
  network: 'testnet',
  first_fee: 2n * USD,
  later_fee: 500_000n,
  minimum: USD,
  single_cap: 1_000n * USD,
  rolling_cap: 5_000n * USD,
};

const { deposit_id: depositId, clt_address: cltAddress, credit: amount } = confirmedEvent();
const events = depositEvents(depositId);
const hashOf = (nonce: number): Buffer => Buffer.alloc(32, nonce + 1);

let ledger = new Ledger();

/** Writes the event for the end of the ledger, signed by `wallet` if given. */
function tell(event: TreasuryEvent): 'applied' | 'replayed' | 'ignored' {
  return ledger.apply({ ...event, sequence: Number(ledger.end) }, ledger.end);
}

/** `named`: the ledger of the signature's text; null: none. */
function tellBy(
  wallet: Wallet,
  event: SignedDecision,
  named: Buffer | null | undefined = ledger.governance.ledger_id,
): 'applied' | 'replayed' | 'ignored' {
  const placed = { ...event, sequence: Number(ledger.end) };
  return ledger.apply(signed(placed, wallet, named ?? undefined), ledger.end);
}

function intended(nonce: number, change: Partial<MintIntended> = {}): MintIntended {
  return {
    ...events.intended({ to: cltAddress, amount, nonce, tx_hash: hashOf(nonce) }),
    ...change,
  };
}

/** The deposit of another account. */
function other(byte: number): DepositConfirmed {
  const tx_id = Buffer.alloc(32, byte);
  const clt_address = Buffer.alloc(20, byte);
  const deposit_id = depositIdOf(tx_id, 0);
  return { ...confirmedEvent(), tx_id, deposit_id, clt_address };
}

function voided(tx_hash: Buffer, nonce: number): SignedDecision {
  return { type: 'MintVoided', ...BY, deposit_id: depositId, tx_hash, nonce };
}

beforeEach(() => {
  ledger = new Ledger();
  expect(tell(POLICY)).toBe('applied');
  const set = { ...BY, version: 1, operators: [alice, bob].map(addressOf), two_above: 100n * USD };
  expect(tell({ type: 'OperatorsSet', ...set })).toBe('applied');
  const custody = { version: 1, usdt_contract: TOKEN, custody_addresses: [Buffer.alloc(20, 7)] };
  expect(tell({ type: 'CustodyPinned', ...BY, ...custody })).toBe('applied');
  expect(tellBy(authority, PINNED, null)).toBe('applied');
});

describe('the pin of a ledger', () => {
  test('names the mint authority, and counts once', () => {
    expect(ledger.governance.authority).toEqual({ version: 1, authority: addressOf(authority) });
    expect(ledger.governance.ledger_id).toEqual(LEDGER_ID);
    expect(tellBy(authority, { ...PINNED, ledger_id: OTHER_LEDGER }, null)).toBe('ignored');
    expect(ledger.governance.ledger_id).toEqual(LEDGER_ID);
  });

  test.each([
    ['nobody', undefined, {}],
    ['another key than it names', mallory, {}],
    ['the key that it names, for another network', authority, { network: 'mainnet' }],
  ])('signed by %s has no effect', (_who, wallet, change) => {
    ledger = new Ledger();
    tell(POLICY);
    const pin = { ...PINNED, ...change };
    expect(wallet === undefined ? tell(pin) : tellBy(wallet, pin, null)).toBe('ignored');
    expect(ledger.governance.ledger_id).toBe(undefined);
  });

  test('names the authority that the ledger has named before, and no other', () => {
    ledger = new Ledger();
    tell(POLICY);
    tell({ type: 'AuthoritySet', ...BY, version: 1, authority: addressOf(mallory) });
    expect(tellBy(authority, PINNED, null)).toBe('ignored');
    const own = { ...PINNED, authority: addressOf(mallory) };
    expect(tellBy(mallory, own, null)).toBe('applied');
    expect(ledger.governance.authority?.version).toBe(1);
  });

  test('fixes network and token', () => {
    const policy = { ...POLICY, version: 2, network: 'mainnet' };
    expect(tellBy(alice, policy)).toBe('ignored');
    expect(tellBy(bob, policy)).toBe('ignored');
    const custody = { version: 2, usdt_contract: Buffer.alloc(20, 8), custody_addresses: [] };
    for (const wallet of [alice, bob])
      expect(tellBy(wallet, { type: 'CustodyPinned', ...BY, ...custody })).toBe('ignored');
    expect(ledger.policy?.version).toBe(1);
    expect(ledger.governance.custody?.version).toBe(1);
  });

  test('has every signature name the ledger', () => {
    tell(confirmedEvent({ gross: 2_000n * USD, credit: 1_998n * USD }));
    tell(events.held('over_single_cap'));
    expect(tellBy(alice, events.rejected(), null)).toBe('ignored');
    expect(tellBy(alice, events.rejected(), OTHER_LEDGER)).toBe('ignored');
    expect(ledger.governance.refused.foreign_signature).toBe(2);
    expect(tellBy(alice, events.rejected())).toBe('applied');
  });
});

describe('the first settings of a pinned ledger', () => {
  const first = { ...BY, version: 1, operators: [addressOf(mallory)], two_above: 0n };

  test.each([
    ['nobody', undefined, 'ignored'],
    ['the person that they name', mallory, 'ignored'],
    ['the mint authority', authority, 'applied'],
  ])('signed by %s are %s', (_who, wallet, outcome) => {
    ledger = new Ledger();
    tell(POLICY);
    tellBy(authority, PINNED, null);
    const set: SignedDecision = { type: 'OperatorsSet', ...first };
    expect(wallet === undefined ? tell(set) : tellBy(wallet, set)).toBe(outcome);
  });

  test('without operators the limits are those that the mint authority signs', () => {
    ledger = new Ledger();
    tell(POLICY);
    tellBy(authority, PINNED, null);
    const next = { ...POLICY, version: 2, rolling_cap: 1_000n * USD };
    expect(tell(next)).toBe('ignored');
    expect(tellBy(mallory, next)).toBe('ignored');
    expect(tellBy(authority, next)).toBe('applied');
  });
});

const LOOSENING: readonly (readonly [what: string, event: HumanDecision])[] = [
  ['higher caps', { ...POLICY, version: 2, rolling_cap: 6_000n * USD }],
  ['lower fees', { ...POLICY, version: 2, later_fee: 0n }],
  ['higher fees', { ...POLICY, version: 2, later_fee: USD }],
  ['a lower minimum', { ...POLICY, version: 2, minimum: 0n }],
  [
    'other operators',
    { type: 'OperatorsSet', ...BY, version: 2, operators: [addressOf(mallory)], two_above: 0n },
  ],
  [
    'other custody',
    { type: 'CustodyPinned', ...BY, version: 2, usdt_contract: TOKEN, custody_addresses: [] },
  ],
  [
    'another mint authority',
    { type: 'AuthoritySet', ...BY, version: 2, authority: addressOf(mallory) },
  ],
  [
    'a baseline',
    {
      type: 'BaselinePinned',
      ...BY,
      block_height: 5,
      block_hash: hashOf(5),
      supply: 100n,
      liability: 10n,
    },
  ],
  [
    'an acknowledged Mint',
    {
      type: 'MintAcknowledged',
      ...BY,
      tx_hash: hashOf(9),
      to: cltAddress,
      amount,
      block_height: 5,
    },
  ],
  ['a booked surplus', { type: 'SurplusBooked', ...BY, amount: USD }],
];

describe('where two operators are asked for', () => {
  test.each(LOOSENING)('%s need two', (_what, event) => {
    expect(tellBy(alice, event)).toBe('ignored');
    expect(tellBy(alice, { ...event, actor: 'alice again', decided_at: BY.decided_at + 5 })).toBe(
      'ignored',
    );
    expect(tellBy(mallory, event)).toBe('ignored');
    expect(ledger.governance.proposals).toHaveLength(1);
    expect(tellBy(bob, { ...event, actor: 'bob', reason: 'as alice says' })).toBe('applied');
    expect(ledger.governance.proposals).toEqual([]);
  });

  test('a proposal waits for a week', () => {
    const WEEK_MS = 7 * 86_400_000;
    const booked: HumanDecision = { type: 'SurplusBooked', ...BY, amount: USD };
    tellBy(alice, booked);
    const late = { ...booked, decided_at: BY.decided_at + WEEK_MS + 1 };
    expect(tellBy(bob, late)).toBe('ignored');
    expect(tellBy(alice, { ...booked, decided_at: late.decided_at + WEEK_MS })).toBe('applied');
  });

  test('two operators who decide different things decide nothing', () => {
    tellBy(alice, { ...POLICY, version: 2, rolling_cap: 6_000n * USD });
    expect(tellBy(bob, { ...POLICY, version: 2, rolling_cap: 7_000n * USD })).toBe('ignored');
    expect(tellBy(alice, { ...POLICY, version: 2, rolling_cap: 7_000n * USD })).toBe('applied');
  });

  test('the proposal of an operator who was replaced since does not count', () => {
    tellBy(bob, { type: 'SurplusBooked', ...BY, amount: USD });
    const operators = [alice, mallory].map(addressOf);
    const set: SignedDecision = {
      type: 'OperatorsSet',
      ...BY,
      version: 2,
      operators,
      two_above: 1n,
    };
    tellBy(alice, set);
    // bob's proposal is this one now
    expect(tellBy(bob, set)).toBe('applied');
    tellBy(alice, { type: 'SurplusBooked', ...BY, amount: 2n * USD });
    expect(tellBy(bob, { type: 'SurplusBooked', ...BY, amount: 2n * USD })).toBe('ignored');
    expect(tellBy(mallory, { type: 'SurplusBooked', ...BY, amount: 2n * USD })).toBe('applied');
  });

  test.each<readonly [what: string, event: SignedDecision]>([
    [
      'lower caps and a higher minimum',
      { ...POLICY, version: 2, minimum: 2n * USD, rolling_cap: 4_000n * USD },
    ],
    ['a surplus taken back', { type: 'SurplusBooked', ...BY, amount: -1n }],
    ['a stop of all minting', { type: 'MintingSet', ...BY, open: false }],
  ])('%s needs one', (_what, event) => {
    for (const wallet of [alice, bob]) tellBy(wallet, { type: 'SurplusBooked', ...BY, amount: 1n });
    expect(tellBy(bob, event)).toBe('applied');
  });

  test('a stop takes effect at once, and two open again', () => {
    tell(confirmedEvent());
    tellBy(alice, { type: 'MintingSet', ...BY, open: false });
    expect(tellBy(authority, intended(0))).toBe('ignored');
    expect(tellBy(alice, { type: 'MintingSet', ...BY, open: true })).toBe('ignored');
    expect(ledger.governance.is_stopped).toBe(true);
    expect(tellBy(bob, { type: 'MintingSet', ...BY, open: true })).toBe('applied');
    expect(tellBy(authority, intended(0))).toBe('applied');
  });

  test('a held deposit is rejected by one, a mint in flight released by two', () => {
    tell(confirmedEvent());
    tellBy(authority, intended(0));
    expect(tellBy(alice, events.rejected())).toBe('ignored');
    expect(ledger.deposit(depositId).status).toBe('mint_requested');
    expect(tellBy(bob, events.rejected())).toBe('applied');
  });
});

describe('claims of the treasury', () => {
  beforeEach(() => {
    expect(tell(confirmedEvent())).toBe('applied');
  });

  test.each(['internal_transfer', 'unproven'])('a hold as %s needs the authority', (reason) => {
    expect(tell(events.held(reason))).toBe('ignored');
    expect(tellBy(alice, events.held(reason))).toBe('ignored');
    expect(tellBy(authority, events.held(reason))).toBe('applied');
  });

  test.each(['below_minimum', 'over_single_cap'])(
    'a hold as %s has no effect where the policy does not say so',
    (reason) => {
      expect(tell(events.held(reason))).toBe('ignored');
      expect(ledger.deposit(depositId).status).toBe('confirmed');
    },
  );

  test('a dead mint needs the authority', () => {
    tellBy(authority, intended(0));
    expect(tell(events.dead(hashOf(0), 0))).toBe('ignored');
    expect(tellBy(authority, events.dead(hashOf(0), 0))).toBe('applied');
    expect(ledger.deposit(depositId).status).toBe('confirmed');
  });

  test('a void mint needs the authority or two operators', () => {
    tellBy(authority, intended(0));
    expect(tell(voided(hashOf(0), 0))).toBe('ignored');
    expect(tellBy(mallory, voided(hashOf(0), 0))).toBe('ignored');
    expect(tellBy(alice, voided(hashOf(0), 0))).toBe('ignored');
    expect(tellBy(bob, voided(hashOf(0), 0))).toBe('applied');
    tellBy(authority, intended(1));
    expect(tellBy(authority, voided(hashOf(1), 1))).toBe('applied');
    expect(ledger.deposit(depositId)).toMatchObject({ status: 'confirmed' });
    expect(ledger.givenUp(depositId)).toHaveLength(2);
  });

  test('a credit that is void waits again: sums, queue, cap and nonce are as before', () => {
    const before = { sums: ledger.sums, left: ledger.leftAt(BY.decided_at) };
    tellBy(authority, intended(3));
    tell(events.credited(hashOf(3)));
    expect(ledger.sums.minted).toBe(amount);
    expect(tellBy(authority, voided(hashOf(3), 3))).toBe('applied');
    expect(ledger.deposit(depositId)).toMatchObject({ status: 'confirmed', approved: false });
    expect({ sums: ledger.sums, left: ledger.leftAt(BY.decided_at) }).toEqual(before);
    expect([...ledger.waiting].map(({ deposit_id }) => deposit_id)).toEqual([depositId]);
    expect(tellBy(authority, intended(0))).toBe('applied');
  });

  test('the nonce of a void mint below others is free again, once', () => {
    const [one, two] = [other(1), other(2)];
    for (const each of [one, two]) expect(tell(each)).toBe('applied');
    tellBy(authority, intended(0));
    tell(events.credited(hashOf(0)));
    const of = (deposit: DepositConfirmed, nonce: number): MintIntended =>
      intended(nonce, { deposit_id: deposit.deposit_id, to: deposit.clt_address });
    expect(tellBy(authority, of(one, 1))).toBe('applied');
    expect(tellBy(authority, voided(hashOf(0), 0))).toBe('applied');
    expect(ledger.free_nonces).toEqual([0]);
    expect(tellBy(authority, of(two, 1))).toBe('ignored');
    expect(tellBy(authority, of(two, 0))).toBe('applied');
    expect(tellBy(authority, intended(0))).toBe('ignored');
    expect(tellBy(authority, intended(2))).toBe('applied');
    expect([...ledger.live.keys()]).toEqual([0, 1, 2]);
  });
});

describe('confirmations', () => {
  test.each<readonly [what: string, change: Partial<DepositConfirmed>]>([
    ['a negative credit', { gross: -(10n ** 12n), fee: 0n, credit: -(10n ** 12n) }],
    ['a negative fee', { gross: 1n, fee: -USD, credit: USD + 1n }],
    ['nothing that arrived', { gross: 0n, fee: 0n, credit: 0n }],
    ['a credit above what arrived', { credit: 11n * USD }],
    ['another fee than the policy says', { fee: USD, credit: 9n * USD }],
    ['another policy', { policy_version: 2 }],
    ['another ordinal', { address_ordinal: 1 }],
    ['the id of another transfer', { deposit_id: depositIdOf(Buffer.alloc(32, 1), 1) }],
    ['a time that is none', { block_timestamp: 9e15 }],
  ])('with %s have no effect', (_what, change) => {
    const { sums } = ledger;
    expect(tell(confirmedEvent(change))).toBe('ignored');
    expect(ledger.sums).toEqual(sums);
    expect(ledger.deposit(depositId).status).toBe('absent');
  });

  test('that break a rule are counted with their offset, and the chain of records goes on', () => {
    const offset = ledger.end;
    tell(confirmedEvent({ fee: -1n }));
    expect(ledger.broken).toEqual([
      { offset, type: 'DepositConfirmed', rule: expect.stringContaining('fee is -1') },
    ]);
    expect(tell(confirmedEvent())).toBe('applied');
  });

  test('a policy with negative fees has no effect, whoever signs it', () => {
    const policy = { ...POLICY, version: 2, first_fee: -(10n ** 12n), later_fee: -(10n ** 12n) };
    for (const wallet of [alice, bob]) expect(tellBy(wallet, policy)).toBe('ignored');
    expect(ledger.policy?.version).toBe(1);
    expect(ledger.broken).toHaveLength(2);
  });
});

describe('refunds', () => {
  test('a transaction pays one deposit back', () => {
    const one = confirmedEvent({ gross: USD, fee: 2n * USD, credit: 0n });
    const two = { ...other(3), gross: USD, credit: 0n };
    for (const deposit of [one, two]) {
      tell(deposit);
      const of = depositEvents(deposit.deposit_id);
      tell(of.held('below_minimum'));
      expect(tellBy(alice, of.rejected())).toBe('applied');
    }
    expect(tellBy(alice, depositEvents(one.deposit_id).refunded(USD))).toBe('applied');
    expect(tellBy(alice, depositEvents(two.deposit_id).refunded(USD))).toBe('ignored');
    expect(ledger.sums.refunded).toBe(USD);
  });
});
