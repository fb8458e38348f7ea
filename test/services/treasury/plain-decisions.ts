/** A ledger of which nothing is minted, compared with the plain fold of its transfers. */
import { expect } from 'vitest';
import { NETWORK_LIMITS } from '../../../schemas/deposit-policy.ts';
import { isDepositEvent, type TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import type { TransferEvent } from '../../../schemas/tron.transfers/events.ts';
import { accountAt } from '../../support/deposit-log.ts';
import { plainArrivals, plainMoney } from '../../support/plain-money.ts';

/**
 * Every deposit once, in partition order, on the testnet's terms, held right behind its
 * confirmation where they require it; otherwise only policies.
 */
export function expectLedger(
  whole: readonly TreasuryEvent[],
  partitions: readonly (readonly TransferEvent[])[],
): void {
  const { chained, stories } = plainMoney(whole);
  const deposits = [...stories.values()];
  const arrivals = plainArrivals(partitions);
  for (const [partition, transfers] of arrivals.entries()) {
    const own = deposits
      .map(({ first }) => first)
      .filter(({ transfer_partition: transferPartition }) => transferPartition === partition);
    expect(own.map((each) => [each.tx_id, each.log_index, each.gross, each.clt_address])).toEqual(
      transfers.map((each) => [
        each.tx_id,
        each.log_index,
        each.value,
        accountAt(each.address_index),
      ]),
    );
    const offsets = own.map(({ transfer_offset: transferOffset }) => transferOffset);
    expect(offsets).toEqual(offsets.toSorted((one, other) => one - other));
  }
  expect(deposits).toHaveLength(arrivals.flat().length);
  const { minimum, single_cap } = NETWORK_LIMITS.testnet;
  const held = deposits.filter(({ first: { credit } }) => credit < minimum || credit > single_cap);
  expect(deposits.filter(({ status }) => status === 'needs_manual')).toEqual(held);
  for (const { first, events } of held)
    expect(events.at(-1)).toMatchObject({ log_offset: first.sequence + 1 });
  expect(chained.filter(isDepositEvent)).toHaveLength(deposits.length + held.length);
  expect(chained.filter(({ type }) => type === 'PolicySet')).toHaveLength(1);
}
