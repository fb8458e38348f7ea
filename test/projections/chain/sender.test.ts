import { expect, test } from 'vitest';
import { Sender, type SentTransaction } from '../../../projections/chain/sender.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { ChainByHand, named } from '../../support/chain-by-hand.ts';

const US = named('us');
const ALICE = named('alice');

function folded(log: readonly ChainEvent[]): {
  readonly sender: Sender;
  readonly final: readonly SentTransaction[];
} {
  const final: SentTransaction[] = [];
  const sender = new Sender(US, (transaction) => final.push(transaction));
  for (const [offset, event] of log.entries())
    expect(sender.apply(event, BigInt(offset))).toBe(undefined);
  return { sender, final };
}

const MINT = { from: US, to: ALICE, amount: 5n, function_call_type: 'Mint' };
const MINTED = { address: ALICE, kind: 'mint', delta: 5n, tx_index: 0 };

test('a transaction that is not final is only known to be in a block', () => {
  const chain = new ChainByHand();
  chain.append();
  const { transactions } = chain.append({
    transactions: [MINT, { from: ALICE, to: US }],
    effects: [MINTED],
  });
  const { sender, final } = folded(chain.log);
  const hash = transactions[0]?.hash ?? Buffer.alloc(0);
  expect([sender.finalNonce, sender.finalHeight, sender.finalAt(0), final]).toEqual([
    0,
    -1,
    undefined,
    [],
  ]);
  expect([sender.has(0, hash), sender.has(0, Buffer.alloc(32))]).toEqual([true, false]);
});

test('a transaction in a final block stays settled, with its minted amount', () => {
  const chain = new ChainByHand();
  const block = chain.append({
    transactions: [MINT, { from: ALICE, to: US }, { from: US, to: ALICE }],
    effects: [MINTED],
  });
  chain.append({ transactions: [MINT], effects: [MINTED] });
  chain.finalize(0);
  const { sender, final } = folded(chain.log);
  expect([sender.finalNonce, sender.finalHeight]).toEqual([2, 0]);
  expect(sender.finalAt(0)).toMatchObject({
    nonce: 0,
    function_call_type: 'Mint',
    block_height: 0,
    block_hash: block.hash,
    minted: { to: ALICE, amount: 5n },
  });
  expect(sender.finalAt(1)).toMatchObject({ function_call_type: 'Transfer', minted: undefined });
  expect(sender.finalAt(2)).toBe(undefined);
  expect(final.map(({ nonce }) => nonce)).toEqual([0, 1]);
  expect(sender.has(0, sender.finalAt(0)?.tx_hash ?? Buffer.alloc(0))).toBe(true);
});

test.each([
  ['no balance moved', []],
  ['another amount moved', [{ ...MINTED, delta: 4n }]],
  ["somebody else's balance moved", [{ ...MINTED, address: US }]],
  ['it is of another transaction', [{ ...MINTED, tx_index: 1 }]],
  ['it is a transfer', [{ ...MINTED, kind: 'transfer_in' }]],
])('a Mint in a block has minted nothing when %s', (_what, effects) => {
  const chain = new ChainByHand();
  chain.append({ transactions: [MINT], effects });
  chain.finalize();
  expect(folded(chain.log).sender.finalAt(0)).toMatchObject({
    function_call_type: 'Mint',
    minted: undefined,
  });
});

test('a reverted transaction leaves no trace, and its replacement counts', () => {
  const chain = new ChainByHand();
  chain.append();
  const gone =
    chain.append({ transactions: [MINT], effects: [MINTED] }).transactions[0]?.hash ??
    Buffer.alloc(0);
  chain.revert();
  const other =
    chain.append({ transactions: [{ from: US, to: ALICE }] }).transactions[0]?.hash ??
    Buffer.alloc(0);
  chain.finalize();
  const { sender, final } = folded(chain.log);
  expect([sender.has(0, gone), sender.has(0, other)]).toEqual([false, true]);
  expect(final).toMatchObject([{ nonce: 0, tx_hash: other, function_call_type: 'Transfer' }]);
});

test('repeated and stray records have no effect, a gap is an error, and an impossible log is broken', () => {
  const chain = new ChainByHand();
  chain.append({ transactions: [MINT], effects: [MINTED] });
  chain.finalize();
  const { sender, final } = folded(chain.log);
  for (const [offset, event] of chain.log.entries()) sender.apply(event, BigInt(offset));
  const [block] = chain.log;
  if (block === undefined) throw new Error('there is a block');
  expect(sender.apply(block, 2n)).toBe(undefined);
  expect([sender.end, sender.finalNonce, final.length]).toEqual([3n, 1, 1]);
  expect(() => sender.apply(block, 5n)).toThrow('records are missing');
  expect(sender.apply({ ...block, sequence: 3 }, 3n)).toEqual({
    broken: expect.stringContaining('the newest block is 0'),
  });
});
