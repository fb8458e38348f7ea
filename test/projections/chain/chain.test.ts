import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EMPTY_CHAIN, evolve, type Chain, type Growing } from '../../../projections/chain/chain.ts';
import type { BlockAppended, BlockReverted, BlocksFinalized, ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { chainEvents } from '../../support/chain.ts';
import { raceOfWriters } from './writers.ts';

const hashOf = (name: string): Buffer => Buffer.from(name.padEnd(32, '.'));
const NOBODY = Buffer.alloc(20);

function block(sequence: number, height: number, name: string, parent: string): BlockAppended {
  const empty = { timestamp: 0, producer: NOBODY, reward_recipient: NOBODY, block_reward: 0n, transactions: [], balance_effects: [] };
  return { type: 'BlockAppended', sequence, height, hash: hashOf(name), parent_hash: hashOf(parent), ...empty };
}

function revert(sequence: number, height: number, name: string, parent: string): BlockReverted {
  return { type: 'BlockReverted', sequence, height, hash: hashOf(name), parent_hash: hashOf(parent) };
}

function final(sequence: number, height: number, name: string): BlocksFinalized {
  return { type: 'BlocksFinalized', sequence, height, hash: hashOf(name) };
}

/** Blocks a0, b1, c2: the next sequence of a growing chain is 6 throughout. */
const CHAINS = {
  empty: EMPTY_CHAIN,
  'nothing final': growing(-1, null),
  'two of three final': growing(1, null),
  'all final': growing(2, null),
  'a second writer lost event 4': growing(1, 4),
  'a second writer lost event 5': growing(1, 5),
} as const satisfies Record<string, Chain>;

function growing(finalized: number, contender: number | null): Growing {
  return { status: 'growing', sequence: 5, top: { height: 2, hash: hashOf('c2') }, finalized_height: finalized, contender };
}

const EVENTS = {
  'the first block': block(1, 0, 'a0', ''),
  'the next block': block(6, 3, 'd3', 'c2'),
  'a block on another parent': block(6, 3, 'D3', 'C2'),
  'a block at another height': block(6, 4, 'd3', 'c2'),
  'the newest block again': block(5, 2, 'c2', 'b1'),
  'a block after a hole': block(8, 3, 'd3', 'c2'),
  'the newest block leaving': revert(6, 2, 'c2', 'b1'),
  'another block leaving': revert(6, 2, 'C2', 'b1'),
  'a lower block leaving': revert(6, 1, 'b1', 'a0'),
  'a block leaving again': revert(4, 2, 'c2', 'b1'),
  'a block leaving after a hole': revert(7, 2, 'c2', 'b1'),
  'the newest becoming final': final(6, 2, 'c2'),
  'another block becoming final at its height': final(6, 2, 'C2'),
  'a block above the newest becoming final': final(6, 3, 'd3'),
  'a lower block becoming final': final(6, 0, 'a0'),
  'finality again': final(3, 1, 'b1'),
  'finality after a hole': final(9, 2, 'c2'),
} as const satisfies Record<string, ChainEvent>;

type State = keyof typeof CHAINS;
type Happening = keyof typeof EVENTS;
/** the newest height and the final one afterwards; or that nothing changes; or why the log cannot be right */
type Cell = readonly [height: number, finalized: number] | 'replayed' | RegExp;

const NOT_LINKED = /the newest block is 2 [0-9a-f]{64}, to which it does not link/;
const NEWEST = /the newest block is 2 [0-9a-f]{64}$/;
const MISSING = /events 6 to \d are missing before it/;
const BEGINNING = /must begin with event 1/;

const TABLE: Record<Happening, Record<State, Cell>> = {
  'the first block': all('replayed', { empty: [0, -1] }),
  'the next block': all([3, 1], { empty: BEGINNING, 'nothing final': [3, -1], 'all final': [3, 2] }),
  'a block on another parent': all(NOT_LINKED, { empty: BEGINNING, 'a second writer lost event 5': 'replayed' }),
  'a block at another height': all(NOT_LINKED, { empty: BEGINNING, 'a second writer lost event 5': 'replayed' }),
  'the newest block again': all('replayed', { empty: BEGINNING }),
  'a block after a hole': all(MISSING, { empty: BEGINNING }),
  'the newest block leaving': all([1, 1], { empty: BEGINNING, 'nothing final': [1, -1], 'all final': /blocks up to 2 are final/ }),
  'another block leaving': all(NEWEST, { empty: BEGINNING, 'a second writer lost event 5': 'replayed' }),
  'a lower block leaving': all(NEWEST, { empty: BEGINNING, 'a second writer lost event 5': 'replayed' }),
  'a block leaving again': all('replayed', { empty: BEGINNING }),
  'a block leaving after a hole': all(MISSING, { empty: BEGINNING }),
  'the newest becoming final': all([2, 2], { empty: BEGINNING }),
  'another block becoming final at its height': all(NEWEST, { empty: BEGINNING, 'a second writer lost event 5': 'replayed' }),
  'a block above the newest becoming final': all(NEWEST, { empty: BEGINNING, 'a second writer lost event 5': 'replayed' }),
  'a lower block becoming final': all([2, 1], { empty: BEGINNING, 'nothing final': [2, 0], 'all final': [2, 2] }),
  'finality again': all('replayed', { empty: BEGINNING }),
  'finality after a hole': all(MISSING, { empty: BEGINNING }),
};

/** One row of the table: `usual` for every growing state that `except` does not name. */
function all(usual: Cell, except: Partial<Record<State, Cell>> & { readonly empty: Cell }): Record<State, Cell> {
  return {
    empty: except.empty,
    'nothing final': except['nothing final'] ?? usual,
    'two of three final': except['two of three final'] ?? usual,
    'all final': except['all final'] ?? usual,
    'a second writer lost event 4': except['a second writer lost event 4'] ?? usual,
    'a second writer lost event 5': except['a second writer lost event 5'] ?? usual,
  };
}

const CELLS = keysOf(TABLE).flatMap((happening) =>
  keysOf(TABLE[happening]).map((state) => ({ state, happening, cell: TABLE[happening][state] })),
);

function keysOf<Key extends string>(table: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(table).filter((key): key is Key => key in table);
}

test.each(CELLS)('$state: $happening', ({ state, happening, cell }) => {
  const chain: Chain = CHAINS[state];
  const event: ChainEvent = EVENTS[happening];
  const judged = evolve(chain, event);
  if (cell instanceof RegExp) {
    expect(judged).toEqual({ verdict: 'broken', reason: expect.stringMatching(cell) });
    expect(judged).toMatchObject({ reason: expect.stringContaining(`${event.type} ${event.sequence} at height ${event.height}: `) });
  } else if (cell === 'replayed') {
    expect(judged).toEqual({ verdict: 'replayed', chain: { ...chain, contender: event.sequence } });
  } else {
    const [height, finalized] = cell;
    expect(judged).toMatchObject({ verdict: 'applied', chain: { sequence: event.sequence, top: { height }, finalized_height: finalized } });
  }
});

test('the table of states and events has every cell', () => {
  expect(CELLS).toHaveLength(Object.keys(CHAINS).length * Object.keys(EVENTS).length);
});

test('what follows from an event that lost its place is without effect for as long as its batch goes on, and no longer', () => {
  const winner = [block(1, 0, 'a0', ''), block(2, 1, 'b1', 'a0'), final(3, 0, 'a0')];
  const loser = [block(2, 1, 'b1', 'a0'), block(3, 2, 'c2', 'b1'), block(4, 3, 'd3', 'c2'), final(5, 1, 'b1')];
  const after = play([...winner, ...loser, block(4, 2, 'C2', 'b1')]);
  expect(after.verdicts).toEqual([...Array(3).fill('applied'), ...Array(4).fill('replayed'), 'applied']);
  expect(after.chain).toMatchObject({ sequence: 4, top: { height: 2, hash: hashOf('C2') }, contender: null });
  expect(play([...winner, ...loser, block(7, 4, 'e4', 'd3')]).verdicts.at(-1)).toBe('broken');
  expect(play([...winner, ...loser.slice(0, 2), block(5, 4, 'e4', 'd3')]).verdicts.at(-1)).toBe('broken');
});

test('a final height that fits keeps the batch of a writer that lost without effect, where it does not fit', () => {
  const winner = [block(1, 0, 'a0', ''), block(2, 1, 'b1', 'a0'), final(3, 0, 'a0')];
  const loser = [block(2, 1, 'b1', 'a0'), block(3, 2, 'c2', 'b1'), final(4, 1, 'b1'), block(5, 3, 'd3', 'c2')];
  const { verdicts, chain } = play([...winner, ...loser]);
  expect(verdicts).toEqual(['applied', 'applied', 'applied', 'replayed', 'replayed', 'applied', 'replayed']);
  expect(chain).toMatchObject({ sequence: 4, top: { height: 1 }, finalized_height: 1 });
});

test('writers that race, with batches landing late and in any order, never break the log', () => {
  let lost = 0;
  fc.assert(
    fc.property(raceOfWriters(), ({ log }) => {
      const { verdicts, chain, reasons } = play(log);
      expect(reasons).toEqual([]);
      lost += verdicts.filter((verdict) => verdict === 'replayed').length;
      if (log.length > 0) expect(chain.status).toBe('growing');
    }),
    { numRuns: 1_000 },
  );
  expect(lost).toBeGreaterThan(1_000);
});

test('a chain read again from anywhere up to anywhere goes on as if nothing had happened', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.nat(), fc.nat(), (seed, from, to) => {
      const events = [...chainEvents({ seed, blocks: 30, transactions_per_block: 0, reorg_probability: 0.3, accounts: 8 })];
      const high = to % events.length;
      const low = from % (high + 1);
      const again = [...events.slice(0, high), ...events.slice(low, high), ...events.slice(high)];
      const once = play(events);
      expect(once.verdicts.every((verdict) => verdict === 'applied')).toBe(true);
      expect(play(again).chain).toEqual(once.chain);
    }),
  );
});

function play(events: readonly ChainEvent[]): { verdicts: string[]; reasons: string[]; chain: Chain } {
  let chain: Chain = EMPTY_CHAIN;
  const verdicts: string[] = [];
  const reasons: string[] = [];
  for (const event of events) {
    const judged = evolve(chain, event);
    verdicts.push(judged.verdict);
    if (judged.verdict === 'broken') reasons.push(judged.reason);
    else chain = judged.chain;
  }
  return { verdicts, reasons, chain };
}
