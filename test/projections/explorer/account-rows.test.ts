import { describe, expect, test } from 'vitest';
import { ChainByHand, named, PRODUCER } from '../../support/chain-by-hand.ts';
import { foldedRows, type TextRow } from './batches.ts';

const ALICE = named('alice');
const BOB = named('bob');
const CAROL = named('carol');
const ESCROW = named('escrow');

const NOTHING = {
  balance: '0',
  nonce: '0',
  transactions: '0',
  activities: '0',
  unsigned_debits: '0',
  blocks_produced: '0',
};

function accountAfter({ log }: ChainByHand, size: number, address: Buffer): TextRow | undefined {
  return foldedRows(
    log,
    size,
  )('accounts').find((row) => row['address'] === address.toString('hex'));
}

describe.each([1, 2, 3, 100])('in batches of %i', (size) => {
  test('an account counts its transactions, one to itself once, and its balance changes', () => {
    const chain = new ChainByHand();
    chain.append({
      transactions: [
        { from: ALICE, to: ALICE },
        { from: ALICE, to: BOB },
        { from: BOB, to: ALICE },
        { from: BOB, to: CAROL },
      ],
      effects: [
        { address: ALICE, delta: -5n, kind: 'transfer_out', tx_index: 0 },
        { address: ALICE, delta: 5n, kind: 'transfer_in', tx_index: 0 },
        { address: ALICE, delta: 7n, tx_index: 2 },
      ],
    });
    expect(accountAfter(chain, size, ALICE)).toMatchObject({
      transactions: '3',
      activities: '3',
      balance: '7',
      nonce: '2',
    });
    expect(accountAfter(chain, size, BOB)).toMatchObject({
      transactions: '3',
      activities: '0',
      balance: '0',
      nonce: '2',
    });
    expect(accountAfter(chain, size, CAROL)).toMatchObject({ ...NOTHING, transactions: '1' });
  });

  test('a mere mention or a zero effect creates no account', () => {
    const chain = new ChainByHand();
    const referred = { referrer: CAROL, request_referrer: CAROL, offer_referrer: CAROL };
    chain.append({
      transactions: [{ from: ALICE, to: BOB, ...referred }],
      effects: [
        { address: CAROL, delta: 0n, kind: 'referrer_fee', tx_index: 0 },
        { address: ALICE, delta: 0n, tx_index: 0, counterparty: CAROL },
        { address: ALICE, delta: 1n, tx_index: 0, counterparty: CAROL },
      ],
    });
    expect(accountAfter(chain, size, CAROL)).toBeUndefined();
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ activities: '1', balance: '1' });
  });

  test('a producer is an account', () => {
    const chain = new ChainByHand();
    for (const producer of [PRODUCER, CAROL, PRODUCER]) chain.append({ producer });
    expect(accountAfter(chain, size, PRODUCER)).toMatchObject({ ...NOTHING, blocks_produced: '2' });
    expect(accountAfter(chain, size, CAROL)).toMatchObject({ ...NOTHING, blocks_produced: '1' });
    chain.revert();
    expect(accountAfter(chain, size, PRODUCER)).toMatchObject({ ...NOTHING, blocks_produced: '1' });
  });

  test('balances beyond 2^64 are exact', () => {
    const chain = new ChainByHand();
    for (const delta of [2n ** 64n, 1n, 2n ** 90n, -(2n ** 53n)])
      chain.append({ effects: [{ address: ALICE, delta }] });
    expect(accountAfter(chain, size, ALICE)).toMatchObject({
      balance: String(2n ** 90n + 2n ** 64n + 1n - 2n ** 53n),
    });
    chain.revert(2);
    expect(accountAfter(chain, size, ALICE)).toMatchObject({
      balance: '18446744073709551617',
      activities: '2',
    });
    chain.append({ effects: [{ address: ALICE, delta: -(2n ** 64n) }] });
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ balance: '1', activities: '3' });
  });

  test('the nonce is the next one to sign; a revert restores the previous one', () => {
    const chain = new ChainByHand();
    chain.append({ transactions: [{ from: BOB, to: ALICE }] });
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ nonce: '0', transactions: '1' });
    chain.append({ transactions: [0, 1, 2].map(() => ({ from: ALICE, to: BOB })) });
    chain.append({
      transactions: [
        { from: BOB, to: ALICE },
        { from: ALICE, to: ALICE },
      ],
    });
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ nonce: '4', transactions: '6' });
    chain.revert();
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ nonce: '3', transactions: '4' });
    chain.append({ transactions: [{ from: ALICE, to: CAROL }] });
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ nonce: '4' });
    chain.revert(2);
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ nonce: '0', transactions: '1' });
    expect(accountAfter(chain, size, BOB)).toMatchObject({ nonce: '1', transactions: '1' });
  });

  test('the nonce is one more than that of the newest own transaction', () => {
    const chain = new ChainByHand();
    for (const nonce of [41, 42]) chain.append({ transactions: [{ from: ALICE, to: BOB, nonce }] });
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ nonce: '43' });
    chain.revert();
    expect(accountAfter(chain, size, ALICE)).toMatchObject({ nonce: '42' });
  });

  test('debits that the account did not sign are counted', () => {
    const chain = new ChainByHand();
    chain.append({
      transactions: [
        { from: ALICE, to: ESCROW },
        { from: BOB, to: CAROL },
      ],
      effects: [
        { address: ALICE, delta: -9n, kind: 'ride_escrow', tx_index: 0 },
        { address: ESCROW, delta: 9n, kind: 'ride_escrow', tx_index: 0 },
        { address: ESCROW, delta: -4n, kind: 'ride_pay', tx_index: 1 },
        { address: CAROL, delta: 4n, kind: 'ride_pay', tx_index: 1 },
        { address: BOB, delta: -1n, kind: 'tx_fee_paid', tx_index: 1 },
        { address: ESCROW, delta: -2n, kind: 'block_reward' },
        { address: CAROL, delta: 2n, kind: 'block_reward' },
        { address: ESCROW, delta: 0n, kind: 'block_reward' },
      ],
    });
    expect(accountAfter(chain, size, ESCROW)).toMatchObject({
      unsigned_debits: '2',
      activities: '3',
      balance: '3',
    });
    for (const address of [ALICE, BOB, CAROL])
      expect(accountAfter(chain, size, address)).toMatchObject({ unsigned_debits: '0' });
  });

  test('an account is a contract from its first unsigned debit, until that is reverted', () => {
    const chain = new ChainByHand();
    const debit = {
      transactions: [{ from: BOB, to: CAROL }],
      effects: [{ address: ESCROW, delta: -1n, tx_index: 0 }],
    };
    chain.append({
      transactions: [{ from: ALICE, to: ESCROW }],
      effects: [{ address: ESCROW, delta: 10n, tx_index: 0 }],
    });
    expect(accountAfter(chain, size, ESCROW)).toMatchObject({
      unsigned_debits: '0',
      activities: '1',
    });
    chain.append(debit);
    chain.append(debit);
    expect(accountAfter(chain, size, ESCROW)).toMatchObject({
      unsigned_debits: '2',
      activities: '3',
      balance: '8',
    });
    chain.revert();
    expect(accountAfter(chain, size, ESCROW)).toMatchObject({
      unsigned_debits: '1',
      activities: '2',
      balance: '9',
    });
    chain.revert();
    expect(accountAfter(chain, size, ESCROW)).toMatchObject({
      unsigned_debits: '0',
      activities: '1',
      balance: '10',
    });
  });

  test.each([
    ['sent or received', { transactions: [{ from: ALICE, to: BOB }] }, [ALICE, BOB]],
    ['were moved by a block', { effects: [{ address: ALICE, delta: 5n }] }, [ALICE]],
    [
      'were moved by a transaction of another',
      {
        transactions: [{ from: BOB, to: BOB }],
        effects: [{ address: ALICE, delta: -5n, tx_index: 0 }],
      },
      [ALICE, BOB],
    ],
    [
      'came out of it with nothing',
      { effects: [5n, -5n].map((delta) => ({ address: ALICE, delta })) },
      [ALICE],
    ],
    ['produced', { producer: ALICE }, [ALICE]],
  ])('accounts that only in a reverted block %s are gone, and come anew', (_, block, seen) => {
    const chain = new ChainByHand();
    chain.append();
    chain.append(block);
    const before = seen.map((address) => accountAfter(chain, size, address));
    expect(before).not.toContain(undefined);
    chain.revert();
    expect(seen.map((address) => accountAfter(chain, size, address))).toEqual(
      seen.map(() => undefined),
    );
    chain.append(block);
    expect(seen.map((address) => accountAfter(chain, size, address))).toEqual(before);
  });
});
