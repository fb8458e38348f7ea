/**
 * Holds the confirmation of a deposit against the transfer that it names, and a refund against the
 * transfers of its transaction. Whoever can write to the ledger can write them; these functions
 * believe nothing of them.
 */
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import { creditOf, feeOf, type PolicyLimits } from '../../../schemas/deposit-policy.ts';
import type { TransferEvent, TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import type {
  DepositConfirmed,
  PolicySet,
  RefundRecorded,
} from '../../../schemas/treasury.ledger/events.ts';

export type Policy = PolicyLimits & Pick<PolicySet, 'version' | 'network' | 'decided_at'>;

/**
 * The reason why no honest writer confirms on these terms; undefined when one would. `policy` is
 * the one in force before the event, `ordinal` the number of the account's deposits before it.
 */
export function whyNotTerms(
  confirmed: DepositConfirmed,
  policy: Policy | undefined,
  ordinal: number,
): string | undefined {
  const { deposit_id, tx_id, log_index, gross, fee, credit } = confirmed;
  if (policy === undefined || confirmed.policy_version !== policy.version)
    return `policy ${confirmed.policy_version} was not in force`;
  if (deposit_id !== depositIdOf(tx_id, log_index)) return 'its id is not that of its transfer';
  if (confirmed.address_ordinal !== ordinal)
    return `it is deposit ${ordinal} of its account, not ${confirmed.address_ordinal}`;
  if (fee !== feeOf(policy, ordinal)) return `its fee is ${fee}, not ${feeOf(policy, ordinal)}`;
  return credit === creditOf(gross, fee)
    ? undefined
    : `its credit is ${credit}, not ${creditOf(gross, fee)}`;
}

/** Whether the record is the transfer that became this deposit. */
export function isTransferOf(
  confirmed: DepositConfirmed,
  event: TransferEvent | undefined,
): event is TransferObserved {
  return (
    event?.type === 'TransferObserved' &&
    event.tx_id.equals(confirmed.tx_id) &&
    event.log_index === confirmed.log_index &&
    event.to.equals(confirmed.deposit_address)
  );
}

/**
 * The reason why the record at the position that the confirmation names does not make it a deposit;
 * undefined when it does. The owner of the address is to be derived apart.
 */
export function whyNotTransfer(
  confirmed: DepositConfirmed,
  record: TransferEvent | undefined,
  usdtContract: Buffer,
): string | undefined {
  if (!isTransferOf(confirmed, record)) return 'the record that it names is not its transfer';
  if (!record.contract.equals(usdtContract)) return 'its transfer is not of USDT';
  if (record.from.equals(record.to)) return 'its transfer moved nothing';
  return record.value > 0n && record.value === confirmed.gross
    ? undefined
    : `${record.value} arrived, not ${confirmed.gross}`;
}

/** A transfer of USDT, as TRON's receipt shows it. Addresses are 20 bytes, `value` micro-USDT. */
interface ShownTransfer {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly value: bigint;
}

/** Why the transfers of a transaction do not pay this much out of custody; undefined: they do. */
export function whyNotPaidBack(
  { amount }: Pick<RefundRecorded, 'amount'>,
  transfers: readonly ShownTransfer[],
  isOurs: (address: Buffer) => boolean,
): string | undefined {
  const paid = transfers
    .filter(({ from, to }) => isOurs(from) && !isOurs(to))
    .reduce((sum, { value }) => sum + value, 0n);
  return paid >= amount ? undefined : `it paid ${paid} micro-USDT out of custody, not ${amount}`;
}
