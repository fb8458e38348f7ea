/** The events of `chain.blocks` as far as the explorer reads them: a third of their bytes is of no interest to it. */
import type {
  BlockAppendedWithout,
  BlockTransaction,
  ChainEventWithout,
} from '../../schemas/chain.blocks/events.ts';

export const UNREAD = ['arguments', 'raw'] as const satisfies readonly (keyof BlockTransaction)[];

type Unread = (typeof UNREAD)[number];

export type ExplorerEvent = ChainEventWithout<Unread>;
export type Block = BlockAppendedWithout<Unread>;
export type Transaction = Omit<BlockTransaction, Unread>;
