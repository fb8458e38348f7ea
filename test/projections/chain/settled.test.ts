import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EMPTY_CHAIN, evolve, type Chain } from '../../../projections/chain/chain.ts';
import { revertedBelow, settled } from '../../../projections/chain/chain.ts';
import type { Recorded } from '../../../projections/contract/projection.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { chainEvents, TestChain } from '../../support/chain.ts';
import { raceOfWriters } from './writers.ts';
import { fixedCases } from '../../support/fixed-cases.ts';

function recorded(events: readonly ChainEvent[], from = 0): Recorded<ChainEvent>[] {
  return events.map((event, at) => ({
    event,
    partition: 0,
    offset: BigInt(from + at),
    timestamp: 0,
  }));
}

function grown(blocks: number): { chain: TestChain; events: ChainEvent[] } {
  const chain = new TestChain({ seed: 1 });
  return { chain, events: Array.from({ length: blocks }, () => chain.append(0)) };
}

test('no transaction is settled before a block is final', () => {
  expect(settled([])).toBe(0);
  const { chain, events } = grown(4);
  expect(settled(recorded([...events, chain.revert()]))).toBe(0);
});

test('records up to that of the newest final block are settled, later ones are not', () => {
  const { chain, events } = grown(4);
  const batch = [...events, chain.finalize(1), chain.append(0), chain.finalize(2), chain.append(0)];
  expect(settled(recorded(batch))).toBe(3);
});

test('a branch reverted before the final block is settled with it, a later one is not', () => {
  const { chain, events } = grown(2);
  const left = [chain.append(0), chain.revert()];
  const after = [
    chain.append(0),
    chain.append(0),
    chain.revert(),
    chain.finalize(2),
    chain.append(0),
    chain.revert(),
  ];
  expect(settled(recorded([...events, ...left, ...after]))).toBe(events.length + left.length + 1);
});

test('finality of an earlier block, or of another block at its height, settles nothing', () => {
  const { chain, events } = grown(3);
  const final = chain.finalize(1);
  expect(settled(recorded([...events.slice(2), final], 2))).toBe(0);
  expect(settled(recorded([...events, { ...final, hash: Buffer.alloc(32, 7) }]))).toBe(0);
});

test('an event at another offset than its own sequence has no effect', () => {
  const { chain, events } = grown(3);
  const final = chain.finalize(2);
  expect(settled(recorded([...events, { ...final, sequence: 9 }]))).toBe(0);
  const strayed = { ...chain.append(0), sequence: 99 };
  expect(
    settled(
      recorded([
        ...events.slice(0, 2),
        strayed,
        { ...final, height: 1, hash: events[1]?.hash ?? final.hash },
      ]),
    ),
  ).toBe(2);
  const twice = [...events, final, ...events, final];
  expect(settled(recorded(twice))).toBe(3);
});

test('only blocks from before the batch are reverted below it', () => {
  const { chain, events } = grown(4);
  const batch = [
    chain.append(0),
    chain.revert(),
    chain.revert(),
    chain.revert(),
    chain.append(0),
    chain.revert(),
  ];
  expect(revertedBelow(recorded(batch, events.length))).toEqual([3, 2]);
  expect(revertedBelow(recorded([...events, ...batch]))).toEqual([]);
  expect(revertedBelow(recorded(batch, events.length + 1))).toEqual([]);
});

/**
 * Plays the log in batches that end at settled records; returns the heights that were reverted
 * after being stored.
 */
function storedThatLeft(
  log: readonly ChainEvent[],
  sizes: readonly number[],
): { left: number[]; cuts: number } {
  const left: number[] = [];
  let held: Recorded<ChainEvent>[] = [];
  let cuts = 0;
  for (let from = 0, at = 0; from < log.length; at++) {
    const size = sizes[at % sizes.length] ?? 1;
    held.push(...recorded(log.slice(from, from + size), from));
    from += size;
    const count = settled(held);
    if (count > 0 && count < held.length) cuts++;
    left.push(...revertedBelow(held.slice(0, count)));
    held = held.slice(count);
  }
  return { left, cuts };
}

const SIZES = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 });

test('with any batch sizes, no later record undoes a settled transaction', () => {
  let cuts = 0;
  fc.assert(
    fc.property(fc.nat(), SIZES, (seed, sizes) => {
      const log = [
        ...chainEvents({
          seed,
          blocks: 60,
          transactions_per_block: 0,
          reorg_probability: 0.3,
          accounts: 8,
        }),
      ];
      const played = storedThatLeft(log, sizes);
      expect(played.left).toEqual([]);
      cuts += played.cuts;
    }),
    { examples: fixedCases(20, fc.nat(), SIZES) },
  );
  fc.assert(
    fc.property(raceOfWriters(), SIZES, ({ log }, sizes) => {
      expect(storedThatLeft(log, sizes).left).toEqual([]);
    }),
  );
  expect(cuts).toBeGreaterThan(50);
});

test('every certain record is settled: no block after them is final to the fold', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.nat().map(lifeOf),
        raceOfWriters().map(({ log }) => log),
      ),
      (log) => {
        const batch = recorded(log);
        let chain: Chain = EMPTY_CHAIN;
        const standing: { height: number; records: number }[] = [];
        for (const [at, { event, offset }] of batch.entries()) {
          const judged = evolve(chain, event, offset);
          if (judged.verdict !== 'applied') continue;
          chain = judged.chain;
          if (event.type === 'BlockAppended')
            standing.push({ height: event.height, records: at + 1 });
          if (event.type === 'BlockReverted') standing.pop();
        }
        const final = chain.status === 'empty' ? -1 : chain.finalized_height;
        expect(settled(batch)).toBe(
          standing.findLast(({ height }) => height <= final)?.records ?? 0,
        );
      },
    ),
  );
});

function lifeOf(seed: number): readonly ChainEvent[] {
  return [
    ...chainEvents({
      seed,
      blocks: 40,
      transactions_per_block: 0,
      reorg_probability: 0.3,
      accounts: 8,
    }),
  ];
}
