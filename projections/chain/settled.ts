/**
 * What of a stretch of `chain.blocks` is certain. A block that is final never leaves the chain again, so everything up to its record may be stored for good; blocks
 * that came and went before it have then left without ever having been stored.
 */
import type { ChainHeaderEvent } from '../../schemas/chain.blocks/events.ts';
import type { Recorded } from '../contract/projection.ts';
import { isInPlace } from './chain.ts';

interface Standing {
  readonly height: number;
  readonly hash: Buffer;
  /** how many records there are up to and including its own */
  readonly records: number;
}

/** How many leading records of the batch no later one can undo: up to and including the newest of its blocks that it says is final. 0 when it says so of none. */
export function settled(batch: readonly Recorded<ChainHeaderEvent>[]): number {
  let standing: Standing[] = [];
  let count = 0;
  for (const [at, { event, offset }] of batch.entries()) {
    if (!isInPlace(event, offset)) continue;
    const { height, hash } = event;
    switch (event.type) {
      case 'BlockAppended':
        standing.push({ height, hash, records: at + 1 });
        break;
      case 'BlockReverted':
        standing.pop();
        break;
      case 'BlocksFinalized': {
        const final = standing.findIndex(
          (block) => block.height === height && block.hash.equals(hash),
        );
        count = standing[final]?.records ?? count;
        standing = standing.slice(final + 1);
      }
    }
  }
  return count;
}

/** Heights of the blocks that the batch takes off without having put them on: those that stood before it. */
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
