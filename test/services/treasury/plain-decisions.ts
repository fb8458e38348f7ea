/**
 * The deposits that a log of transfers must give, by the simplest algorithm, compared with a
 * ledger.
 */
import { expect } from 'vitest';
import { NETWORK_LIMITS } from '../../../schemas/deposit-policy.ts';
import {
  isDepositEvent,
  type DepositConfirmed,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import type { TransferEvent, TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import { accountAt, depositKey, USDT_CONTRACT } from '../../support/deposit-log.ts';

/** By partition, in order; the accounts have their addresses in their own order. */
export function plainDepositsIn(
  partitions: readonly (readonly TransferEvent[])[],
): readonly (readonly TransferObserved[])[] {
  const key = depositKey();
  return partitions.map((log, partition) => {
    const valid = log.filter(
      (event): event is TransferObserved =>
        event.type === 'TransferObserved' &&
        event.value > 0n &&
        !event.from.equals(event.to) &&
        event.contract.equals(USDT_CONTRACT) &&
        key.addressAt(event.address_index).equals(event.to) &&
        transferPartition(event.to) === partition,
    );
    const names = valid.map(nameOf);
    return valid.filter((_, at) => names.indexOf(names[at] ?? '') === at);
  });
}

function nameOf({
  tx_id,
  log_index,
}: {
  readonly tx_id: Buffer;
  readonly log_index: number;
}): string {
  return `${tx_id.toString('hex')}:${log_index}`;
}

/**
 * Every deposit once, in partition order, on the testnet's terms, held where they require it;
 * otherwise only policies.
 */
export function expectLedger(
  whole: readonly TreasuryEvent[],
  partitions: readonly (readonly TransferEvent[])[],
): void {
  const counted = whole.filter(({ sequence }, offset) => sequence === offset);
  const deposits = counted.filter((event) => event.type === 'DepositConfirmed');
  const expected = plainDepositsIn(partitions);
  for (const [partition, transfers] of expected.entries()) {
    const own = deposits.filter((deposit) => deposit.transfer_partition === partition);
    expect(own.map(nameOf)).toEqual(transfers.map(nameOf));
    const offsets = own.map((deposit) => deposit.transfer_offset);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    expect(own.map(({ clt_address }) => clt_address)).toEqual(
      transfers.map(({ address_index: index }) => accountAt(index)),
    );
  }
  expect(deposits).toHaveLength(expected.flat().length);
  const { first_fee, later_fee, minimum, single_cap } = NETWORK_LIMITS.testnet;
  const counts = new Map<string, number>();
  const held = new Map<string, string>();
  for (const {
    deposit_address,
    deposit_id,
    gross,
    fee,
    credit,
    address_ordinal: ordinal,
  } of deposits) {
    const address = deposit_address.toString('hex');
    const wanted = ordinal === 0 ? first_fee : later_fee;
    expect({ ordinal, fee, credit }).toEqual({
      ordinal: counts.get(address) ?? 0,
      fee: wanted,
      credit: gross > wanted ? gross - wanted : 0n,
    });
    counts.set(address, ordinal + 1);
    if (credit < minimum) held.set(deposit_id, 'below_minimum');
    if (credit > single_cap) held.set(deposit_id, 'over_single_cap');
  }
  expect(new Map(heldIn(counted))).toEqual(held);
  expect(heldIn(counted)).toHaveLength(held.size);
  expect(counted.filter(isDepositEvent)).toHaveLength(deposits.length + held.size);
  expect(counted.filter(({ type }) => type === 'PolicySet')).toHaveLength(1);
}

/** Each must stand right behind its deposit. */
function heldIn(counted: readonly TreasuryEvent[]): readonly (readonly [string, string])[] {
  return counted.flatMap((event, at) => {
    if (event.type !== 'DepositHeld') return [];
    const before: Partial<DepositConfirmed> = Object(counted[at - 1]);
    expect(before).toMatchObject({
      type: 'DepositConfirmed',
      deposit_id: event.deposit_id,
      sequence: event.sequence - 1,
    });
    return [[event.deposit_id, event.reason] as const];
  });
}
