import { expect, test } from 'vitest';
import { feesPaid, producerFees } from '../../../projections/explorer/events.ts';
import type {
  BalanceEffect,
  BlockAppended,
  BlockTransaction,
} from '../../../schemas/chain.blocks/events.ts';

const address = (name: string): Buffer => Buffer.from(name.padEnd(20, '.'));
const ALICE = address('alice');
const BOB = address('bob');
const PRODUCER = address('producer');

function transaction(index: number, from: Buffer, type = 'Transfer'): BlockTransaction {
  return {
    hash: Buffer.alloc(32, index),
    index,
    from,
    to: BOB,
    nonce: 0,
    amount: 1n,
    function_call_type: type,
    arguments: {},
    referrer: null,
    request_referrer: null,
    offer_referrer: null,
    request_referrer_fee: 0n,
    offer_referrer_fee: 0n,
    raw: Buffer.alloc(0),
  };
}

function effect(kind: string, of: Buffer, delta: bigint, index: number | null): BalanceEffect {
  return { kind, address: of, delta, tx_index: index, counterparty: null };
}

function block(
  transactions: readonly BlockTransaction[],
  effects: readonly BalanceEffect[],
): BlockAppended {
  return {
    type: 'BlockAppended',
    sequence: 1,
    height: 0,
    hash: Buffer.alloc(32),
    parent_hash: Buffer.alloc(32),
    timestamp: 0,
    producer: PRODUCER,
    reward_recipient: BOB,
    block_reward: 0n,
    transactions,
    balance_effects: effects,
  };
}

function fees(
  transactions: readonly BlockTransaction[],
  effects: readonly BalanceEffect[],
): (bigint | undefined)[] {
  const paid = feesPaid(block(transactions, effects));
  return transactions.map(({ index }) => paid.get(index));
}

test("a transaction's fee is its tx_fee_paid effect", () => {
  const transactions = [
    transaction(0, ALICE),
    transaction(1, BOB),
    transaction(2, ALICE, 'RidePay'),
  ];
  const effects = [
    effect('tx_fee_paid', ALICE, -7n, 2),
    effect('transfer_out', ALICE, -100n, 0),
    effect('tx_fee_paid', ALICE, -(1n << 70n), 0),
  ];
  expect(fees(transactions, effects)).toEqual([1n << 70n, undefined, 7n]);
});

test('a sender who produced the block has fee 0', () => {
  const effects = [
    effect('tx_fee_paid', PRODUCER, -1_000n, 0),
    effect('tx_fee_paid', ALICE, -1_000n, 1),
  ];
  expect(fees([transaction(0, PRODUCER), transaction(1, ALICE)], effects)).toEqual([
    undefined,
    1_000n,
  ]);
});

test('RideAcceptance has fee 0; the other ride calls have one', () => {
  const types = [
    'RideAcceptance',
    'RideRequest',
    'RideOffer',
    'RidePay',
    'RideCancel',
    'RideRequestCancel',
    'Mint',
    'Burn',
  ];
  const transactions = types.map((type, index) => transaction(index, ALICE, type));
  const effects = types.map((_, index) => effect('tx_fee_paid', ALICE, -1_000n, index));
  expect(fees(transactions, effects)).toEqual([undefined, ...Array<bigint>(7).fill(1_000n)]);
});

test('blocks without recorded fees have none', () => {
  const old = block(
    [transaction(0, ALICE)],
    [effect('transfer_out', ALICE, -100n, 0), effect('transfer_in', BOB, 100n, 0)],
  );
  expect(feesPaid(old).size).toBe(0);
  expect(producerFees(old)).toBe(0n);
});

test('a fee effect without a transaction of the block is ignored', () => {
  const effects = [
    effect('tx_fee_paid', ALICE, -5n, null),
    effect('tx_fee_paid', ALICE, -5n, 9),
    effect('tx_fee_paid', ALICE, -5n, -1),
  ];
  expect(feesPaid(block([transaction(0, ALICE)], effects)).size).toBe(0);
});

test("a block's total fees are its producer's tx_fee_earned effects", () => {
  const effects = [
    effect('tx_fee_earned', PRODUCER, 3_000n, null),
    effect('tx_fee_earned', PRODUCER, 500n, 1),
    effect('tx_fee_earned', BOB, 10_000n, null),
    effect('block_reward', PRODUCER, 50_000n, null),
    effect('tx_fee_paid', ALICE, -3_500n, 0),
  ];
  expect(producerFees(block([transaction(0, ALICE)], effects))).toBe(3_500n);
});
