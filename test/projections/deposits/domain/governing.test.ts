import type { Wallet } from 'ethers';
import { describe, expect, test } from 'vitest';
import {
  approve,
  recordRefund,
  reject,
  voidMint,
} from '../../../../projections/deposits/domain/approval.ts';
import { setPolicy, type Decision } from '../../../../projections/deposits/domain/confirmation.ts';
import {
  acknowledgeMint,
  begin,
  bookSurplus,
  changePolicy,
  pinBaseline,
  pinCustody,
  pinLedger,
  rotateAuthority,
  setMinting,
  setOperators,
  type Governed,
  type Pinning,
} from '../../../../projections/deposits/domain/governing.ts';
import { conclude, intend } from '../../../../projections/deposits/domain/minting.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { HumanDecision } from '../../../../schemas/operator-signature.ts';
import type { MintIntended, TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { BEGIN, hashOf, MintLedger, NOBODY, USD } from '../../../support/mint-ledger.ts';
import { addressOf, alice, authority, bob, signed } from '../../../support/operators.ts';

const PERSON = { actor: 'alice', reason: 'known to us', now: BEGIN };
const CUSTODY = Buffer.alloc(20, 0xcc);
const SETTINGS: Governed = {
  operators: [addressOf(alice), addressOf(bob)],
  two_above: 2_000n * USD,
  usdt_contract: Buffer.alloc(20, 9),
  custody_addresses: [CUSTODY],
};
const AUTHORITY = addressOf(authority);
const PINNING: Pinning = {
  ledger_id: Buffer.alloc(32, 0x1d),
  network: 'testnet',
  chain_id: 7777,
  usdt_contract: SETTINGS.usdt_contract,
  authority: AUTHORITY,
  limits: NETWORK_LIMITS.testnet,
};

function eventsOf<Event extends TreasuryEvent>(
  decision: Decision<string, Event>,
): readonly Event[] {
  if ('refused' in decision) throw new Error(decision.refused);
  return decision.events;
}

/** With the testnet's limits and the settings in force, pinned. */
function governed(settings = SETTINGS): MintLedger {
  const made = new MintLedger();
  made.setPolicy();
  made.writeAll(eventsOf(begin(made.ledger, settings, BEGIN)));
  pin(made);
  return made;
}

function pin(made: MintLedger): void {
  const events = eventsOf(pinLedger(made.ledger, PINNING, BEGIN));
  made.writeAll(events.map((event) => signed(event, authority)));
}

const BOTH = [alice, bob];

/** Each signs and writes the decision, which has an effect with the signature of the last. */
function carryOut(
  made: MintLedger,
  decision: Decision<string, HumanDecision>,
  by: readonly Wallet[] = [alice],
): void {
  for (const event of eventsOf(decision)) {
    const verdicts = by.map((wallet) => {
      const placed = { ...event, sequence: made.log.length };
      return made.write(signed(placed, wallet, made.ledger.governance.ledger_id));
    });
    expect(verdicts).toEqual(by.map((_, at) => (at < by.length - 1 ? 'ignored' : 'applied')));
  }
}

/** The intents as the treasury of a pinned ledger writes them. */
function requested(made: MintLedger, intents: readonly MintIntended[]): readonly MintIntended[] {
  return intents.map((intent) => signed(intent, authority, made.ledger.governance.ledger_id));
}

describe('the settings of the treasury', () => {
  test('begin a ledger that has none, and nothing is written again', () => {
    const made = governed();
    expect(made.log.map(({ type }) => type)).toEqual([
      'PolicySet',
      'OperatorsSet',
      'CustodyPinned',
      'LedgerPinned',
    ]);
    expect(made.log.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3]);
    const { operators, ...others } = SETTINGS;
    const reordered = { ...others, operators: operators.toReversed() };
    expect(begin(made.ledger, reordered, BEGIN)).toEqual({ events: [] });
  });

  test.each([
    ['other operators', { operators: [addressOf(alice)], two_above: 0n }, 'other_operators'],
    ['another amount for two', { two_above: 1n }, 'other_operators'],
    ['no custody', { custody_addresses: [] }, 'other_custody'],
    ['another token', { usdt_contract: Buffer.alloc(20, 8) }, 'other_custody'],
  ])('are refused with %s than in force', (_which, change, refused) => {
    expect(begin(governed().ledger, { ...SETTINGS, ...change }, BEGIN)).toEqual({ refused });
  });

  test('without operators are refused where a ledger has some, and write nothing elsewhere', () => {
    expect(begin(governed().ledger, undefined, BEGIN)).toEqual({ refused: 'other_operators' });
    expect(begin(new MintLedger().ledger, undefined, BEGIN)).toEqual({ events: [] });
  });

  test('that are impossible are refused instead of being written for ever', () => {
    const twice = { ...SETTINGS, operators: [addressOf(alice), addressOf(alice)] };
    expect(begin(new MintLedger().ledger, twice, BEGIN)).toEqual({ refused: 'repeated_address' });
  });

  test('begin a ledger of an older writer while its mint is in flight', () => {
    const made = new MintLedger();
    made.setPolicy();
    const id = made.deposit(8n * USD);
    const { clt_address: cltAddress, credit: amount } = Object(made.state(id)).terms;
    made.writeAll([
      {
        type: 'MintIntended',
        sequence: 0,
        deposit_id: id,
        nonce: 0,
        to: cltAddress,
        amount,
        fee: 2n * USD,
        policy_version: 1,
        tx_hash: Buffer.alloc(32, 7),
        decided_at: BEGIN,
      },
    ]);
    made.writeAll(eventsOf(begin(made.ledger, SETTINGS, BEGIN)));
    pin(made);
    expect(pinLedger(made.ledger, PINNING, BEGIN)).toEqual({ events: [] });
    expect(made.ledger.last_nonce).toBe(0);
    expect(made.ledger.governance.authority?.authority).toEqual(AUTHORITY);
  });

  test('replace the limits only where there are no operators', () => {
    const limits = { ...NETWORK_LIMITS.testnet, later_fee: 1n };
    const given = { network: 'testnet', limits } as const;
    const made = new MintLedger();
    made.setPolicy();
    expect(setPolicy(made.ledger, given, BEGIN)).toMatchObject({ events: [{ version: 2 }] });
    expect(setPolicy(governed().ledger, given, BEGIN)).toEqual({ events: [] });
  });
});

describe('the pin', () => {
  test('is not written before there is a policy', () => {
    expect(pinLedger(new MintLedger().ledger, PINNING, BEGIN)).toEqual({ events: [] });
  });

  test.each<readonly [string, Partial<Pinning>, string]>([
    ['another network', { network: 'mainnet' }, 'other_network'],
    ['another chain', { chain_id: 1 }, 'other_chain'],
    ['another token', { usdt_contract: CUSTODY }, 'other_token'],
  ])('is compared with the settings: %s is refused', (_which, change, refused) => {
    const { ledger } = governed();
    expect(pinLedger(ledger, { ...PINNING, ...change }, BEGIN)).toEqual({ refused });
  });

  test.each<readonly [string, Partial<Pinning>, string]>([
    ['network', { network: 'mainnet' }, 'other_network'],
    ['token', { usdt_contract: CUSTODY }, 'other_token'],
  ])('is not written for another %s than the ledger has', (_which, change, refused) => {
    const made = new MintLedger();
    made.setPolicy();
    made.writeAll(eventsOf(begin(made.ledger, SETTINGS, BEGIN)));
    expect(pinLedger(made.ledger, { ...PINNING, ...change }, BEGIN)).toEqual({ refused });
  });

  test('needs a policy of the same limits, or one that an operator has signed', () => {
    const made = new MintLedger();
    made.setPolicy({ later_fee: 0n });
    made.writeAll(eventsOf(begin(made.ledger, SETTINGS, BEGIN)));
    expect(pinLedger(made.ledger, PINNING, BEGIN)).toEqual({ refused: 'other_policy' });
    carryOut(made, changePolicy(made.ledger, { later_fee: 1n }, PERSON));
    expect(pinLedger(made.ledger, PINNING, BEGIN)).toMatchObject({
      events: [{ type: 'LedgerPinned', sequence: 4 }],
    });
  });
});

describe('operators', () => {
  test('replace their list, custody, authority and limits, each once', () => {
    const made = governed();
    const list = { operators: [addressOf(bob)], two_above: 0n };
    const custody = { custody_addresses: [CUSTODY, Buffer.alloc(20, 0xcd)] };
    const next = Buffer.alloc(20, 2);
    const decisions = [
      () => pinCustody(made.ledger, custody, PERSON),
      () => rotateAuthority(made.ledger, next, PERSON),
      () => changePolicy(made.ledger, { rolling_cap: 6_000n * USD }, PERSON),
      () => setOperators(made.ledger, list, PERSON),
    ];
    for (const decide of decisions) {
      carryOut(made, decide(), BOTH);
      expect(decide()).toEqual({ events: [] });
    }
    const { operators, custody: pinned, authority: own } = made.ledger.governance;
    expect(operators).toMatchObject({ version: 2, ...list });
    expect(pinned).toMatchObject({ version: 2, usdt_contract: SETTINGS.usdt_contract, ...custody });
    expect(own).toMatchObject({ version: 2, authority: next });
    expect(made.ledger.policy).toMatchObject({ version: 2, rolling_cap: 6_000n * USD });
    expect(made.ledger.policy).toMatchObject({ later_fee: NETWORK_LIMITS.testnet.later_fee });
  });

  test('stop requests by a rolling cap that is used up, and rotate the authority then', () => {
    const made = governed();
    for (let at = 0; at < 3; at++) made.deposit(1_000n * USD);
    const request = (): readonly MintIntended[] =>
      intend(made.ledger, { now: BEGIN, final_nonce: 0, hashOf: hashOf, most: 1 }).events;
    const next = Buffer.alloc(20, 2);
    const [mint] = request();
    if (mint === undefined) throw new Error('no mint is due');
    made.writeAll(requested(made, [mint]));
    expect(request()).toHaveLength(1);
    expect(rotateAuthority(made.ledger, next, PERSON)).toEqual({ refused: 'mint_in_flight' });
    carryOut(made, changePolicy(made.ledger, { rolling_cap: 1_000n * USD }, PERSON));
    expect(request()).toEqual([]);
    const final = { ...mint, block_height: 9, block_hash: Buffer.alloc(32, 9), minted: mint };
    made.writeAll(conclude(made.ledger, () => final, { now: BEGIN, most: 1 }).events);
    carryOut(made, rotateAuthority(made.ledger, next, PERSON), BOTH);
    expect(request()).toEqual([]);
    carryOut(made, changePolicy(made.ledger, { rolling_cap: 5_000n * USD }, PERSON), BOTH);
    expect(request()).toMatchObject([{ nonce: 0 }]);
  });

  test.each([
    ['no operator', { operators: [], two_above: 0n }, 'too_few_operators'],
    [
      'one where two are asked for',
      { operators: [addressOf(bob)], two_above: 1n },
      'too_few_operators',
    ],
    ['a negative amount', { operators: [addressOf(bob)], two_above: -1n }, 'negative_amount'],
  ])('cannot be %s', (_what, list, refused) => {
    expect(setOperators(governed().ledger, list, PERSON)).toEqual({ refused });
  });

  test('cannot be rotated out, acknowledge or book before there are any', () => {
    const { ledger } = new MintLedger();
    const mint = { tx_hash: Buffer.alloc(32), to: Buffer.alloc(20), amount: 1n, block_height: 1 };
    for (const decision of [
      setOperators(ledger, SETTINGS, PERSON),
      pinCustody(ledger, SETTINGS, PERSON),
      rotateAuthority(ledger, CUSTODY, PERSON),
      acknowledgeMint(ledger, mint, PERSON),
      bookSurplus(ledger, 1n, PERSON),
    ])
      expect(decision).toEqual({ refused: 'no_operators' });
    expect(changePolicy(ledger, {}, PERSON)).toEqual({ refused: 'not_begun' });
  });

  test('cannot set limits that contradict each other', () => {
    expect(changePolicy(governed().ledger, { rolling_cap: 1n }, PERSON)).toEqual({
      refused: 'contradicting_limits',
    });
  });

  test('cannot pin the token itself as custody', () => {
    const custody = { custody_addresses: [CUSTODY, SETTINGS.usdt_contract] };
    expect(pinCustody(governed().ledger, custody, PERSON)).toEqual({
      refused: 'contract_as_custody',
    });
  });

  test('acknowledge a Mint once, and none of nothing', () => {
    const made = governed();
    const mint = { tx_hash: Buffer.alloc(32, 5), to: CUSTODY, amount: 7n, block_height: 9 };
    carryOut(made, acknowledgeMint(made.ledger, mint, PERSON), BOTH);
    expect(acknowledgeMint(made.ledger, mint, PERSON)).toEqual({ events: [] });
    const nothing = { ...mint, tx_hash: CUSTODY, amount: 0n };
    expect(acknowledgeMint(made.ledger, nothing, PERSON)).toEqual({ refused: 'nothing_minted' });
  });

  test('pin one baseline', () => {
    const made = governed();
    const baseline = { block_height: 9, block_hash: Buffer.alloc(32), supply: 5n, liability: 4n };
    expect(pinBaseline(made.ledger, { ...baseline, liability: 6n }, PERSON)).toEqual({
      refused: 'liability_above_supply',
    });
    carryOut(made, pinBaseline(made.ledger, baseline, PERSON), BOTH);
    expect(pinBaseline(made.ledger, baseline, PERSON)).toEqual({ refused: 'baseline_is_pinned' });
  });

  test('stop all minting alone, and open it again together, each once', () => {
    const made = governed();
    made.deposit(8n * USD);
    const request = (): readonly MintIntended[] =>
      intend(made.ledger, { now: BEGIN, final_nonce: 0, hashOf: hashOf, most: 1 }).events;
    expect(setMinting(made.ledger, true, PERSON)).toEqual({ events: [] });
    carryOut(made, setMinting(made.ledger, false, PERSON));
    expect(setMinting(made.ledger, false, PERSON)).toEqual({ events: [] });
    for (const intent of requested(made, request())) expect(made.write(intent)).toBe('ignored');
    carryOut(made, setMinting(made.ledger, true, PERSON), BOTH);
    expect(setMinting(made.ledger, true, PERSON)).toEqual({ events: [] });
    made.writeAll(requested(made, request()));
    expect(made.ledger.live.size).toBe(1);
  });

  test('void a mint that the chain does not have together, once', () => {
    const made = governed();
    const deposit_id = made.deposit(8n * USD);
    const voiding = { ...PERSON, deposit_id };
    expect(voidMint(made.ledger, { ...voiding, deposit_id: NOBODY })).toEqual({
      refused: 'no_such_deposit',
    });
    expect(voidMint(made.ledger, voiding)).toEqual({ refused: 'no_mint_to_void' });
    const intending = { now: BEGIN, final_nonce: 3, hashOf: hashOf, most: 1 };
    made.writeAll(requested(made, intend(made.ledger, intending).events));
    carryOut(made, voidMint(made.ledger, voiding), BOTH);
    expect(made.state(deposit_id)).toMatchObject({ status: 'confirmed' });
    expect(voidMint(made.ledger, voiding)).toEqual({ events: [] });
    const other = made.deposit(USD / 2n);
    expect(voidMint(made.ledger, { ...voiding, deposit_id: other })).toEqual({
      refused: 'no_mint_to_void',
    });
  });

  test('book a surplus and take it back, but no more than that', () => {
    const made = governed();
    carryOut(made, bookSurplus(made.ledger, 5n, PERSON), BOTH);
    carryOut(made, bookSurplus(made.ledger, -2n, PERSON));
    expect(made.ledger.governance.booked_surplus).toBe(3n);
    expect(bookSurplus(made.ledger, -4n, PERSON)).toEqual({ refused: 'more_than_was_booked' });
    expect(bookSurplus(made.ledger, 0n, PERSON)).toEqual({ refused: 'nothing_to_book' });
  });
});

describe('held deposits', () => {
  test('a large credit is approved by two operators, each once', () => {
    const made = governed();
    const deposit_id = made.deposit(3_000n * USD);
    const by = (wallet = alice) => ({ ...PERSON, deposit_id, operator: addressOf(wallet) });
    carryOut(made, approve(made.ledger, by()));
    expect(made.state(deposit_id)).toMatchObject({ status: 'needs_manual' });
    expect(approve(made.ledger, by())).toEqual({ events: [] });
    carryOut(made, approve(made.ledger, by(bob)), [bob]);
    expect(made.state(deposit_id)).toMatchObject({ status: 'confirmed', approved: true });
  });

  test('a refund is recorded once, for a rejected deposit, up to the amount that arrived', () => {
    const made = governed();
    const deposit_id = made.deposit(USD / 2n);
    const refund = (amount: bigint, id = deposit_id) =>
      recordRefund(made.ledger, {
        ...PERSON,
        deposit_id: id,
        tron_tx_id: Buffer.alloc(32, 3),
        amount,
      });
    expect(refund(1n, NOBODY)).toEqual({ refused: 'no_such_deposit' });
    expect(refund(1n)).toEqual({ refused: 'not_rejected' });
    carryOut(made, reject(made.ledger, { ...PERSON, deposit_id }));
    for (const amount of [0n, -1n, 2_500_001n])
      expect(refund(amount)).toEqual({ refused: 'not_within_gross' });
    carryOut(made, refund(2_500_000n));
    expect(refund(2_500_000n)).toEqual({ events: [] });
    expect(refund(1n)).toEqual({ refused: 'refunded_before' });
    const other = made.deposit(USD / 2n);
    carryOut(made, reject(made.ledger, { ...PERSON, deposit_id: other }));
    expect(refund(1n, other)).toEqual({ refused: 'refund_used' });
    expect(made.ledger.sums.refunded).toBe(2_500_000n);
  });
});
