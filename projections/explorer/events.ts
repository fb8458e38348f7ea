/** The events of `chain.blocks` with the fields that the explorer reads, and their fees. */
import type {
  BlockAppendedWithout,
  BlockTransaction,
  ChainEventWithout,
} from '../../schemas/chain.blocks/events.ts';

/** Not decoded: a third of a block's bytes. */
export const UNREAD = ['arguments', 'raw'] as const satisfies readonly (keyof BlockTransaction)[];

type Unread = (typeof UNREAD)[number];

export type ExplorerEvent = ChainEventWithout<Unread>;
export type Block = BlockAppendedWithout<Unread>;
export type Transaction = Omit<BlockTransaction, Unread>;

/** The fees that the producer earned, in base units; 0 for blocks that record no fees. */
export function producerFees(block: Pick<Block, 'producer' | 'balance_effects'>): bigint {
  let total = 0n;
  for (const { kind, address, delta } of block.balance_effects) {
    if (kind === 'tx_fee_earned' && isSame(address, block.producer)) total += delta;
  }
  return total;
}

/** Fees by transaction index. Missing, 0: a sender who produced the block, and RideAcceptance. */
export function feesPaid(block: Block): ReadonlyMap<number, bigint> {
  const fees = new Map<number, bigint>();
  for (const { kind, tx_index: txIndex, delta } of block.balance_effects) {
    if (kind !== 'tx_fee_paid' || txIndex === null) continue;
    const transaction = block.transactions[txIndex];
    if (
      transaction === undefined ||
      transaction.function_call_type === 'RideAcceptance' ||
      isSame(transaction.from, block.producer)
    )
      continue;
    fees.set(txIndex, (fees.get(txIndex) ?? 0n) - delta);
  }
  return fees;
}

/** Fast: equal addresses are mostly one object, and others mostly differ in the first byte. */
function isSame(one: Buffer, other: Buffer): boolean {
  return one === other || (one[0] === other[0] && one.equals(other));
}
