import { describe, expect, test } from 'vitest';
import { CHAIN_RULES, HEADER_RULES } from '../../schemas/chain.blocks/rules.ts';
import { ADDRESS_RULES } from '../../schemas/deposit.addresses/rules.ts';
import { SKIP_RULES } from '../../schemas/projector.skips/rules.ts';
import { RUN_RULES } from '../../schemas/reserve.runs/rules.ts';
import { brokenRule, type TopicRules } from '../../schemas/rules.ts';
import { TOPICS } from '../../schemas/topics.ts';
import { LEDGER_RULES } from '../../schemas/treasury.ledger/rules.ts';
import type {
  DepositConfirmed,
  MintVoided as MintVoidedEvent,
  PolicySet,
  TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { TRANSFER_RULES } from '../../schemas/tron.transfers/rules.ts';
import { confirmedEvent, depositEvents } from '../support/deposit-events.ts';
import { BY } from '../support/operators.ts';
import { NETWORK_LIMITS } from '../../schemas/deposit-policy.ts';

const ALL: Readonly<Record<string, object>> = {
  'chain.blocks': CHAIN_RULES,
  'deposit.addresses': ADDRESS_RULES,
  'projector.skips': SKIP_RULES,
  'reserve.runs': RUN_RULES,
  'treasury.ledger': LEDGER_RULES,
  'tron.transfers': TRANSFER_RULES,
};

test.each(TOPICS)('every event of $name has rules', ({ name, events }) => {
  expect(Object.keys(ALL[name] ?? {}).toSorted()).toEqual(
    events.map(({ type }) => type).toSorted(),
  );
});

test('an event of another topic breaks the rules', () => {
  expect(brokenRule(ADDRESS_RULES, { type: 'PolicySet' })).toBe(
    'PolicySet is no event of this topic',
  );
});

test('a table that lacks an event or a field does not compile', () => {
  const { MintVoided, ...others } = LEDGER_RULES;
  // @ts-expect-error an event without rules
  const lessEvents: TopicRules<TreasuryEvent> = others;
  const { nonce: _nonce, ...fields } = MintVoided.fields;
  // @ts-expect-error a field without a rule
  const lessFields: TopicRules<MintVoidedEvent> = { MintVoided: { fields } };
  expect(brokenRule(lessEvents, { type: 'MintVoided' })).toMatch(/no event of this topic/);
  expect(Object.keys(lessFields.MintVoided.fields)).not.toContain('nonce');
});

const POLICY: PolicySet = {
  type: 'PolicySet',
  ...BY,
  version: 1,
  network: 'testnet',
  ...NETWORK_LIMITS.testnet,
};

describe('a policy', () => {
  test('with the default limits keeps the rules', () => {
    expect(brokenRule(LEDGER_RULES, POLICY)).toBe(undefined);
  });

  test.each<readonly [change: Partial<PolicySet>, rule: RegExp]>([
    [{ first_fee: -1n }, /^first_fee is -1, and has to be an amount of 0 or more/],
    [{ later_fee: -(10n ** 12n) }, /^later_fee is -1000000000000/],
    [{ rolling_cap: 2n ** 256n }, /^rolling_cap is /],
    [{ version: 0 }, /^version is 0, and has to be a whole number, 1 to 2147483647/],
    [{ version: 2 ** 31 }, /^version is /],
    [{ network: 'devnet' }, /^network is "devnet", and has to be mainnet or testnet/],
    [{ minimum: 2_000n * 1_000_000n }, /^the limits contradict each other/],
    [{ decided_at: -1 }, /^decided_at is -1/],
    [{ decided_at: 8_640_000_000_000_001 }, /^decided_at is /],
    [{ sequence: 1.5 }, /^sequence is 1.5/],
    [{ actor: 'x'.repeat(10_001) }, /^actor is "x+\.\.\./],
    [{ previous: Buffer.alloc(31) }, /^previous is 0x0+\.{0,3}, and has to be 0 or 32 bytes/],
  ])('with %o breaks one', (change, rule) => {
    expect(brokenRule(LEDGER_RULES, { ...POLICY, ...change })).toMatch(rule);
  });
});

describe('a confirmation', () => {
  test.each<readonly [change: Partial<DepositConfirmed>, rule: RegExp]>([
    [{ gross: -5n }, /^gross is -5/],
    [{ gross: 0n }, /^gross is 0/],
    [{ fee: -1n }, /^fee is -1/],
    [{ credit: -1n }, /^credit is -1/],
    [{ credit: 11_000_000n }, /^the credit is not what arrived less the fee/],
    [{ gross: 1n, fee: 2n, credit: 1n }, /^the credit is not/],
    [{ block_timestamp: Number.NaN }, /^block_timestamp is NaN/],
    [{ log_index: -1 }, /^log_index is -1/],
    [{ transfer_offset: -1 }, /^transfer_offset is -1/],
    [{ deposit_id: 'A' }, /^deposit_id is "A"/],
    [{ clt_address: Buffer.alloc(19) }, /^clt_address is /],
  ])('with %o breaks a rule', (change, rule) => {
    expect(brokenRule(LEDGER_RULES, confirmedEvent(change))).toMatch(rule);
  });

  test('with a fee above what arrived credits nothing', () => {
    const event = confirmedEvent({ gross: 1n, fee: 2n, credit: 0n });
    expect(brokenRule(LEDGER_RULES, event)).toBe(undefined);
  });
});

test('a mint is of more than nothing, and has a nonce of 0 or more', () => {
  const { intended } = depositEvents(confirmedEvent().deposit_id);
  const mint = { to: Buffer.alloc(20), amount: 1n, nonce: 0, tx_hash: Buffer.alloc(32) };
  expect(brokenRule(LEDGER_RULES, intended(mint))).toBe(undefined);
  expect(brokenRule(LEDGER_RULES, intended({ ...mint, amount: 0n }))).toMatch(/^amount is 0/);
  expect(brokenRule(LEDGER_RULES, intended({ ...mint, nonce: -1 }))).toMatch(/^nonce is -1/);
  expect(brokenRule(LEDGER_RULES, intended({ ...mint, nonce: 2 ** 53 }))).toMatch(/^nonce is /);
});

test('the parts of a block are judged by its rules, and left out by those of its header', () => {
  const block = {
    type: 'BlockAppended',
    sequence: 0,
    height: 0,
    hash: Buffer.alloc(32),
    parent_hash: Buffer.alloc(32),
    timestamp: 0,
    producer: Buffer.alloc(20),
    reward_recipient: Buffer.alloc(20),
    block_reward: 0n,
    transactions: [{ nonce: -1 }],
    balance_effects: [],
  };
  expect(brokenRule(CHAIN_RULES, block)).toMatch(/^transactions is a list of 1/);
  expect(brokenRule(HEADER_RULES, block)).toBe(undefined);
  const below = { ...block, height: -1 };
  expect(brokenRule(HEADER_RULES, below)).toMatch(/^height is -1/);
});
