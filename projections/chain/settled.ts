/**
 * The settled part of a batch of `chain.blocks`: records up to a final block can be stored for
 * good, and blocks that left the chain before it need never be stored.
 */
import type { ChainHeaderEvent } from '../../schemas/chain.blocks/events.ts';
import type { Recorded } from '../contract/projection.ts';
import { isInPlace } from './chain.ts';

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
