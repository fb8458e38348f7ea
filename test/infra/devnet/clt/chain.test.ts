import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FunctionCall } from '../../../../schemas/function-call.ts';
import type { Block, BlockJson } from '../../../../infra/devnet/clt/block.ts';
import type { Chain } from '../../../../infra/devnet/clt/chain.ts';
import type { Genesis } from '../../../../infra/devnet/clt/genesis.ts';
import { nextIntention, seededRandom } from '../../../../infra/devnet/traffic/traffic.ts';
import {
  BEGIN,
  balancesOf,
  foldEffects,
  newChain,
  refold,
  supplyChange,
  testGenesis,
  transactionOf,
} from '../../../support/clt-world.ts';
import { fixedCases } from '../../../support/fixed-cases.ts';

const genesis = testGenesis();
const { faucet, mint_authority } = genesis.cast;
const SOMEBODY = `0x${'77'.repeat(20)}`;

/** A chain with all that it ever served, by height. */
class Served {
  readonly chain: Chain;
  readonly random: () => number;
  readonly genesis: Genesis;
  texts: string[];
  #now = BEGIN;

  constructor(seed: string, on: Genesis = genesis) {
    this.genesis = on;
    this.chain = newChain(on);
    this.texts = [on.block.text];
    this.random = seededRandom(seed);
  }

  get blocks(): readonly BlockJson[] {
    return this.texts.map((text): BlockJson => JSON.parse(text));
  }

  submit(from: string, call: FunctionCall): unknown {
    return this.chain.mempool.add(
      transactionOf(from, this.chain.mempool.account(from).nonce, call),
    );
  }

  traffic(count: number): void {
    for (let made = 0; made < count; made++) {
      const { key, call } = nextIntention(this.chain.state.rows, this.genesis.cast, this.random);
      this.submit(key.address, call);
    }
  }

  produce(): Block {
    const waiting = this.chain.mempool.size;
    const assembled = this.chain.propose((this.#now += 1_000));
    expect(assembled.block.transactions).toHaveLength(Math.min(waiting, 20_000));
    this.chain.append(assembled);
    this.#serve([assembled.block]);
    return assembled.block;
  }

  reorganise(depth: number): void {
    this.#serve(this.chain.reorganise(depth, this.#now, this.random).added);
  }

  #serve(blocks: readonly Block[]): void {
    for (const { height, text } of blocks) this.texts = [...this.texts.slice(0, height), text];
  }
}

type Step = 'block' | 'reorganisation' | 'mint' | 'stray';
const steps = fc.array(
  fc.constantFrom<Step>('block', 'block', 'block', 'reorganisation', 'mint', 'stray'),
  {
    minLength: 5,
    maxLength: 40,
  },
);

function take(served: Served, step: Step): void {
  const { chain } = served;
  switch (step) {
    case 'block':
      served.traffic(8);
      served.produce();
      break;
    case 'reorganisation': {
      const depth = Math.min(
        chain.head.height - chain.finalized_height,
        1 + Math.floor(served.random() * 6),
      );
      if (depth > 0) served.reorganise(depth);
      break;
    }
    case 'mint':
      served.submit(mint_authority.address, {
        function_call_type: 'Mint',
        arguments: { to: SOMEBODY, amount: 5_000_000n, reference: null },
      });
      break;
    case 'stray':
      // anybody may do anything that the rules refuse, or burn what they were given
      served.submit(SOMEBODY, {
        function_call_type: 'Burn',
        arguments: { amount: 1_000_000n, redemption_ref: null },
      });
      served.submit(SOMEBODY, {
        function_call_type: 'RidePay',
        arguments: { acceptance_hash: `0x${'00'.repeat(32)}`, fare: 1n },
      });
      break;
  }
}

test('after random calls only mints and burns change the supply, as the served blocks record it', () => {
  const seen = { reorganised: 0, transactions: new Set<string>() };
  fc.assert(
    fc.property(steps, fc.nat(1_000_000), (script, seed) => {
      const served = new Served(`property ${seed}`);
      for (const step of script) {
        take(served, step);
        if (step === 'reorganisation') seen.reorganised++;
      }
      const { chain, blocks } = served;
      for (const block of blocks.slice(1)) {
        const sum = block.balance_effects.reduce((total, { delta }) => total + BigInt(delta), 0n);
        expect(sum).toBe(supplyChange([block]));
        expect(block.balance_effects.every(({ delta }) => delta !== '0')).toBe(true);
        for (const { function_call_type } of block.transactions)
          seen.transactions.add(function_call_type);
      }
      expect(foldEffects(blocks)).toEqual(balancesOf(chain.state.rows));
      expect(chain.supply()).toBe(genesis.allocation + supplyChange(blocks));
      const balances = [...chain.state.rows.accounts.values()].map(({ balance }) => balance);
      expect(balances.reduce((total, balance) => total + balance, 0n)).toBe(chain.supply());
      expect(balances.every((balance) => balance >= 0n)).toBe(true);
      const owed = [...chain.state.rows.trips.values()].reduce(
        (total, { fare, paid }) => total + fare - paid,
        0n,
      );
      expect(chain.account(genesis.parameters.escrow).balance).toBe(owed);
    }),
    { numRuns: 20, examples: fixedCases(5, steps, fc.nat(1_000_000)) },
  );
  expect(seen.reorganised).toBeGreaterThan(0);
  expect([...seen.transactions].toSorted()).toEqual([
    'Burn',
    'Mint',
    'RideAcceptance',
    'RideCancel',
    'RideOffer',
    'RidePay',
    'RideRequest',
    'RideRequestCancel',
    'Transfer',
  ]);
});

test('after reorganisations re-executing the served blocks gives the same state and hashes', () => {
  const served = new Served('reorganisations');
  for (let round = 0; round < 25; round++) {
    for (let block = 0; block < 6; block++) take(served, 'block');
    const depthMax = served.chain.head.height - served.chain.finalized_height;
    served.reorganise(1 + (round % depthMax));
    const { rows, hashes } = refold(genesis, served.texts.slice(1));
    expect(rows).toEqual(served.chain.state.rows);
    expect(hashes).toEqual(served.blocks.slice(1).map(({ hash }) => hash));
  }
});

test('rolling blocks back restores every row', () => {
  const served = new Served('roll back');
  for (let block = 0; block < 10; block++) take(served, 'block');
  const before = served.chain.state.rowsBefore([]);
  const { head } = served.chain;
  for (let block = 0; block < 6; block++) take(served, 'block');
  expect(served.chain.state.rows).not.toEqual(before);
  served.chain.rollBack(6);
  expect(served.chain.state.rows).toEqual(before);
  expect(served.chain.head).toMatchObject({ height: head.height, hash: head.hash });
});

test('a reorganisation adds one block, changes the hashes and keeps the final chain', () => {
  const served = new Served('branch');
  for (let block = 0; block < 12; block++) take(served, 'block');
  const before = served.blocks;
  served.reorganise(4);
  const after = served.blocks;
  expect(after).toHaveLength(before.length + 1);
  const same = after.map(({ hash }, height) => hash === before[height]?.hash);
  expect(same).toEqual([
    ...Array.from({ length: 9 }, () => true),
    ...Array.from({ length: 5 }, () => false),
  ]);
  for (const [height, block] of after.entries()) {
    expect(block.parent_hash).toBe(after[height - 1]?.hash ?? `0x${'0'.repeat(64)}`);
    expect(block.timestamp).toBeGreaterThan(after[height - 1]?.timestamp ?? 0);
  }
});

test('final blocks cannot be reorganised', () => {
  const served = new Served('final');
  for (let block = 0; block < 10; block++) served.produce();
  expect(served.chain.finalized_height).toBe(4);
  expect(() => served.reorganise(7)).toThrow('cannot reorganise 7 blocks');
  served.reorganise(6);
  expect(served.chain.head.height).toBe(11);
  expect(served.chain.finalized_height).toBe(5);
});

test('transactions that a reorganisation leaves out wait while they are valid', () => {
  const served = new Served('left out');
  for (let sent = 0; sent < 30; sent++)
    served.submit(faucet.address, {
      function_call_type: 'Transfer',
      arguments: { to: SOMEBODY, amount: 1n },
    });
  served.produce();
  served.reorganise(1);
  // all of one sender, in order: none of them can have become invalid
  served.produce();
  const nonces = served.blocks.flatMap(({ transactions }) =>
    transactions.map(({ nonce }) => nonce),
  );
  expect(nonces).toEqual(Array.from({ length: 30 }, (_, nonce) => nonce));
  expect(served.chain.mempool.size).toBe(0);
});

test('validators take turns, and some have a separate reward recipient', () => {
  const served = new Served('turns');
  for (let block = 0; block < 10; block++) served.produce();
  const made = served.blocks.slice(1);
  expect(new Set(made.map(({ producer }) => producer)).size).toBe(5);
  expect(
    made.filter(({ producer, reward_recipient }) => producer !== reward_recipient),
  ).toHaveLength(4);
});

test('the producer earns the fees in one effect, and the pool pays the reward', () => {
  const served = new Served('fees');
  for (const amount of [1n, 2n, 3n])
    served.submit(faucet.address, {
      function_call_type: 'Transfer',
      arguments: { to: SOMEBODY, amount },
    });
  const block: BlockJson = JSON.parse(served.produce().text);
  expect(block.balance_effects.filter(({ tx_index }) => tx_index === null)).toEqual([
    {
      address: block.producer,
      kind: 'tx_fee_earned',
      delta: '3000',
      tx_index: null,
      counterparty: null,
    },
    {
      address: genesis.parameters.reward_pool,
      kind: 'block_reward',
      delta: '-50000',
      tx_index: null,
      counterparty: null,
    },
    {
      address: block.reward_recipient,
      kind: 'block_reward',
      delta: '50000',
      tx_index: null,
      counterparty: null,
    },
  ]);
  expect(block.balance_effects.filter(({ kind }) => kind === 'tx_fee_paid')).toHaveLength(3);
});

test('the reward is capped by the reward pool', () => {
  const poor: Genesis = {
    ...genesis,
    rows: () => {
      const rows = genesis.rows();
      rows.accounts.set(genesis.parameters.reward_pool, { balance: 70_000n, nonce: 0 });
      return rows;
    },
  };
  const served = new Served('poor', poor);
  const rewards = [served.produce(), served.produce(), served.produce()].map(
    ({ text }): BlockJson => JSON.parse(text),
  );
  expect(rewards.map(({ block_reward }) => block_reward)).toEqual(['50000', '20000', '0']);
  expect(rewards[2]?.balance_effects).toEqual([]);
});

test('a waiting transaction is already_known and raises the next nonce', () => {
  const { chain } = new Served('known');
  const first = transactionOf(faucet.address, 0, {
    function_call_type: 'Transfer',
    arguments: { to: SOMEBODY, amount: 1n },
  });
  const second = transactionOf(faucet.address, 0, {
    function_call_type: 'Transfer',
    arguments: { to: SOMEBODY, amount: 2n },
  });
  expect(chain.mempool.add(first)).toBeUndefined();
  expect(chain.mempool.add(first)).toMatchObject({ refused: 'already_known' });
  expect(chain.mempool.add(second)).toMatchObject({ refused: 'nonce_too_low' });
  expect(chain.account(faucet.address).nonce).toBe(0);
  expect(chain.mempool.account(faucet.address).nonce).toBe(1);
});

test('an account is known as of every unfinalized block', () => {
  const served = new Served('past');
  const history = [];
  for (let block = 0; block < 12; block++) {
    if (block % 2 === 0)
      served.submit(faucet.address, {
        function_call_type: 'Transfer',
        arguments: { to: SOMEBODY, amount: 1n },
      });
    served.produce();
    history.push(served.chain.account(SOMEBODY).balance);
  }
  for (let height = 6; height <= 12; height++) {
    expect(served.chain.account(SOMEBODY, height).balance).toBe(history[height - 1]);
    expect(served.chain.supply(height)).toBe(genesis.allocation);
  }
});

test('the same settings and calls give the same chain', () => {
  const [once, again] = [new Served('twice'), new Served('twice')];
  for (const step of ['block', 'block', 'mint', 'block', 'reorganisation', 'block'] as const) {
    take(once, step);
    take(again, step);
  }
  expect(once.texts).toEqual(again.texts);
});

test('a block takes at most 20,000 transactions', () => {
  const served = new Served('large');
  const call = { function_call_type: 'Transfer', arguments: { to: SOMEBODY, amount: 1n } } as const;
  const refused = Array.from({ length: 20_005 }, (_, nonce) =>
    served.chain.mempool.add(transactionOf(faucet.address, nonce, call)),
  );
  expect(new Set(refused)).toEqual(new Set([undefined]));
  expect(served.produce().transactions).toHaveLength(20_000);
  expect(served.produce().transactions).toHaveLength(5);
});

test('a reorganisation spreads the transactions over its blocks and leaves some to wait', () => {
  const served = new Served('spread');
  const all = 400;
  for (let block = 0; block < 4; block++) {
    for (const [index, { address }] of genesis.cast.passengers.entries()) {
      for (let sent = 0; sent < 4 + (index % 3); sent++)
        served.submit(address, {
          function_call_type: 'Transfer',
          arguments: { to: SOMEBODY, amount: 1n },
        });
    }
    served.produce();
  }
  const before = served.blocks.map(({ transactions }) => transactions.length);
  expect(before.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(all);
  served.reorganise(4);
  const after = served.blocks.map(({ transactions }) => transactions.length);
  expect(after).not.toEqual(before);
  expect(after.reduce((sum, count) => sum + count, 0) + served.chain.mempool.size).toBe(
    before.reduce((sum, count) => sum + count, 0),
  );
  expect(after.slice(1).filter((count) => count > 0).length).toBeGreaterThan(1);
});
