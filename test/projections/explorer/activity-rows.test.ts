import { describe, expect, test } from 'vitest';
import { ChainByHand, named, PRODUCER } from '../../support/chain-by-hand.ts';
import { foldedRows, type TextRow } from './batches.ts';

const ALICE = named('alice');
const BOB = named('bob');

/** In the order of their ordinals. */
function activityAfter({ log }: ChainByHand, size: number, address: Buffer): TextRow[] {
  const rows = foldedRows(log, size);
  const own = rows('activity').filter((row) => row['address'] === address.toString('hex'));
  return sorted(own, 'ordinal');
}

function sorted(rows: readonly TextRow[], column: string): TextRow[] {
  return rows.toSorted((one, other) => Number(one[column]) - Number(other[column]));
}

describe.each([1, 2, 3, 100])('in batches of %i', (size) => {
  test('activity is in chain order, each row with its transaction and the balance after it', () => {
    const chain = new ChainByHand();
    chain.append({ transactions: [{ from: BOB, to: BOB }] });
    chain.append({
      transactions: [
        { from: ALICE, to: BOB },
        { from: BOB, to: ALICE },
      ],
      effects: [
        { address: ALICE, delta: 100n, kind: 'transfer_in', tx_index: 1, counterparty: BOB },
        { address: ALICE, delta: 30n, kind: 'block_reward' },
        { address: ALICE, delta: -50n, kind: 'transfer_out', tx_index: 0, counterparty: BOB },
        { address: BOB, delta: 50n, kind: 'transfer_in', tx_index: 0, counterparty: ALICE },
      ],
    });
    chain.append({ effects: [{ address: ALICE, delta: 2n ** 70n, kind: 'mint' }] });
    const bob = BOB.toString('hex');
    expect(activityAfter(chain, size, ALICE)).toMatchObject([
      {
        ordinal: '0',
        kind: 'transfer_in',
        delta: '100',
        balance: '100',
        block_height: '1',
        seq: '2',
        counterparty: bob,
      },
      {
        ordinal: '1',
        kind: 'block_reward',
        delta: '30',
        balance: '130',
        block_height: '1',
        seq: null,
        counterparty: null,
      },
      {
        ordinal: '2',
        kind: 'transfer_out',
        delta: '-50',
        balance: '80',
        block_height: '1',
        seq: '1',
        counterparty: bob,
      },
      {
        ordinal: '3',
        kind: 'mint',
        delta: '1180591620717411303424',
        balance: '1180591620717411303504',
        block_height: '2',
        seq: null,
        counterparty: null,
      },
    ]);
  });

  test('an effect of zero adds no activity', () => {
    const chain = new ChainByHand();
    chain.append({
      transactions: [{ from: ALICE, to: BOB }],
      effects: [0n, 3n, 0n, -1n].map((delta) => ({ address: ALICE, delta, tx_index: 0 })),
    });
    chain.append({ effects: [{ address: ALICE, delta: 0n }] });
    expect(activityAfter(chain, size, ALICE)).toMatchObject([
      { ordinal: '0', delta: '3', balance: '3' },
      { ordinal: '1', delta: '-1', balance: '2' },
    ]);
  });

  test('blocks after a revert reuse the ordinals and continue from the earlier balance', () => {
    const chain = new ChainByHand();
    const move = (...deltas: readonly bigint[]): void => {
      chain.append({ effects: deltas.map((delta) => ({ address: ALICE, delta })) });
    };
    move(10n);
    move(1n, 2n);
    move(4n);
    chain.revert(2);
    expect(activityAfter(chain, size, ALICE)).toMatchObject([{ delta: '10', balance: '10' }]);
    move(-3n);
    move(8n, 9n, 7n);
    expect(activityAfter(chain, size, ALICE)).toMatchObject([
      { ordinal: '0', delta: '10', balance: '10', block_height: '0' },
      { ordinal: '1', delta: '-3', balance: '7', block_height: '1' },
      { ordinal: '2', delta: '8', balance: '15', block_height: '2' },
      { ordinal: '3', delta: '9', balance: '24', block_height: '2' },
      { ordinal: '4', delta: '7', balance: '31', block_height: '2' },
    ]);
  });

  test('the first block may be reverted with every row', () => {
    const chain = new ChainByHand();
    chain.append({
      transactions: [{ from: ALICE, to: BOB }],
      effects: [{ address: ALICE, delta: 1n }],
    });
    chain.revert();
    const rows = foldedRows(chain.log, size);
    for (const table of [
      'blocks',
      'transactions',
      'transaction_types',
      'accounts',
      'account_transactions',
      'activity',
      'validators',
    ]) {
      expect(rows(table)).toEqual([]);
    }
    expect(rows('head')).toMatchObject([{ height: '-1', transactions: '0', validators: '0' }]);
  });

  test('unknown kinds and call types are stored unchanged', () => {
    const chain = new ChainByHand();
    const words = ['airdrop', 'Étrange "100%_"', 'constructor', '__proto__', ''];
    for (const word of words) {
      chain.append({
        transactions: [{ from: ALICE, to: BOB, function_call_type: word }],
        effects: [{ address: ALICE, delta: 1n, kind: word, tx_index: 0 }],
      });
    }
    expect(activityAfter(chain, size, ALICE).map(({ kind }) => kind)).toEqual(words);
    const rows = foldedRows(chain.log, size);
    const types = sorted(rows('transactions'), 'seq').map(
      ({ function_call_type: functionCallType, type_ordinal: typeOrdinal }) => [
        functionCallType,
        typeOrdinal,
      ],
    );
    expect(types).toEqual(words.map((word) => [word, '0']));
    const counts = rows('transaction_types').map(
      ({ function_call_type: functionCallType, transactions }) => [functionCallType, transactions],
    );
    expect(new Map(counts.map(([type, count]) => [type, count]))).toEqual(
      new Map(words.map((word) => [word, '1'])),
    );
  });

  test('fees are 0 for blocks without recorded fees, and recorded from then on', () => {
    const chain = new ChainByHand();
    const transactions = [{ from: ALICE, to: BOB }];
    chain.append({
      transactions,
      effects: [{ address: ALICE, delta: -5n, kind: 'transfer_out', tx_index: 0 }],
    });
    chain.append({
      transactions,
      effects: [
        { address: ALICE, delta: -7n, kind: 'tx_fee_paid', tx_index: 0, counterparty: PRODUCER },
        { address: PRODUCER, delta: 7n, kind: 'tx_fee_earned' },
      ],
    });
    const rows = foldedRows(chain.log, size);
    expect(sorted(rows('blocks'), 'height')).toMatchObject([
      { total_fees: '0' },
      { total_fees: '7' },
    ]);
    expect(sorted(rows('transactions'), 'seq')).toMatchObject([{ fee: '0' }, { fee: '7' }]);
  });

  test("RideAcceptance and the producer's transactions show fee 0; their effects still apply", () => {
    const chain = new ChainByHand();
    chain.append({
      transactions: [
        { from: ALICE, to: BOB, function_call_type: 'RideAcceptance' },
        { from: PRODUCER, to: BOB },
        { from: ALICE, to: PRODUCER },
      ],
      effects: [ALICE, PRODUCER, ALICE].map((address, index) => ({
        address,
        delta: -10n,
        kind: 'tx_fee_paid',
        tx_index: index,
      })),
    });
    const transactions = sorted(foldedRows(chain.log, size)('transactions'), 'seq');
    expect(transactions.map(({ fee }) => fee)).toEqual(['0', '0', '10']);
    expect(activityAfter(chain, size, ALICE)).toMatchObject([
      { balance: '-10' },
      { balance: '-20' },
    ]);
  });
});
