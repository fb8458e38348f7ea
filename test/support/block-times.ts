import type { BlockAppended, ChainEvent } from '../../schemas/chain.blocks/events.ts';

/** The log with other block times. `timeOf`: Unix ms of a block, by its record's offset. */
export function withTimes(
  log: readonly ChainEvent[],
  timeOf: (block: BlockAppended, offset: number) => number,
): readonly ChainEvent[] {
  return log.map((event, at) =>
    event.type === 'BlockAppended' ? timed(event, timeOf(event, at)) : event,
  );
}

function timed(block: BlockAppended, timestamp: number): BlockAppended {
  return { ...block, timestamp };
}
