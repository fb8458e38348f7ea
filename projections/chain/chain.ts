/**
 * The chain of the topic `chain.blocks`: a block is appended, the newest block is reverted, or
 * a height becomes final. Everybody who folds the topic, the writer included, judges with this
 * file, so that repetitions, a second writer and a damaged log mean the same to all.
 *
 * The log itself is the compare-and-set. An event's `sequence` is the offset that its writer wrote
 * it for, knowing everything before; the event counts only at that offset. Each record of a batch
 * that lost a race, is repeated, or strayed into another topic thus shows that it has no effect,
 * and from any record that counts the log can be read without the records before it.
 */
import type { ChainHeaderEvent } from '../../schemas/chain.blocks/events.ts';
import { HEADER_RULES } from '../../schemas/chain.blocks/rules.ts';
import { brokenRule } from '../../schemas/rules.ts';
import { bytesIn, countIn } from '../contract/loaded-row.ts';
import type { LoadedRow, Recorded } from '../contract/projection.ts';

export type Chain =
  | { readonly status: 'empty' }
  | {
      readonly status: 'growing';
      /** of the last event applied, equal to its offset */
      readonly sequence: number;
      readonly top: { readonly height: number; readonly hash: Buffer };
      /** -1: nothing is final yet */
      readonly finalized_height: number;
    };

export type Growing = Extract<Chain, { readonly status: 'growing' }>;

export type Judged =
  | { readonly verdict: 'applied'; readonly chain: Growing }
  /** a repetition */
  | { readonly verdict: 'replayed' }
  /** not at the offset that it was written for, or of impossible fields: no effect */
  | { readonly verdict: 'ignored' }
  | { readonly verdict: 'broken'; readonly reason: string };

export const EMPTY_CHAIN: Chain = { status: 'empty' };

/** The chain that a projection stored as its row of `head`; undefined before the first block. */
export function chainFromHead(head: LoadedRow | undefined): Chain {
  if (head === undefined) return EMPTY_CHAIN;
  return {
    status: 'growing',
    sequence: countIn(head, 'sequence'),
    top: { height: countIn(head, 'height'), hash: bytesIn(head, 'hash') },
    finalized_height: countIn(head, 'finalized_height'),
  };
}

/** True for an event at the offset that it was written for: no other counts. */
export function isInPlace(event: ChainHeaderEvent, offset: bigint): boolean {
  return BigInt(event.sequence) === offset;
}

/** The one step of the fold. Total: an impossible log is `broken`, never guessed at. */
export function evolve(chain: Chain, event: ChainHeaderEvent, offset: bigint): Judged {
  if (!isInPlace(event, offset) || brokenRule(HEADER_RULES, event) !== undefined)
    return { verdict: 'ignored' };
  if (chain.status === 'empty') return begun(event);
  if (event.sequence <= chain.sequence) return { verdict: 'replayed' };
  const reason = misfit(chain, event);
  return reason === undefined
    ? { verdict: 'applied', chain: continued(chain, event) }
    : broken(event, reason);
}

function begun(event: ChainHeaderEvent): Judged {
  if (event.type !== 'BlockAppended') return broken(event, 'there is no block yet');
  const { sequence, height, hash } = event;
  return {
    verdict: 'applied',
    chain: { status: 'growing', sequence, top: { height, hash }, finalized_height: -1 },
  };
}

/** Why the event cannot come next. */
function misfit(
  { top, finalized_height: finalizedHeight }: Growing,
  event: ChainHeaderEvent,
): string | undefined {
  const newest = `the newest block is ${top.height} ${top.hash.toString('hex')}`;
  switch (event.type) {
    case 'BlockAppended':
      return event.height === top.height + 1 && event.parent_hash.equals(top.hash)
        ? undefined
        : `${newest}, to which it does not link`;
    case 'BlockReverted':
      if (event.height !== top.height || !event.hash.equals(top.hash)) return newest;
      return event.height <= finalizedHeight
        ? `blocks up to ${finalizedHeight} are final`
        : undefined;
    case 'BlocksFinalized':
      if (event.height <= finalizedHeight)
        return `blocks up to ${finalizedHeight} are final already`;
      return event.height > top.height ||
        (event.height === top.height && !event.hash.equals(top.hash))
        ? newest
        : undefined;
  }
}

function continued(chain: Growing, event: ChainHeaderEvent): Growing {
  const { sequence, height, hash } = event;
  switch (event.type) {
    case 'BlockAppended':
      return { ...chain, sequence, top: { height, hash } };
    case 'BlockReverted':
      return { ...chain, sequence, top: { height: height - 1, hash: event.parent_hash } };
    case 'BlocksFinalized':
      return { ...chain, sequence, finalized_height: height };
  }
}

function broken(event: ChainHeaderEvent, reason: string): Judged {
  return {
    verdict: 'broken',
    reason: `${event.type} ${event.sequence} at height ${event.height}: ${reason}`,
  };
}

interface Block {
  readonly height: number;
  readonly hash: Buffer;
  /** records up to and including its own */
  readonly records: number;
}

/** Leading records of the batch that no later record can undo: up to its newest final block. */
export function settled(batch: readonly Recorded<ChainHeaderEvent>[]): number {
  let blocks: Block[] = [];
  let count = 0;
  for (const [at, { event, offset }] of batch.entries()) {
    if (!isInPlace(event, offset)) continue;
    const { height, hash } = event;
    switch (event.type) {
      case 'BlockAppended':
        blocks.push({ height, hash, records: at + 1 });
        break;
      case 'BlockReverted':
        blocks.pop();
        break;
      case 'BlocksFinalized': {
        const final = blocks.findIndex(
          (block) => block.height === height && block.hash.equals(hash),
        );
        count = blocks[final]?.records ?? count;
        blocks = blocks.slice(final + 1);
      }
    }
  }
  return count;
}

/** Heights of earlier blocks that the batch reverts. */
export function revertedBelow(batch: readonly Recorded<ChainHeaderEvent>[]): readonly number[] {
  const below: number[] = [];
  let own = 0;
  for (const { event, offset } of batch) {
    if (!isInPlace(event, offset)) continue;
    if (event.type === 'BlockAppended') own++;
    if (event.type !== 'BlockReverted') continue;
    if (own > 0) own--;
    else below.push(event.height);
  }
  return below;
}
