import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EMPTY_CHAIN, evolve, type Chain, type Growing } from '../../../projections/chain/chain.ts';
import type {
  BlockAppended,
  BlockReverted,
  BlocksFinalized,
  ChainEvent,
} from '../../../schemas/chain.blocks/events.ts';
import { chainEvents } from '../../support/chain.ts';
import { raceOfWriters } from './writers.ts';
import { fixedCases } from '../../support/fixed-cases.ts';

const hashOf = (name: string): Buffer => Buffer.from(name.padEnd(32, '.'));
const NOBODY = Buffer.alloc(20);

function block(sequence: number, height: number, name: string, parent: string): BlockAppended {
  const empty = {
    timestamp: 0,
    producer: NOBODY,
    reward_recipient: NOBODY,
    block_reward: 0n,
    transactions: [],
    balance_effects: [],
  };
  return {
    type: 'BlockAppended',
    sequence,
    height,
    hash: hashOf(name),
    parent_hash: hashOf(parent),
    ...empty,
  };
}

function revert(sequence: number, height: number, name: string, parent: string): BlockReverted {
  return {
    type: 'BlockReverted',
    sequence,
    height,
    hash: hashOf(name),
    parent_hash: hashOf(parent),
  };
}

function final(sequence: number, height: number, name: string): BlocksFinalized {
  return { type: 'BlocksFinalized', sequence, height, hash: hashOf(name) };
}

/** Blocks a0, b1, c2; the newest event stands at offset 5. */
const CHAINS = {
  empty: EMPTY_CHAIN,
  'nothing final': growing(-1),
  'two of three final': growing(1),
  'all final': growing(2),
} as const satisfies Record<string, Chain>;

function growing(finalized: number): Growing {
  return {
    status: 'growing',
    sequence: 5,
    top: { height: 2, hash: hashOf('c2') },
    finalized_height: finalized,
  };
}

/** Each written for the offset where it stands, unless its name says otherwise. */
const EVENTS = {
  'a first block': at(6, block(6, 0, 'a0', '')),
  'the next block': at(6, block(6, 3, 'd3', 'c2')),
  'the next block, after others that do not count': at(9, block(9, 3, 'd3', 'c2')),
  'a block on another parent': at(6, block(6, 3, 'D3', 'C2')),
  'a block at another height': at(6, block(6, 4, 'd3', 'c2')),
  'the newest block again': at(5, block(5, 2, 'c2', 'b1')),
  'the newest block, a second time in the log': at(6, block(5, 2, 'c2', 'b1')),
  'the next block, written for an earlier place': at(7, block(6, 3, 'd3', 'c2')),
  'the next block, written for a later place': at(6, block(7, 3, 'd3', 'c2')),
  'the newest block leaving': at(6, revert(6, 2, 'c2', 'b1')),
  'another block leaving': at(6, revert(6, 2, 'C2', 'b1')),
  'a lower block leaving': at(6, revert(6, 1, 'b1', 'a0')),
  'a block leaving again': at(4, revert(4, 2, 'c2', 'b1')),
  'a block leaving, written for another place': at(7, revert(6, 2, 'c2', 'b1')),
  'the newest becoming final': at(6, final(6, 2, 'c2')),
  'another block becoming final at its height': at(6, final(6, 2, 'C2')),
  'a block above the newest becoming final': at(6, final(6, 3, 'd3')),
  'a lower block becoming final': at(6, final(6, 0, 'a0')),
  'finality again': at(3, final(3, 1, 'b1')),
  'finality, written for another place': at(7, final(9, 2, 'c2')),
} as const satisfies Record<string, Placed>;

interface Placed {
  readonly offset: bigint;
  readonly event: ChainEvent;
}

function at(offset: number, event: ChainEvent): Placed {
  return { offset: BigInt(offset), event };
}

type State = keyof typeof CHAINS;
type Happening = keyof typeof EVENTS;
/** the newest and the final height afterwards; or no change; or the reason why the log is broken */
type Cell = readonly [height: number, finalized: number] | 'ignored' | 'replayed' | RegExp;

const NOT_LINKED = /the newest block is 2 [0-9a-f]{64}, to which it does not link$/;
const NEWEST = /the newest block is 2 [0-9a-f]{64}$/;
const NO_BLOCK = /there is no block yet$/;
const FINAL = /blocks up to \d are final$/;
const FINAL_ALREADY = /blocks up to \d are final already$/;

const TABLE: Record<Happening, Record<State, Cell>> = {
  'a first block': row([0, -1], NOT_LINKED),
  'the next block': row([3, -1], [3, -1], [3, 1], [3, 2]),
  'the next block, after others that do not count': row([3, -1], [3, -1], [3, 1], [3, 2]),
  'a block on another parent': row([3, -1], NOT_LINKED),
  'a block at another height': row([4, -1], NOT_LINKED),
  'the newest block again': row([2, -1], 'replayed'),
  'the newest block, a second time in the log': row('ignored', 'ignored'),
  'the next block, written for an earlier place': row('ignored', 'ignored'),
  'the next block, written for a later place': row('ignored', 'ignored'),
  'the newest block leaving': row(NO_BLOCK, [1, -1], [1, 1], FINAL),
  'another block leaving': row(NO_BLOCK, NEWEST),
  'a lower block leaving': row(NO_BLOCK, NEWEST),
  'a block leaving again': row(NO_BLOCK, 'replayed'),
  'a block leaving, written for another place': row('ignored', 'ignored'),
  'the newest becoming final': row(NO_BLOCK, [2, 2], [2, 2], FINAL_ALREADY),
  'another block becoming final at its height': row(NO_BLOCK, NEWEST, NEWEST, FINAL_ALREADY),
  'a block above the newest becoming final': row(NO_BLOCK, NEWEST),
  'a lower block becoming final': row(NO_BLOCK, [2, 0], FINAL_ALREADY, FINAL_ALREADY),
  'finality again': row(NO_BLOCK, 'replayed'),
  'finality, written for another place': row('ignored', 'ignored'),
};

/** One row of the table; a growing state not given is as the one before it. */
function row(
  empty: Cell,
  nothing: Cell,
  two: Cell = nothing,
  all: Cell = two,
): Record<State, Cell> {
  return { empty, 'nothing final': nothing, 'two of three final': two, 'all final': all };
}

const CELLS = keysOf(TABLE).flatMap((happening) =>
  keysOf(TABLE[happening]).map((state) => ({ state, happening, cell: TABLE[happening][state] })),
);

function keysOf<Key extends string>(table: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(table).filter((key): key is Key => key in table);
}

test.each(CELLS)('$state: $happening', ({ state, happening, cell }) => {
  const chain: Chain = CHAINS[state];
  const { event, offset }: Placed = EVENTS[happening];
  const judged = evolve(chain, event, offset);
  if (cell instanceof RegExp) {
    expect(judged).toEqual({ verdict: 'broken', reason: expect.stringMatching(cell) });
    expect(judged).toMatchObject({
      reason: expect.stringContaining(
        `${event.type} ${event.sequence} at height ${event.height}: `,
      ),
    });
  } else if (typeof cell === 'string') {
    expect(judged).toEqual({ verdict: cell });
  } else {
    const [height, finalized] = cell;
    expect(judged).toMatchObject({
      verdict: 'applied',
      chain: { sequence: event.sequence, top: { height }, finalized_height: finalized },
    });
  }
});

test('the table of states and events has every cell', () => {
  expect(CELLS).toHaveLength(Object.keys(CHAINS).length * Object.keys(EVENTS).length);
});

test('the new top is the appended block, or the parent of the reverted one', () => {
  const grown = [block(0, 0, 'a0', ''), block(1, 1, 'b1', 'a0')];
  expect(play(grown).chain).toMatchObject({ top: { height: 1, hash: hashOf('b1') } });
  expect(play([...grown, revert(2, 1, 'b1', 'a0')]).chain).toMatchObject({
    top: { height: 0, hash: hashOf('a0') },
  });
});

test('a batch that lost a race has no effect as a whole', () => {
  const winner = [block(0, 0, 'a0', ''), block(1, 1, 'b1', 'a0'), final(2, 0, 'a0')];
  const loser = [
    block(1, 1, 'b1', 'a0'),
    block(2, 2, 'c2', 'b1'),
    final(3, 1, 'b1'),
    block(4, 3, 'd3', 'c2'),
  ];
  const { verdicts, chain } = play([...winner, ...loser, block(7, 2, 'C2', 'b1')]);
  expect(verdicts).toEqual([
    'applied',
    'applied',
    'applied',
    'ignored',
    'ignored',
    'ignored',
    'ignored',
    'applied',
  ]);
  expect(chain).toMatchObject({
    sequence: 7,
    top: { height: 2, hash: hashOf('C2') },
    finalized_height: 0,
  });
});

test('writers that race, with batches landing late, twice and in any order, never break the log', () => {
  let ignored = 0;
  let applied = 0;
  fc.assert(
    fc.property(raceOfWriters(), ({ log }) => {
      const { verdicts, reasons } = play(log);
      expect(reasons).toEqual([]);
      ignored += verdicts.filter((verdict) => verdict === 'ignored').length;
      applied += verdicts.filter((verdict) => verdict === 'applied').length;
    }),
    { numRuns: 400, examples: fixedCases(100, raceOfWriters()) },
  );
  expect(ignored).toBeGreaterThan(1_000);
  expect(applied).toBeGreaterThan(1_000);
});

test('a log read again from any offset continues unchanged', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.nat(), fc.nat(), (seed, from, to) => {
      const events = [
        ...chainEvents({
          seed,
          blocks: 30,
          transactions_per_block: 0,
          reorg_probability: 0.3,
          accounts: 8,
        }),
      ];
      const high = to % events.length;
      const low = from % (high + 1);
      const once = play(events);
      expect(new Set(once.verdicts)).toEqual(new Set(['applied']));
      const half = play(events.slice(0, high));
      const again = play(events.slice(low), half.chain, low);
      expect(again.chain).toEqual(once.chain);
      expect(again.verdicts).toEqual(
        events.slice(low).map((_, index) => (low + index < high ? 'replayed' : 'applied')),
      );
    }),
  );
});

/** The events as they stand in the log from offset `from` on. */
function play(
  events: readonly ChainEvent[],
  begun: Chain = EMPTY_CHAIN,
  from = 0,
): { verdicts: string[]; reasons: string[]; chain: Chain } {
  let chain = begun;
  const verdicts: string[] = [];
  const reasons: string[] = [];
  for (const [index, event] of events.entries()) {
    const judged = evolve(chain, event, BigInt(from + index));
    verdicts.push(judged.verdict);
    if (judged.verdict === 'broken') reasons.push(judged.reason);
    if (judged.verdict === 'applied') chain = judged.chain;
  }
  return { verdicts, reasons, chain };
}
