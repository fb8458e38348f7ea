import { expect, test } from 'vitest';
import { deriveKey } from '../../../infra/devnet/clt/keys.ts';
import { Sender, type SentTransaction } from '../../../projections/chain/sender.ts';
import { conclude, intend } from '../../../projections/deposits/domain/minting.ts';
import { toHex } from '../../../schemas/address.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import {
  ChainByHand,
  named,
  signedCall,
  type TransactionByHand,
} from '../../support/chain-by-hand.ts';
import { BEGIN, hashOf, MintLedger, USD } from '../../support/mint-ledger.ts';

const KEY = deriveKey('test', 'us');
const US = Buffer.from(KEY.address.slice(2), 'hex');
const ALICE = named('alice');
const ALICES = { from: ALICE, to: US };

function folded(
  log: readonly ChainEvent[],
  hasSigned?: (txHash: Buffer) => boolean,
): {
  readonly sender: Sender;
  readonly final: readonly SentTransaction[];
} {
  const final: SentTransaction[] = [];
  const sender = new Sender({
    address: US,
    chain_id: 7777,
    onFinal: (transaction) => final.push(transaction),
    ...(hasSigned === undefined ? {} : { hasSigned }),
  });
  for (const [offset, event] of log.entries())
    expect(sender.apply(event, BigInt(offset))).toBe(undefined);
  return { sender, final };
}

function mint(nonce = 0, amount = 5n): TransactionByHand {
  const args = { to: toHex(ALICE), amount, reference: null };
  return signedCall(KEY, nonce, { function_call_type: 'Mint', arguments: args });
}

function transfer(nonce = 0, key = KEY, chainId = 7777): TransactionByHand {
  const args = { to: toHex(ALICE), amount: 1n };
  return signedCall(key, nonce, { function_call_type: 'Transfer', arguments: args }, chainId);
}

const MINTED = { address: ALICE, kind: 'mint', delta: 5n, tx_index: 0 };
const NO_HASH = Buffer.alloc(32);

test('a transaction that is not final is only known to be in a block', () => {
  const chain = new ChainByHand();
  chain.append();
  const { transactions } = chain.append({ transactions: [mint(), ALICES], effects: [MINTED] });
  const { sender, final } = folded(chain.log);
  const hash = transactions[0]?.hash ?? NO_HASH;
  expect([sender.final_nonce, sender.final_height, sender.finalAt(0), final]).toEqual([
    0,
    -1,
    undefined,
    [],
  ]);
  expect([sender.has(0, hash), sender.has(0, NO_HASH)]).toEqual([true, false]);
});

test('a transaction in a final block stays settled, with its minted amount', () => {
  const chain = new ChainByHand();
  const block = chain.append({
    transactions: [mint(), ALICES, transfer(1)],
    effects: [MINTED],
  });
  chain.append({ transactions: [mint(2)], effects: [MINTED] });
  chain.finalize(0);
  const { sender, final } = folded(chain.log);
  expect([sender.final_nonce, sender.final_block]).toMatchObject([
    2,
    { height: 0, hash: block.hash },
  ]);
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
  expect(sender.has(0, sender.finalAt(0)?.tx_hash ?? NO_HASH)).toBe(true);
  expect(sender.forged).toBe(undefined);
});

test.each([
  ['no balance moved', []],
  ['another amount moved', [{ ...MINTED, delta: 4n }]],
  ["somebody else's balance moved", [{ ...MINTED, address: US }]],
  ['it is of another transaction', [{ ...MINTED, tx_index: 1 }]],
  ['it is a transfer', [{ ...MINTED, kind: 'transfer_in' }]],
])('a Mint in a block has minted nothing when %s', (_what, effects) => {
  const chain = new ChainByHand();
  chain.append({ transactions: [mint()], effects });
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
    chain.append({ transactions: [mint()], effects: [MINTED] }).transactions[0]?.hash ?? NO_HASH;
  chain.revert();
  const other = chain.append({ transactions: [transfer()] }).transactions[0]?.hash ?? NO_HASH;
  chain.finalize();
  const { sender, final } = folded(chain.log);
  expect([sender.has(0, gone), sender.has(0, other)]).toEqual([false, true]);
  expect(final).toMatchObject([{ nonce: 0, tx_hash: other, function_call_type: 'Transfer' }]);
});

const STRANGER = deriveKey('test', 'stranger');
const forgeries: readonly (readonly [how: string, TransactionByHand])[] = [
  ['has no bytes', { ...transfer(), raw: Buffer.alloc(0) }],
  ['has the bytes of another', { ...transfer(), raw: mint().raw ?? Buffer.alloc(0) }],
  ['has another hash than its bytes', { ...transfer(), hash: named('made up', 32) }],
  ['was signed by another key', { ...transfer(0, STRANGER), from: US }],
  ['was signed for another chain', transfer(0, KEY, 7778)],
  ['says another nonce than its bytes', { ...transfer(1), nonce: 0 }],
  ['says another call than its bytes', { ...transfer(), function_call_type: 'Mint' }],
  ['says other arguments than its bytes', { ...transfer(), arguments: { to: null } }],
  ['mints another amount than its bytes', { ...mint(), amount: 6n }],
  ['mints for another account than its bytes', { ...mint(), to: US }],
  ['leaves a nonce out', transfer(1)],
];

test.each(forgeries)(
  'a final transaction that %s is forged: it takes no nonce and shows no outcome',
  (_how, transaction) => {
    const chain = new ChainByHand();
    const block = chain.append({ transactions: [transaction] });
    chain.finalize();
    const { sender, final } = folded(chain.log);
    expect(sender.forged).toEqual({
      tx_hash: block.transactions[0]?.hash,
      block_height: 0,
      reason: expect.any(String),
    });
    expect([sender.final_nonce, sender.finalAt(0), final]).toEqual([0, undefined, []]);
  },
);

test('a forged transaction whose block is reverted counts for nothing', () => {
  const chain = new ChainByHand();
  chain.append({ transactions: [{ ...transfer(), raw: Buffer.alloc(0) }] });
  chain.revert();
  chain.append({ transactions: [transfer()] });
  chain.finalize();
  const { sender } = folded(chain.log);
  expect([sender.forged, sender.final_nonce]).toEqual([undefined, 1]);
});

test("the signer is not recovered from bytes that are known to be the account's, their content is still compared", () => {
  const chain = new ChainByHand();
  const asked: Buffer[] = [];
  const foreign = { ...transfer(0, STRANGER), from: US };
  chain.append({ transactions: [foreign, { ...mint(1), amount: 6n }] });
  chain.finalize();
  const { sender } = folded(chain.log, (txHash) => asked.push(txHash) > 0);
  expect(asked).toEqual([foreign.hash]);
  expect(sender.final_nonce).toBe(1);
  expect(sender.forged).toMatchObject({ tx_hash: mint(1).hash });
});

test("a node's invented transaction at the nonce of a mint gives no MintDead and no second mint", () => {
  const made = new MintLedger();
  made.setPolicy();
  made.deposit(8n * USD);
  const options = { now: BEGIN, final_nonce: 0, hashOf: hashOf, most: 50 };
  made.writeAll(intend(made.ledger, options).events);
  const chain = new ChainByHand();
  chain.append();
  chain.append({ transactions: [{ ...transfer(), raw: Buffer.from('00', 'hex') }] });
  chain.finalize();
  const { sender } = folded(chain.log);
  const concluded = conclude(made.ledger, (nonce) => sender.finalAt(nonce), {
    now: BEGIN,
    most: 9,
  });
  expect(concluded.events).toEqual([]);
  expect(intend(made.ledger, { ...options, final_nonce: sender.final_nonce }).events).toEqual([]);
  expect(sender.forged).toMatchObject({ block_height: 1 });
});

test('repeated and stray records have no effect, and an impossible log is broken', () => {
  const chain = new ChainByHand();
  chain.append({ transactions: [mint()], effects: [MINTED] });
  chain.finalize();
  const { sender, final } = folded(chain.log);
  for (const [offset, event] of chain.log.entries()) sender.apply(event, BigInt(offset));
  const [block] = chain.log;
  if (block === undefined) throw new Error('there is a block');
  expect(sender.apply(block, 2n)).toBe(undefined);
  expect([sender.end, sender.final_nonce, final.length]).toEqual([3n, 1, 1]);
  expect(sender.apply({ ...block, sequence: 3 }, 3n)).toEqual({
    broken: expect.stringContaining('the newest block is 0'),
  });
});
