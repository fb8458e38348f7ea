/**
 * Chains that no node produces: negative balances, effects in any order and of any kind, and
 * reverts down to the first block.
 * The tables of any log equal a plain fold of the remaining blocks.
 */
import * as fc from 'fast-check';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { ChainByHand, named, type BlockByHand } from '../../support/chain-by-hand.ts';

const WHO = fc.constantFrom(
  ...['alice', 'bob', 'carol', 'dave', 'erin'].map((name) => named(name)),
);
const TYPES = fc.constantFrom(
  'Transfer',
  'RidePay',
  'RideAcceptance',
  'Ride',
  'ride',
  'constructor',
  '__proto__',
  'é "100%_"',
);
const KINDS = fc.constantFrom(
  'transfer_out',
  'tx_fee_paid',
  'tx_fee_earned',
  'block_reward',
  'constructor',
  '__proto__',
  'é "100%_"',
);
const DELTA = fc.oneof(
  fc.constant(0n),
  fc.bigInt({ min: -3n, max: 3n }),
  fc.bigInt({ min: -(1n << 90n), max: 1n << 90n }),
);

const BLOCK: fc.Arbitrary<BlockByHand> = fc
  .record({
    producer: WHO,
    transactions: fc.array(fc.record({ from: WHO, to: WHO, function_call_type: TYPES }), {
      maxLength: 4,
    }),
    effects: fc.array(
      fc.record({
        address: WHO,
        delta: DELTA,
        kind: KINDS,
        tx_index: fc.option(fc.nat({ max: 3 })),
        counterparty: fc.option(WHO),
      }),
      { maxLength: 8 },
    ),
  })
  .map(({ producer, transactions, effects }) => ({
    producer,
    transactions,
    effects: effects.map((effect) => ({
      ...effect,
      tx_index: indexWithin(effect.tx_index, transactions.length),
    })),
  }));

function indexWithin(index: number | null, transactions: number): number | null {
  return index === null || transactions === 0 ? null : index % transactions;
}

type Step =
  | { readonly does: 'append'; readonly block: BlockByHand }
  | { readonly does: 'revert'; readonly blocks: number }
  | { readonly does: 'finalize'; readonly depth: number };

const STEPS: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ does: fc.constant('append' as const), block: BLOCK }) },
    {
      weight: 3,
      arbitrary: fc.record({
        does: fc.constant('revert' as const),
        blocks: fc.integer({ min: 1, max: 4 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ does: fc.constant('finalize' as const), depth: fc.nat({ max: 4 }) }),
    },
  ),
  { minLength: 1, maxLength: 30, size: 'max' },
);

export interface WildChain {
  readonly log: readonly ChainEvent[];
}

export const WILD_CHAINS: fc.Arbitrary<WildChain> = STEPS.map((steps) => {
  const chain = new ChainByHand();
  let finalized = -1;
  for (const step of steps) {
    if (step.does === 'append') chain.append(step.block);
    if (step.does === 'revert') chain.revert(Math.min(step.blocks, chain.height - finalized));
    if (step.does === 'finalize' && chain.height - step.depth > finalized) {
      finalized = chain.height - step.depth;
      chain.finalize(finalized);
    }
  }
  return { log: chain.log };
});
