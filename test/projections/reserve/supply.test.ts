import { expect, test } from 'vitest';
import { ChainSupply } from '../../../projections/reserve/supply.ts';
import type { BlockAppended, ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { ChainByHand, named } from '../../support/chain-by-hand.ts';
import { chainEvents } from '../../support/chain.ts';

const ALICE = named('alice');

function foldOf(events: readonly ChainEvent[]): ChainSupply {
  const supply = new ChainSupply();
  for (const [offset, event] of events.entries())
    expect(supply.apply(event, BigInt(offset))).not.toHaveProperty('broken');
  return supply;
}

/** The final blocks of a log in ascending order, up to the last finalized height. */
function plainFinal(events: readonly ChainEvent[]): readonly BlockAppended[] {
  const standing: BlockAppended[] = [];
  let final = -1;
  for (const event of events) {
    if (event.type === 'BlockAppended') standing.push(event);
    else if (event.type === 'BlockReverted') standing.pop();
    else final = event.height;
  }
  return standing.filter(({ height }) => height <= final);
}

function sum(deltas: readonly bigint[]): bigint {
  return deltas.reduce((total, delta) => total + delta, 0n);
}

test.each([1, 2, 3])(
  'the supply of a reorganizing chain (seed %i) is that of its final blocks',
  (seed) => {
    const events = [...chainEvents({ seed, blocks: 150, reorg_probability: 0.2 })];
    const supply = foldOf(events);
    const blocks = plainFinal(events);
    const [genesis, ...others] = blocks;
    const last = others.at(-1);
    if (genesis === undefined || last === undefined)
      throw new Error('a chain of more than one final block');
    const effects = blocks.flatMap(({ balance_effects: balanceEffects }) => balanceEffects);
    expect(supply.final).toEqual({
      height: last.height,
      hash: last.hash,
      timestamp: last.timestamp,
      genesis_allocation: sum(genesis.balance_effects.map(({ delta }) => delta)),
      supply: sum(effects.map(({ delta }) => delta)),
      burned: -sum(effects.filter(({ kind }) => kind === 'burn').map(({ delta }) => delta)),
    });
    let minted = 0;
    const final = new Set<string>();
    for (const { height, transactions } of others) {
      for (const { hash, to, amount, function_call_type: functionCallType } of transactions) {
        if (functionCallType !== 'Mint') continue;
        minted++;
        final.add(hash.toString('hex'));
        expect(supply.mintsOf(hash)).toEqual([{ height, to, amount }]);
      }
    }
    expect(minted).toBeGreaterThan(0);
    const all = events.flatMap((event) =>
      event.type === 'BlockAppended' ? event.transactions : [],
    );
    for (const { hash } of all)
      if (!final.has(hash.toString('hex'))) expect(supply.mintsOf(hash)).toEqual([]);
  },
);

test('a void record and a repeated record have no effect', () => {
  const chain = new ChainByHand();
  chain.append({ effects: [{ address: ALICE, kind: 'mint', delta: 7n }] });
  chain.finalize();
  const supply = foldOf(chain.log);
  const before = supply.final;
  const stray: ChainEvent = {
    ...chain.append({ effects: [{ address: ALICE, kind: 'mint', delta: 5n }] }),
    sequence: 1,
  };
  expect(supply.apply(stray, 2n)).toBe('ignored');
  expect(supply.apply(stray, 2n)).toBe('replayed');
  expect([supply.final, supply.end]).toEqual([before, 3n]);
  // the mark of a transaction takes an offset
  expect(supply.apply(stray, 5n)).toBe('ignored');
  expect(supply.end).toBe(6n);
});

test('an impossible log is broken, and none of its records count', () => {
  const chain = new ChainByHand();
  chain.append();
  chain.append();
  const [, second] = chain.log;
  if (second === undefined) throw new Error('there are two');
  const middle = new ChainSupply();
  expect(middle.apply({ ...second, sequence: 0 }, 0n)).toEqual({
    broken: expect.stringContaining('the first block is 1, not 0'),
  });
  const orphan = new ChainSupply();
  expect(orphan.apply({ ...second, type: 'BlocksFinalized', sequence: 0 }, 0n)).toEqual({
    broken: expect.stringContaining('there is no block yet'),
  });
  expect(middle.final).toBe(undefined);
});
