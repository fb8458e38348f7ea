/**
 * Decides which transfer is a deposit, on which terms, and which deposit a person has to look at.
 * The functions change nothing: the events that they return are to be appended.
 */
import { bytesKey } from '../../../schemas/address.ts';
import type { DepositKey } from '../../../schemas/deposit-address.ts';
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import {
  creditOf,
  feeOf,
  holdReasonOf,
  problemsOf,
  sameLimits,
  type Network,
  type PolicyLimits,
} from '../../../schemas/deposit-policy.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import type { TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import { TRANSFER_RULES } from '../../../schemas/tron.transfers/rules.ts';
import type {
  DepositConfirmed,
  DepositHeld,
  PolicySet,
  TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Recorded } from '../../contract/projection.ts';
import type { Ledger } from './ledger.ts';
import type { Policy } from './proof.ts';

/** No events: the state is already as wanted. */
export type Decision<Reason extends string, Event extends TreasuryEvent = TreasuryEvent> =
  { readonly events: readonly Event[] } | { readonly refused: Reason };

/** Final: the transfer never becomes a deposit. */
type Never =
  | 'broken_rule'
  | 'zero_value'
  | 'self_transfer'
  | 'wrong_contract'
  | 'wrong_partition'
  | 'other_address';
/** Undecided as far as this ledger has read; it may be decided later. */
type NotYet = 'no_policy' | 'unknown_address';
export type TransferRefusal = Never | NotYet;

export interface Deciding {
  /** Unix milliseconds */
  readonly now: number;
  /** 20 bytes: the only contract whose transfers are USDT */
  readonly usdt_contract: Buffer;
  /** 20 bytes each; those that the ledger pins go before them */
  readonly custody_addresses: readonly Buffer[];
  /** derives the deposit addresses; without it, those of the log are believed */
  readonly deposit_key?: DepositKey;
}

export interface Refused<Reason> {
  readonly observed: Recorded<TransferObserved>;
  readonly reason: Reason;
}

export interface Confirmations {
  /** to be appended as one batch */
  readonly events: readonly (DepositConfirmed | DepositHeld)[];
  /** transfers that are no deposits, for good */
  readonly refused: readonly Refused<Never>[];
  /**
   * Transfers to an unknown address or before the first policy, and the rest of their partitions.
   * The caller reads `deposit.addresses` to its end and asks again; an address that is still
   * unknown is nobody's, and a person has to find out who wrote it.
   */
  readonly waiting: readonly Refused<NotYet>[];
}

/**
 * The events that make observed transfers deposits, in the order given: that of the log in each
 * partition. A transfer's claims on its address are not believed: the address is derived.
 */
export function confirmAll(
  ledger: Ledger,
  observed: readonly Recorded<TransferObserved>[],
  deciding: Deciding,
): Confirmations {
  const batch = new Batch(ledger, deciding);
  const refused: Refused<Never>[] = [];
  const waiting: Refused<NotYet>[] = [];
  const blocked = new Map<number, NotYet>();
  for (const each of observed) {
    const reason = blocked.get(each.partition) ?? batch.confirm(each);
    if (reason === undefined) continue;
    if (isNotYet(reason)) {
      blocked.set(each.partition, reason);
      waiting.push({ observed: each, reason });
    } else {
      refused.push({ observed: each, reason });
    }
  }
  return { events: batch.events, refused, waiting };
}

function isNotYet(reason: TransferRefusal): reason is NotYet {
  return reason === 'no_policy' || reason === 'unknown_address';
}

/** Transfers decided together, each on the state after those before it. */
class Batch {
  readonly events: (DepositConfirmed | DepositHeld)[] = [];
  readonly #ledger: Ledger;
  readonly #deciding: Deciding;
  readonly #ids = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(ledger: Ledger, deciding: Deciding) {
    this.#ledger = ledger;
    this.#deciding = deciding;
  }

  /** The reason why the transfer is no deposit; undefined when it is one, now or already. */
  confirm(observed: Recorded<TransferObserved>): TransferRefusal | undefined {
    const { event: transfer } = observed;
    const id = depositIdOf(transfer.tx_id, transfer.log_index);
    if (this.#ids.has(id) || this.#ledger.deposit(id).status !== 'absent') return undefined;
    const never = this.#neverOf(observed);
    if (never !== undefined) return never;
    const owner = this.#ledger.addresses.ownerAt(transfer.address_index);
    const address = owner === undefined ? undefined : this.#ledger.addresses.addressOf(owner);
    if (owner === undefined || address === undefined) return 'unknown_address';
    if (!address.equals(transfer.to)) return 'other_address';
    const { policy } = this.#ledger;
    if (policy === undefined) return 'no_policy';
    this.#ids.add(id);
    this.#confirmed(observed, { id, owner, policy });
    return undefined;
  }

  #neverOf({ event: transfer, partition }: Recorded<TransferObserved>): Never | undefined {
    if (brokenRule(TRANSFER_RULES, transfer) !== undefined) return 'broken_rule';
    if (transfer.value <= 0n) return 'zero_value';
    if (transfer.from.equals(transfer.to)) return 'self_transfer';
    if (!transfer.contract.equals(this.#deciding.usdt_contract)) return 'wrong_contract';
    return transferPartition(transfer.to) === partition ? undefined : 'wrong_partition';
  }

  #confirmed(
    { event: transfer, partition, offset }: Recorded<TransferObserved>,
    { id, owner, policy }: { readonly id: string; readonly owner: Buffer; readonly policy: Policy },
  ): void {
    const ordinal = this.#ordinal(owner);
    const fee = feeOf(policy, ordinal);
    const credit = creditOf(transfer.value, fee);
    this.events.push({
      type: 'DepositConfirmed',
      sequence: this.#sequence(),
      deposit_id: id,
      tx_id: transfer.tx_id,
      log_index: transfer.log_index,
      deposit_address: transfer.to,
      clt_address: owner,
      gross: transfer.value,
      fee,
      credit,
      policy_version: policy.version,
      address_ordinal: ordinal,
      block_number: transfer.block_number,
      block_timestamp: transfer.block_timestamp,
      transfer_partition: partition,
      transfer_offset: Number(offset),
      decided_at: this.#deciding.now,
    });
    const reason = isOurs(this.#ledger, transfer.from, this.#deciding)
      ? 'internal_transfer'
      : holdReasonOf(policy, credit);
    if (reason === undefined) return;
    const decided = { sequence: this.#sequence(), decided_at: this.#deciding.now };
    this.events.push({ type: 'DepositHeld', deposit_id: id, reason, ...decided });
  }

  #sequence(): number {
    return Number(this.#ledger.end) + this.events.length;
  }

  /** The ordinal of the account's next deposit, which is then counted. */
  #ordinal(account: Buffer): number {
    const key = bytesKey(account);
    const ordinal = this.#counts.get(key) ?? this.#ledger.depositsOf(account);
    this.#counts.set(key, ordinal + 1);
    return ordinal;
  }
}

/** Whether this is a custody address, or a deposit address that the key derives. */
export function isOurs(
  { addresses, governance }: Pick<Ledger, 'addresses' | 'governance'>,
  address: Buffer,
  { custody_addresses, deposit_key }: Pick<Deciding, 'custody_addresses' | 'deposit_key'>,
): boolean {
  const custody = governance.custody?.custody_addresses ?? custody_addresses;
  return custody.some((each) => each.equals(address)) || addresses.has(address, deposit_key);
}

/**
 * Puts the limits of the treasury's settings in force for the deposits to come. Where there are
 * operators, only they replace limits. The network of a ledger never changes.
 */
export function setPolicy(
  ledger: Ledger,
  { network, limits }: { readonly network: Network; readonly limits: PolicyLimits },
  now: number,
): Decision<'other_network' | 'contradicting_limits', PolicySet> {
  const { policy } = ledger;
  if (policy !== undefined && policy.network !== network) return { refused: 'other_network' };
  if (problemsOf(limits).length > 0) return { refused: 'contradicting_limits' };
  const isTheirs = ledger.governance.operators !== undefined;
  if (policy !== undefined && (isTheirs || sameLimits(policy, limits))) return { events: [] };
  const { first_fee, later_fee, minimum, single_cap, rolling_cap } = limits;
  const set: PolicySet = {
    type: 'PolicySet',
    sequence: Number(ledger.end),
    version: (policy?.version ?? 0) + 1,
    network,
    first_fee,
    later_fee,
    minimum,
    single_cap,
    rolling_cap,
    actor: 'treasury',
    reason: 'its settings',
    decided_at: now,
  };
  return { events: [set] };
}
