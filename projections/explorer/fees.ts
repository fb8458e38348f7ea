/** Fees, as the chain recorded them in its balance effects. Blocks from before fees were recorded have none: 0. */
import type { Block } from './events.ts';

/** What the block's producer earned in fees, in CLT base units. */
export function producerFees(block: Block): bigint {
  let total = 0n;
  for (const { kind, address, delta } of block.balance_effects) {
    if (kind === 'tx_fee_earned' && isSame(address, block.producer)) total += delta;
  }
  return total;
}

/** The fee of each transaction by its index; absent is 0, as for a sender who produced the block and for every RideAcceptance. */
export function feesPaid(block: Block): ReadonlyMap<number, bigint> {
  const fees = new Map<number, bigint>();
  for (const { kind, tx_index: index, delta } of block.balance_effects) {
    if (kind !== 'tx_fee_paid' || index === null) continue;
    const transaction = block.transactions[index];
    if (
      transaction === undefined ||
      transaction.function_call_type === 'RideAcceptance' ||
      isSame(transaction.from, block.producer)
    )
      continue;
    fees.set(index, (fees.get(index) ?? 0n) - delta);
  }
  return fees;
}

/** Most of those that are the same are one object, and most others differ in the first byte. */
function isSame(one: Buffer, other: Buffer): boolean {
  return one === other || (one[0] === other[0] && one.equals(other));
}
