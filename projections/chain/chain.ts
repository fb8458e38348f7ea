/**
 * The chain as topic `chain.blocks` tells it. It begins with the first block appended; from then on each event continues the count `sequence` by one: a
 * block on top of the newest, the newest leaving again, or a height becoming final. Whoever folds the topic, the writer included, judges by this one file,
 * so that repetitions, a second writer and a damaged log mean the same to everybody.
 *
 * Two writers that go on from the same event race for its successor: the one whose batch stands first in the log has the place, the other's is without
 * effect. Its batch may be longer than what it lost to, so what follows from a lost event is without effect too, where it does not fit, instead of proof
 * that the log is damaged. Writers notice that they lost by where their batch stands, and go on from what the log says.
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
      /** sequence of the last event whose place was taken, while its batch may go on; null when there is none */
      readonly contender: number | null;
    };

export type Growing = Extract<Chain, { readonly status: 'growing' }>;

export type Judged =
  | { readonly verdict: 'applied'; readonly chain: Growing }
  /** seen before, or of a second writer that lost its place: the chain is what it was */
  | { readonly verdict: 'replayed'; readonly chain: Growing }
  | { readonly verdict: 'broken'; readonly reason: string };

export const EMPTY_CHAIN: Chain = { status: 'empty' };

/** The one step of the fold. Total: a log that cannot be right is `broken`, never guessed at. */
export function evolve(chain: Chain, event: ChainEvent): Judged {
  if (chain.status === 'empty') return begun(event);
  const { sequence: last, contender } = chain;
  if (event.sequence <= last) return lost(chain, event);
  const matter = event.sequence > last + 1 ? `events ${last + 1} to ${event.sequence - 1} are missing before it` : misfit(chain, event);
  if (matter === undefined) return { verdict: 'applied', chain: continued(chain, event) };
  return contender !== null && event.sequence === contender + 1 ? lost(chain, event) : broken(event, matter);
}

function begun(event: ChainEvent): Judged {
  if (event.sequence !== 1) return broken(event, 'the log must begin with event 1');
  if (event.type !== 'BlockAppended') return broken(event, 'there is no block yet');
  const { sequence, height, hash } = event;
  return { verdict: 'applied', chain: { status: 'growing', sequence, top: { height, hash }, finalized_height: -1, contender: null } };
}

/** Why the event cannot come next; undefined when it can. */
function misfit({ top, finalized_height: finalized }: Growing, event: ChainEvent): string | undefined {
  const newest = `the newest block is ${top.height} ${top.hash.toString('hex')}`;
  switch (event.type) {
    case 'BlockAppended':
      return event.height === top.height + 1 && event.parent_hash.equals(top.hash) ? undefined : `${newest}, to which it does not link`;
    case 'BlockReverted':
      if (event.height !== top.height || !event.hash.equals(top.hash)) return newest;
      return event.height <= finalized ? `blocks up to ${finalized} are final` : undefined;
    case 'BlocksFinalized':
      return event.height > top.height || (event.height === top.height && !event.hash.equals(top.hash)) ? newest : undefined;
  }
}

function continued(chain: Growing, event: ChainEvent): Growing {
  const { sequence, height, hash } = event;
  switch (event.type) {
    // a block names the one below it, so its writer knew this very chain: whatever was lost before does not matter to what follows
    case 'BlockAppended':
      return { ...chain, sequence, top: { height, hash }, contender: null };
    case 'BlockReverted':
      return { ...chain, sequence, top: { height: height - 1, hash: event.parent_hash }, contender: null };
    // a final height fits many chains; a writer that lost may know less of it than the log
    case 'BlocksFinalized':
      return {
        ...chain,
        sequence,
        finalized_height: Math.max(height, chain.finalized_height),
        contender: chain.contender === sequence - 1 ? sequence : null,
      };
  }
}

function lost(chain: Growing, { sequence }: ChainEvent): Judged {
  return { verdict: 'replayed', chain: { ...chain, contender: sequence } };
}

function broken(event: ChainEvent, reason: string): Judged {
  return { verdict: 'broken', reason: `${event.type} ${event.sequence} at height ${event.height}: ${reason}` };
}
