/**
 * I1: transfers to deposit addresses, by `deposit.addresses` and `tron.transfers` alone, against
 * the deposits that the ledger has confirmed.
 */
import { bytesKey, toHex } from '../../../schemas/address.ts';
import { AddressBook } from '../../../projections/deposits/domain/address-book.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import type { DepositKey } from '../../../schemas/deposit-address.ts';
import { ADDRESS_RULES } from '../../../schemas/deposit.addresses/rules.ts';
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import { feeOf } from '../../../schemas/deposit-policy.ts';
import { DEPOSIT_ADDRESSES, TRON_TRANSFERS } from '../../../schemas/topics.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import type { TransferEvent, TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import { TRANSFER_RULES } from '../../../schemas/tron.transfers/rules.ts';
import type { DepositConfirmed, PolicySet } from '../../../schemas/treasury.ledger/events.ts';
import type { Findings, LogPosition } from './findings.ts';

interface ExpectedDeposit {
  readonly partition: number;
  readonly offset: bigint;
  readonly transfer: TransferObserved;
  readonly owner: Buffer;
  confirmed: boolean;
}

/** In force before a confirmation. */
interface InForce {
  readonly policy: PolicySet | undefined;
  readonly custody_addresses: readonly Buffer[] | undefined;
}

export class TransferAudit {
  readonly #book = new AddressBook();
  readonly #usdtContract: Buffer;
  readonly #findings: Findings;
  readonly #key: DepositKey | undefined;
  /** by deposit id, with the first position of the transfer */
  readonly #expected = new Map<string, ExpectedDeposit>();
  /** deposits by account */
  readonly #ordinals = new Map<string, number>();
  /** deposit addresses that received */
  readonly #paid = new Set<string>();
  /** the last decided offset, by partition */
  readonly #decided = new Map<number, bigint>();

  /** `usdtContract`: 20 bytes. Addresses are derived where there is a key. */
  constructor(usdtContract: Buffer, findings: Findings, key?: DepositKey) {
    this.#key = key;
    this.#usdtContract = usdtContract;
    this.#findings = findings;
  }

  /** First: all of `deposit.addresses`. */
  address(event: DepositAddressEvent, offset: bigint, valueHash?: Buffer): void {
    const book = this.#book;
    const verdict = book.apply(event, offset, valueHash);
    const check = this.#findings.at({ topic: DEPOSIT_ADDRESSES.name, partition: 0, offset });
    const isWhole = this.#findings.rules(ADDRESS_RULES, event, {
      topic: DEPOSIT_ADDRESSES.name,
      partition: 0,
      offset,
    });
    // a writer of sequences has read every record before: what it writes there fits
    if (
      isWhole &&
      verdict === 'ignored' &&
      event.type !== 'PanelOpened' &&
      event.sequence === Number(offset)
    )
      check(
        'I1',
        false,
        () => `${event.type} does not follow from the records before it, and has no effect`,
      );
    if (verdict !== 'applied' || this.#key === undefined) return;
    if (event.type === 'SchemePinned')
      check(
        'I1',
        book.scheme?.fingerprint.equals(this.#key.fingerprint) === true,
        () => 'the pinned key is not the one of APP_DEPOSIT_XPUB',
      );
    if (event.type !== 'AddressRequested') return;
    const { clt_address: cltAddress } = event;
    const address = book.addressOf(cltAddress) ?? Buffer.alloc(0);
    check(
      'I1',
      book.isDerived(this.#key, cltAddress, address),
      () =>
        `account ${toHex(cltAddress)} has the address ${toHex(address)}, which the key does not derive`,
    );
  }

  /** Second: all of `tron.transfers`, each partition in order. */
  transfer(event: TransferEvent, partition: number, offset: bigint): void {
    const position = { topic: TRON_TRANSFERS.name, partition, offset };
    if (!this.#findings.rules(TRANSFER_RULES, event, position)) return;
    if (event.type !== 'TransferObserved' || event.value <= 0n || event.from.equals(event.to))
      return;
    if (!event.contract.equals(this.#usdtContract) || transferPartition(event.to) !== partition)
      return;
    const owner = this.#book.ownerAt(event.address_index);
    if (owner === undefined || this.#book.addressOf(owner)?.equals(event.to) !== true) return;
    const id = depositIdOf(event.tx_id, event.log_index);
    if (!this.#expected.has(id))
      this.#expected.set(id, { partition, offset, transfer: event, owner, confirmed: false });
  }

  /**
   * Third: each confirmation that counts. Returns whether the money was among ours before: custody
   * or an address with an earlier deposit paid it.
   */
  confirmed(
    event: DepositConfirmed,
    position: LogPosition,
    { policy, custody_addresses: custodyAddresses }: InForce,
  ): boolean {
    const expected = this.#expected.get(event.deposit_id);
    const account = bytesKey(event.clt_address);
    const ordinal = this.#ordinals.get(account) ?? 0;
    this.#ordinals.set(account, ordinal + 1);
    this.#paid.add(bytesKey(event.deposit_address));
    const wrong =
      expected === undefined
        ? 'is no transfer to a deposit address'
        : misfit(event, expected, { ordinal, policy });
    this.#findings.check(
      'I1',
      position,
      wrong === undefined,
      () => `deposit ${event.deposit_id} ${wrong}`,
    );
    if (expected === undefined) return false;
    expected.confirmed = true;
    const { partition, offset, transfer } = expected;
    if (offset > (this.#decided.get(partition) ?? -1n)) this.#decided.set(partition, offset);
    const { from } = transfer;
    // older treasuries credited such transfers, and pinned no custody
    return (
      custodyAddresses !== undefined &&
      (custodyAddresses.some((each) => each.equals(from)) || this.#paid.has(bytesKey(from)))
    );
  }

  /**
   * Last: every transfer before a decided one is decided. Returns the number of the others, which
   * wait for the treasury.
   */
  finish(): number {
    let waiting = 0;
    for (const [id, { partition, offset, confirmed }] of this.#expected) {
      if (confirmed) continue;
      const isLeftOut = offset < (this.#decided.get(partition) ?? -1n);
      if (!isLeftOut) waiting++;
      this.#findings.check(
        'I1',
        { topic: TRON_TRANSFERS.name, partition, offset },
        !isLeftOut,
        () => `the transfer of ${id} is no deposit, though later ones of its partition are`,
      );
    }
    return waiting;
  }
}

function misfit(
  event: DepositConfirmed,
  { partition, offset, transfer, owner, confirmed }: ExpectedDeposit,
  { ordinal, policy }: { readonly ordinal: number; readonly policy: PolicySet | undefined },
): string | undefined {
  if (confirmed) return 'is confirmed twice';
  if (event.transfer_partition !== partition || BigInt(event.transfer_offset) !== offset)
    return `names another position than ${partition}@${offset}`;
  if (!event.deposit_address.equals(transfer.to) || !event.clt_address.equals(owner))
    return 'is of another address or owner than its transfer';
  if (event.gross !== transfer.value)
    return `says that ${event.gross} arrived, the transfer ${transfer.value}`;
  if (event.address_ordinal !== ordinal)
    return `is number ${ordinal} of its account, not ${event.address_ordinal}`;
  if (policy === undefined || event.policy_version !== policy.version)
    return `is not under the policy in force, ${policy?.version ?? 'none'}`;
  if (event.fee !== feeOf(policy, ordinal))
    return `costs ${event.fee}, which its policy does not say`;
  return undefined;
}
