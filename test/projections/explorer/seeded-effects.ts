/** Balance effects for a seeded list of blocks. */
import type { Random } from '../../support/random.ts';
import type { PlainBlock, PlainEffect, PlainTransaction } from './plain-block.ts';

/** Only the chain moves it, and nobody signs for it: an account that is a contract. */
export const POOL = Buffer.alloc(20, 0xee);
/** One of the kinds needs care in JSON, and no table of labels knows it. */
export const ODD_KIND = `odd_"kind" \\ é`;

/** Makes the effects of successive blocks: some deltas are 0, some transactions have no effect. */
export function effectsOf(
  random: Random,
  addresses: readonly Buffer[],
): (block: PlainBlock) => readonly PlainEffect[] {
  const balances = new Map<string, bigint>();
  let isFirst = true;
  const moved = (address: Buffer, delta: bigint): bigint => {
    const key = address.toString('hex');
    const balance = balances.get(key) ?? 0n;
    const possible = balance + delta < 0n ? -balance : delta;
    balances.set(key, balance + possible);
    return possible;
  };
  const effect = (
    address: Buffer,
    kind: string,
    delta: bigint,
    index: number | null,
    counterparty: Buffer | null,
  ): PlainEffect => ({
    address,
    kind,
    delta: moved(address, delta),
    tx_index: index,
    counterparty,
  });

  const ofTransaction = (
    { from, to, amount, fee, tx_index: txIndex, type }: PlainTransaction,
    producer: Buffer,
  ): PlainEffect[] => {
    if (random.chance(0.1)) return [];
    if (type === 'Mint') return [effect(to, 'mint', amount, txIndex, from)];
    const [out, into] =
      type === 'Transfer'
        ? ['transfer_out', 'transfer_in']
        : type === 'RidePay'
          ? ['ride_pay', 'ride_pay']
          : [ODD_KIND, ODD_KIND];
    const paid = effect(from, out, -amount, txIndex, to);
    const effects = [
      paid,
      effect(to, into, -paid.delta, txIndex, from),
      effect(from, 'tx_fee_paid', -fee, txIndex, producer),
    ];
    if (type !== 'RidePay') return effects;
    const released = effect(POOL, 'ride_pay', -amount, txIndex, to);
    return [...effects, released, effect(to, 'ride_pay', -released.delta, txIndex, POOL)];
  };

  return ({
    transactions,
    producer,
    reward_recipient: rewardRecipient,
    block_reward: blockReward,
    total_fees: totalFees,
  }) => {
    const genesis = isFirst
      ? [POOL, ...addresses].map((address) => effect(address, 'mint', 10n ** 30n, null, null))
      : [];
    isFirst = false;
    const own = transactions.flatMap((transaction) => ofTransaction(transaction, producer));
    const paid = effect(POOL, 'block_reward', -blockReward, null, rewardRecipient);
    // a counterparty of the block's own effect is noted by the chain and not shown
    return [
      ...genesis,
      ...own,
      effect(producer, 'tx_fee_earned', totalFees, null, null),
      paid,
      effect(rewardRecipient, 'block_reward', -paid.delta, null, POOL),
    ];
  };
}
