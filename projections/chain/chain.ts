/**
 * The chain as topic `chain.blocks` tells it. It begins with the first block appended; from then on each event continues the count `sequence` by one: a
 * block on top of the newest, the newest leaving again, or a height becoming final. Whoever folds the topic, the writer included, judges by this one file,
 * so that repetitions, a second writer and a damaged log mean the same to everybody.
 */
import type { ChainEvent } from '../../schemas/chain.blocks/events.ts';

export type Chain =
  | { readonly status: 'empty' }
  | {
      readonly status: 'growing';
      readonly sequence: number;
      readonly top: { readonly height: number; readonly hash: Buffer };
      /** -1: nothing is final yet */
      readonly finalized_height: number;
    };

export type Judged =
  | { readonly verdict: 'applied'; readonly chain: Chain }
  /** seen before, or a second writer's event that lost its place: without effect */
  | { readonly verdict: 'replayed' }
  | { readonly verdict: 'broken'; readonly reason: string };

export const EMPTY_CHAIN: Chain = { status: 'empty' };

/** The one step of the fold. Total: a log that cannot be right is `broken`, never guessed at. */
export function evolve(chain: Chain, event: ChainEvent): Judged {
  const last = chain.status === 'empty' ? 0 : chain.sequence;
  if (event.sequence <= last) return { verdict: 'replayed' };
  if (event.sequence > last + 1) return broken(event, `events ${last + 1} to ${event.sequence - 1} are missing before it`);
  switch (event.type) {
    case 'BlockAppended': {
      if (chain.status === 'empty') return applied(event.sequence, event.height, event.hash, -1);
      if (event.height !== chain.top.height + 1 || !event.parent_hash.equals(chain.top.hash)) {
        return broken(event, `it does not link to the newest block ${chain.top.height} ${chain.top.hash.toString('hex')}`);
      }
      return applied(event.sequence, event.height, event.hash, chain.finalized_height);
    }
    case 'BlockReverted': {
      if (chain.status === 'empty') return broken(event, 'there is no block to revert');
      if (event.height !== chain.top.height || !event.hash.equals(chain.top.hash)) {
        return broken(event, `the newest block is ${chain.top.height} ${chain.top.hash.toString('hex')}`);
      }
      if (event.height <= chain.finalized_height) return broken(event, `blocks up to ${chain.finalized_height} are final`);
      return applied(event.sequence, event.height - 1, event.parent_hash, chain.finalized_height);
    }
    case 'BlocksFinalized': {
      if (chain.status === 'empty') return broken(event, 'there is no block to be final');
      if (event.height > chain.top.height) return broken(event, `the newest block is ${chain.top.height}`);
      if (event.height < chain.finalized_height) return broken(event, `blocks up to ${chain.finalized_height} are final already`);
      return applied(event.sequence, chain.top.height, chain.top.hash, event.height);
    }
  }
}

function applied(sequence: number, height: number, hash: Buffer, finalizedHeight: number): Judged {
  return { verdict: 'applied', chain: { status: 'growing', sequence, top: { height, hash }, finalized_height: finalizedHeight } };
}

function broken(event: ChainEvent, reason: string): Judged {
  return { verdict: 'broken', reason: `${event.type} ${event.sequence} at height ${event.height}: ${reason}` };
}
