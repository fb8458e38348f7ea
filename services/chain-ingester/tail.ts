/**
 * The end of the log: its end offset and the blocks that may still be reverted. The log itself is
 * the cursor: the tail is read back from it at every start, with the same fold as every projection.
 */
import type {
  BlockAppended,
  BlockReverted,
  BlocksFinalized,
  ChainEvent,
} from '../../schemas/chain.blocks/events.ts';
import type { NodeBlock } from '../../schemas/chain-node.ts';
import { EMPTY_CHAIN, evolve, isInPlace, type Chain } from '../../projections/chain/chain.ts';
import { BrokenChain } from '../../schemas/hash-chain.ts';

export interface BlockLink {
  readonly height: number;
  readonly hash: Buffer;
  readonly parent_hash: Buffer;
}

export interface Tail {
  /** offset of the next record, which is the sequence of its event */
  readonly next_offset: bigint;
  readonly chain: Chain;
  /** the newest blocks without a gap, the newest last: at least all that are not final */
  readonly links: readonly BlockLink[];
}

export const EMPTY_TAIL: Tail = { next_offset: 0n, chain: EMPTY_CHAIN, links: [] };

/** Final blocks in the tail: none is needed, a few make messages clearer. */
const FINAL_LINKS_KEPT = 16;

/** The tail after the next record. Throws `BrokenChain` for an impossible one. */
export function continued(tail: Tail, event: ChainEvent): Tail {
  const { next_offset: nextOffset, chain, links } = tail;
  const judged = evolve(chain, event, nextOffset);
  if (judged.verdict === 'broken') throw new BrokenChain(nextOffset, judged.reason);
  if (judged.verdict !== 'applied') return { ...tail, next_offset: nextOffset + 1n };
  return { next_offset: nextOffset + 1n, chain: judged.chain, links: linksAfter(links, event) };
}

/**
 * The tail shown by one record in the middle of the log, where reading back begins. Undefined when
 * the record does not count, or names no block.
 */
export function beginningAt(event: ChainEvent, offset: bigint): Tail | undefined {
  if (event.type === 'BlocksFinalized' || !isInPlace(event, offset)) return undefined;
  const top =
    event.type === 'BlockAppended' ? event : { height: event.height - 1, hash: event.parent_hash };
  return {
    next_offset: offset + 1n,
    chain: {
      status: 'growing',
      sequence: event.sequence,
      top: { height: top.height, hash: top.hash },
      finalized_height: -1,
    },
    links: event.type === 'BlockAppended' ? [linkOf(event)] : [],
  };
}

function linksAfter(links: readonly BlockLink[], event: ChainEvent): readonly BlockLink[] {
  switch (event.type) {
    case 'BlockAppended':
      return [...links, linkOf(event)];
    case 'BlockReverted':
      return links.slice(0, -1);
    case 'BlocksFinalized':
      return links.filter(({ height }) => height > event.height - FINAL_LINKS_KEPT);
  }
}

function linkOf({ height, hash, parent_hash }: BlockLink): BlockLink {
  return { height, hash, parent_hash };
}

/** True once every revertible block is known. */
export function reachesFinality({ chain, links }: Tail): boolean {
  const lowest = links[0];
  return (
    chain.status === 'growing' &&
    chain.finalized_height >= 0 &&
    lowest !== undefined &&
    lowest.height <= chain.finalized_height + 1
  );
}

export function linkAt({ links }: Tail, height: number): BlockLink | undefined {
  const lowest = links[0];
  return lowest === undefined ? undefined : links[height - lowest.height];
}

/** Height up to which the log's blocks are final; -1 when none is. */
export function finalHeightOf({ chain }: Tail): number {
  return chain.status === 'empty' ? -1 : chain.finalized_height;
}

/** Height of the next block. */
export function nextHeight({ chain }: Tail): number {
  return chain.status === 'empty' ? 0 : chain.top.height + 1;
}

/** The event that appends the block; undefined when the node is on another branch. */
export function appended(tail: Tail, block: NodeBlock): BlockAppended | undefined {
  const { chain } = tail;
  if (
    chain.status === 'growing' &&
    (block.height !== chain.top.height + 1 || !block.parent_hash.equals(chain.top.hash))
  )
    return undefined;
  return { type: 'BlockAppended', sequence: Number(tail.next_offset), ...block };
}

/** The event that reverts the newest block; undefined when it is final or unknown. */
export function reverted(tail: Tail): BlockReverted | undefined {
  const top = tail.links.at(-1);
  if (
    top === undefined ||
    tail.chain.status === 'empty' ||
    top.height <= tail.chain.finalized_height
  )
    return undefined;
  return {
    type: 'BlockReverted',
    sequence: Number(tail.next_offset),
    height: top.height,
    hash: top.hash,
    parent_hash: top.parent_hash,
  };
}

/** The event that finalizes a height; undefined when it is final already, or unknown. */
export function finalized(tail: Tail, height: number): BlocksFinalized | undefined {
  const link = linkAt(tail, height);
  if (link === undefined || tail.chain.status === 'empty' || height <= tail.chain.finalized_height)
    return undefined;
  return {
    type: 'BlocksFinalized',
    sequence: Number(tail.next_offset),
    height: link.height,
    hash: link.hash,
  };
}
