/**
 * Independent writers of `chain.blocks`: each plans an append for the end of the log that it has
 * seen, and the append lands later.
 */
import * as fc from 'fast-check';
import { EMPTY_CHAIN, evolve, type Chain } from '../../../projections/chain/chain.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';

interface Link {
  readonly height: number;
  readonly hash: Buffer;
  readonly parent_hash: Buffer;
}

/** A node as one writer sees it at one moment. */
interface Node {
  readonly links: readonly Link[];
  readonly finalized_height: number;
}

const WRITERS = 3;
const NOBODY = Buffer.alloc(20);
const CONTENT = {
  timestamp: 0,
  producer: NOBODY,
  reward_recipient: NOBODY,
  block_reward: 0n,
  transactions: [],
  balance_effects: [],
};

type Step =
  | { readonly does: 'grow'; readonly blocks: number }
  | { readonly does: 'reorganise'; readonly depth: number }
  | { readonly does: 'finalise'; readonly blocks: number }
  | {
      readonly does: 'compute' | 'land' | 'land twice';
      readonly writer: number;
      readonly most: number;
    };

const WRITING = fc.record({
  does: fc.constantFrom(
    'compute' as const,
    'compute' as const,
    'land' as const,
    'land' as const,
    'land twice' as const,
  ),
  writer: fc.nat({ max: WRITERS - 1 }),
  most: fc.integer({ min: 1, max: 6 }),
});

const STEPS: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        does: fc.constant('grow' as const),
        blocks: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        does: fc.constant('reorganise' as const),
        depth: fc.integer({ min: 1, max: 4 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        does: fc.constant('finalise' as const),
        blocks: fc.integer({ min: 1, max: 3 }),
      }),
    },
    { weight: 8, arbitrary: WRITING },
  ),
  { minLength: 30, maxLength: 80, size: 'max' },
);

/** The log that such writers leave. */
export function raceOfWriters(): fc.Arbitrary<{ readonly log: readonly ChainEvent[] }> {
  return STEPS.map((steps) => ({ log: run(steps) }));
}

function run(steps: readonly Step[]): readonly ChainEvent[] {
  const log: ChainEvent[] = [];
  const underway = new Map<number, readonly ChainEvent[]>();
  let node: Node = { links: [], finalized_height: -1 };
  let named = 0;
  for (const step of steps) {
    switch (step.does) {
      case 'grow':
        for (let at = 0; at < step.blocks; at++) node = grown(node, ++named);
        break;
      case 'reorganise': {
        const depth = Math.min(step.depth, node.links.length - 1 - node.finalized_height);
        node = { ...node, links: node.links.slice(0, node.links.length - depth) };
        for (let at = 0; at <= depth; at++) node = grown(node, ++named);
        break;
      }
      case 'finalise':
        node = {
          ...node,
          finalized_height: Math.min(node.links.length - 1, node.finalized_height + step.blocks),
        };
        break;
      case 'compute':
        if (!underway.has(step.writer)) underway.set(step.writer, batchOf(log, node, step.most));
        break;
      case 'land':
      case 'land twice':
        for (let times = step.does === 'land' ? 1 : 2; times > 0; times--)
          log.push(...(underway.get(step.writer) ?? []));
        underway.delete(step.writer);
        break;
    }
  }
  return log;
}

function grown({ links, finalized_height }: Node, name: number): Node {
  const parent = links.at(-1);
  const hash = Buffer.alloc(32);
  hash.writeUInt32BE(name);
  return {
    links: [
      ...links,
      { height: links.length, hash, parent_hash: parent?.hash ?? Buffer.alloc(32) },
    ],
    finalized_height,
  };
}

/**
 * The events from the common block of log and node to the node's newest block, and its finality; at
 * most `most` events.
 */
function batchOf(log: readonly ChainEvent[], node: Node, most: number): readonly ChainEvent[] {
  const { chain, links } = standing(log);
  const final = chain.status === 'empty' ? -1 : chain.finalized_height;
  let sequence = log.length - 1;
  const isShared = ({ height, hash }: Link): boolean =>
    node.links[height]?.hash.equals(hash) === true;
  const shared = links.filter(isShared).length;
  const events: ChainEvent[] = links
    .slice(shared)
    .toReversed()
    .map(({ height, hash, parent_hash }) => ({
      type: 'BlockReverted',
      sequence: ++sequence,
      height,
      hash,
      parent_hash,
    }));
  for (const link of node.links.slice(shared))
    events.push({ type: 'BlockAppended', sequence: ++sequence, ...link, ...CONTENT });
  const newest = node.links[node.finalized_height];
  if (newest !== undefined && node.finalized_height > final) {
    events.push({
      type: 'BlocksFinalized',
      sequence: ++sequence,
      height: newest.height,
      hash: newest.hash,
    });
  }
  return events.slice(0, most);
}

function standing(log: readonly ChainEvent[]): { chain: Chain; links: Link[] } {
  let chain: Chain = EMPTY_CHAIN;
  const links: Link[] = [];
  for (const [offset, event] of log.entries()) {
    const judged = evolve(chain, event, BigInt(offset));
    if (judged.verdict === 'broken') throw new Error(judged.reason);
    if (judged.verdict !== 'applied') continue;
    chain = judged.chain;
    if (event.type === 'BlockAppended')
      links.push({ height: event.height, hash: event.hash, parent_hash: event.parent_hash });
    if (event.type === 'BlockReverted') links.pop();
  }
  return { chain, links };
}
