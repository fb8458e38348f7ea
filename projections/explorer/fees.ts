/** Fees, as the chain recorded them in its balance effects. Blocks from before fees were recorded have none: 0. */
import type { Block } from './events.ts';

/** What the block's producer earned in fees, in CLT base units. */
export function producerFees(block: Block): bigint {
  let total = 0n;
  for (const { kind, address, delta } of block.balance_effects) {
    if (kind === 'tx_fee_earned' && address.equals(block.producer)) total += delta;
  }
  return total;
}

/** The fee of each transaction by its index; absent is 0, as for a sender who produced the block and for every RideAcceptance. */
export function feesPaid(block: Block): ReadonlyMap<number, bigint> {
  const fees = new Map<number, bigint>();
  for (const { kind, tx_index: index, delta } of block.balance_effects) {
    if (kind !== 'tx_fee_paid' || index === null) continue;
    const transaction = block.transactions[index];
    if (transaction === undefined || transaction.function_call_type === 'RideAcceptance' || transaction.from.equals(block.producer))
      continue;
    fees.set(index, (fees.get(index) ?? 0n) - delta);
  }
  return fees;
}
