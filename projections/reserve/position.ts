/** Supply, ledger and custody at one ledger offset and one final block. Base units, micro-USD. */
import { bytesKey } from '../../schemas/address.ts';
import type { RunStatus } from '../../schemas/treasury-api/reconciliation.ts';
import type {
  BaselinePinned,
  DepositConfirmed,
  MintAcknowledged,
} from '../../schemas/treasury.ledger/events.ts';
import type { Deposit } from '../deposits/domain/deposit.ts';
import type { Ledger } from '../deposits/domain/ledger.ts';
import type { ChainSupply, FinalSupply } from './supply.ts';

/** The ledger's side, up to one offset, and for mints up to one final block. */
export interface LedgerPosition {
  /** the first record that is not included */
  readonly ledger_offset: bigint;
  /** with Mints that an operator acknowledged, and the liability of the baseline */
  readonly treasury_minted: bigint;
  /** the chain's side up to the pinned baseline, on a chain that had minted before */
  readonly before?: { readonly genesis_allocation: bigint; readonly burned: bigint };
  /** credits of all deposits that are not minted up to that block */
  readonly held: bigint;
  /** the part of `held` whose mint is requested */
  readonly minting: bigint;
  /** the part of `held` that is proven and to be minted later, unless an operator rejects it */
  readonly waiting: bigint;
  /** the part of `held` that nobody has shown to have arrived */
  readonly unproven: bigint;
  /** credited in the ledger, and minted in no final block */
  readonly unminted: bigint;
  /** arrived and credited to nobody */
  readonly retained_fees: bigint;
  /** in custody and nobody's deposit, as operators decided */
  readonly booked_surplus: bigint;
  /** paid back to the senders of rejected deposits, as far as TRON shows it */
  readonly refunded: bigint;
  /** said to be paid back, and not shown by TRON */
  readonly unproven_refunds: bigint;
}

/** Facts that the logs alone do not show, and that the maker of a run knows. */
export interface Proofs {
  /** whether the deposit is shown to have arrived, on its terms */
  isProven(depositId: string): boolean;
  /** whether TRON shows that the refund of the deposit left custody */
  isPaidBack(depositId: string): boolean;
  /** whether one of our own addresses paid the deposit; undefined: the ledger is believed */
  isInternal(depositId: string): boolean | undefined;
  /** transfers to deposit addresses of which the ledger says something else, base units */
  displaced(): readonly { readonly to: Buffer; readonly value: bigint }[];
}

/** The ledger is believed. */
export const BELIEVED: Proofs = {
  isProven: () => true,
  isPaidBack: () => true,
  isInternal: () => undefined,
  displaced: () => [],
};

/**
 * A mint counts when a live intent names its transaction, and it gave the deposit's owner exactly
 * the credit; a Mint that an operator acknowledged counts when it is on the chain as acknowledged,
 * and pays the deposit whose mint was given up with it. Any other mint (undecided, repeated, of
 * another amount or account) stays unexplained supply. The block must be older than the ledger:
 * every intent is appended before its broadcast.
 */
export function ledgerPosition(
  ledger: Ledger,
  supply: ChainSupply,
  { height }: Pick<FinalSupply, 'height'>,
  deposits = sumsOf(ledger, supply, height),
): LedgerPosition {
  const { governance } = ledger;
  const { baseline } = governance;
  let acknowledged = 0n;
  /** by acknowledged Mints, of what deposits have in `credits` */
  const paid = { held: 0n, rejected: 0n };
  for (const mint of governance.acknowledged.values()) {
    if (mint.block_height <= (baseline?.block_height ?? -1) || !isMinted(mint, supply, height))
      continue;
    acknowledged += mint.amount;
    const deposit = depositPaidBy(mint, ledger);
    if (deposit === undefined) continue;
    paid.held += mint.amount;
    if (deposit.status === 'needs_manual' && deposit.rejected) paid.rejected += mint.amount;
  }
  const { gross, credits, minted, minting, unproven, unminted } = deposits;
  const held = credits - minted - paid.held;
  return {
    ...(baseline === undefined ? {} : { before: upTo(baseline, supply) }),
    ledger_offset: ledger.end,
    treasury_minted: minted + acknowledged + (baseline?.liability ?? 0n),
    held,
    minting,
    waiting: held - minting - unproven - (deposits.rejected - paid.rejected),
    unproven,
    unminted,
    retained_fees: gross - credits,
    booked_surplus: governance.booked_surplus,
    refunded: deposits.refunded,
    unproven_refunds: deposits.unproven_refunds,
  };
}

/** The part of the supply that custody need not cover; what was burned is not burned again. */
function upTo(
  { block_height, supply, liability }: BaselinePinned,
  chain: ChainSupply,
): LedgerPosition['before'] & object {
  return { genesis_allocation: supply - liability, burned: chain.burnedUpTo(block_height) };
}

/** Sums over deposits, for mints up to one block height. */
export class DepositSums {
  gross = 0n;
  credits = 0n;
  minted = 0n;
  minting = 0n;
  rejected = 0n;
  unproven = 0n;
  unminted = 0n;
  refunded = 0n;
  unproven_refunds = 0n;
  readonly #proofs: Proofs;

  constructor(proofs = BELIEVED) {
    this.#proofs = proofs;
  }

  /** `times`: -1n takes a deposit away that was added. */
  add(
    id: string,
    deposit: Deposit,
    supply: ChainSupply,
    height: number,
    times: 1n | -1n = 1n,
  ): void {
    if (deposit.status === 'absent') return;
    this.#addRefund(id, deposit, times);
    if (isNoMoney(deposit, this.#proofs.isInternal(id))) return;
    const { terms } = deposit;
    const credit = times * terms.credit;
    this.gross += times * terms.gross;
    this.credits += credit;
    const isRejected = deposit.status === 'needs_manual' && deposit.rejected;
    if (isRejected) this.rejected += credit;
    if (!('mint' in deposit)) {
      if (!isRejected && !this.#proofs.isProven(id)) this.unproven += credit;
      return;
    }
    const { tx_hash } = deposit.mint;
    const mint = { tx_hash, to: terms.clt_address, amount: terms.credit };
    if (isMinted(mint, supply, height)) this.minted += credit;
    else this.minting += credit;
    // a block that became final since has it too
    if (deposit.status === 'credited' && !isMinted(mint, supply, Number.POSITIVE_INFINITY))
      this.unminted += credit;
  }

  #addRefund(id: string, deposit: Deposit, times: 1n | -1n): void {
    const amount = deposit.status === 'needs_manual' ? times * deposit.refunded : 0n;
    if (amount === 0n) return;
    if (this.#proofs.isPaidBack(id)) this.refunded += amount;
    else this.unproven_refunds += amount;
  }
}

/** The sums over all deposits, for mints up to this height. */
export function sumsOf(
  { deposits }: Ledger,
  supply: ChainSupply,
  height: number,
  proofs = BELIEVED,
): DepositSums {
  const sums = new DepositSums(proofs);
  for (const [id, deposit] of deposits) sums.add(id, deposit, supply, height);
  return sums;
}

/**
 * Money that only changed its address among ours, as long as nobody approves it; and what nobody
 * has shown to have arrived, once a person has rejected it without paying anything back. The
 * ledger's reason for a hold is a claim, and nothing where the transfer is known to say otherwise.
 */
function isNoMoney(deposit: Deposit, isInternal?: boolean): boolean {
  if (deposit.status !== 'needs_manual') return false;
  const { reason, rejected, refunded } = deposit;
  return (
    (reason === 'internal_transfer' && isInternal !== false) ||
    (reason === 'unproven' && rejected && refunded === 0n)
  );
}

/** The deposit of a given-up mint that was carried out nevertheless; nobody mints it again. */
function depositPaidBy(
  { tx_hash, to, amount }: Pick<MintAcknowledged, 'tx_hash' | 'to' | 'amount'>,
  ledger: Ledger,
): Exclude<Deposit, { readonly status: 'absent' }> | undefined {
  const mint = ledger.requestedBy(tx_hash);
  if (mint?.amount !== amount || !mint.to.equals(to)) return undefined;
  const deposit = ledger.deposit(mint.deposit_id);
  return deposit.status === 'absent' || 'mint' in deposit || isNoMoney(deposit)
    ? undefined
    : deposit;
}

/** Whether the transaction made just this mint, up to that block. */
function isMinted(
  mint: Pick<MintAcknowledged, 'tx_hash' | 'to' | 'amount'>,
  supply: ChainSupply,
  height: number,
): boolean {
  const [made, ...others] = supply.mintsOf(mint.tx_hash);
  if (made === undefined || others.length > 0 || made.height > height) return false;
  return made.amount === mint.amount && made.to.equals(mint.to);
}

export interface Position extends Omit<LedgerPosition, 'ledger_offset' | 'before'> {
  readonly onchain_supply: bigint;
  readonly genesis_allocation: bigint;
  readonly burned: bigint;
  /** minted less burned */
  readonly ledger_liability: bigint;
  readonly custody_reported: bigint;
  /** the part of custody that the token blocks: it covers nothing */
  readonly frozen: bigint;
  /** the part of liability, minting and waiting that is not in custody, or is frozen there */
  readonly uncovered: bigint;
}

/** `frozen`: the part of `custody` that the token blocks. */
export function positionOf(
  { ledger_offset: _ledgerOffset, before, ...ledger }: LedgerPosition,
  final: FinalSupply,
  custody: bigint,
  frozen = 0n,
): Position {
  const burned = final.burned - (before?.burned ?? 0n);
  const liability = ledger.treasury_minted - burned;
  return {
    ...ledger,
    onchain_supply: final.supply,
    genesis_allocation: before?.genesis_allocation ?? final.genesis_allocation,
    burned,
    ledger_liability: liability,
    custody_reported: custody,
    frozen,
    uncovered: above0(
      above0(liability) + above0(ledger.minting) + above0(ledger.waiting) - (custody - frozen),
    ),
  };
}

/** More burned than minted (of the genesis allocation) pays for no deposit. */
function above0(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

/** Custody less what is owed, held, retained and booked; negative when money is missing. */
export function surplusOf(
  position: Pick<
    Position,
    | 'ledger_liability'
    | 'held'
    | 'retained_fees'
    | 'booked_surplus'
    | 'refunded'
    | 'custody_reported'
  >,
): bigint {
  const { ledger_liability, held, retained_fees, booked_surplus, refunded } = position;
  const expected = ledger_liability + held + retained_fees + booked_surplus - refunded;
  return position.custody_reported - expected;
}

/** Whether the supply is the genesis allocation plus the treasury's mints less what was burned. */
export function isSupplyExplained(position: Position): boolean {
  const { onchain_supply, genesis_allocation, ledger_liability } = position;
  return onchain_supply === genesis_allocation + ledger_liability;
}

/** `tolerance`: accepted surplus. */
export function statusOf(position: Position, tolerance: bigint): RunStatus {
  if (!isSupplyExplained(position) || position.custody_reported < position.ledger_liability)
    return 'mismatch';
  return surplusOf(position) > tolerance ? 'over_backed_drift' : 'ok';
}

/** The statuses that follow with some tolerance, which is a setting that no record has. */
export function possibleStatuses(position: Position): readonly RunStatus[] {
  return [0n, above0(surplusOf(position))].map((most) => statusOf(position, most));
}

/** Whether supply is not explained or money is missing: then nothing may be minted. */
export function isShort(position: Position): boolean {
  return !isSupplyExplained(position) || position.uncovered > 0n;
}

export interface Received {
  readonly tx_id: Buffer;
  /** offset of its DepositConfirmed in treasury.ledger */
  readonly offset: bigint;
  /** Unix milliseconds, of the block on TRON */
  readonly block_timestamp: number;
}

/** An address with its `bytesKey`. */
export interface Holder {
  readonly address: Buffer;
  readonly key: string;
}

export function holderOf(address: Buffer): Holder {
  return { address, key: bytesKey(address) };
}

/** A deposit address. */
export interface Receiver extends Holder {
  /** the accounts of its deposits: one, unless a deposit is forged */
  readonly owners: Buffer[];
  /** in the order of the ledger */
  readonly received: Received[];
  /** block time of its newest transfer */
  newest: number;
}

/** The transfers that deposit addresses received, from the ledger. */
export class Receipts {
  #state = {
    /** by their keys, in the order of first deposits */
    receivers: new Map<string, Receiver>(),
    newest: 0,
  };

  /** Everything that was folded, to be copied at once: it changes with the next record. */
  get state() {
    return this.#state;
  }

  /** Goes on from the state of another. */
  restore(state: Receipts['state']): void {
    this.#state = state;
  }

  /** Takes each DepositConfirmed that counts, in order. */
  add(deposit: DepositConfirmed, offset: bigint): void {
    const {
      tx_id,
      deposit_address: depositAddress,
      clt_address: cltAddress,
      block_timestamp,
    } = deposit;
    const holder = holderOf(depositAddress);
    const known = this.#state.receivers.get(holder.key);
    const receiver = known ?? { ...holder, owners: [], received: [], newest: 0 };
    this.#state.receivers.set(holder.key, receiver);
    if (!receiver.owners.some((other) => other.equals(cltAddress)))
      receiver.owners.push(cltAddress);
    receiver.received.push({ tx_id, offset, block_timestamp });
    receiver.newest = Math.max(receiver.newest, block_timestamp);
    this.#state.newest = Math.max(this.#state.newest, block_timestamp);
  }

  /** Block time of the newest deposit, 0 before the first: TRON is solid up to there. */
  get newest_block_timestamp(): number {
    return this.#state.newest;
  }

  /** Block time of an address' newest deposit; 0: it has none. */
  newestTo({ key }: Holder): number {
    return this.#state.receivers.get(key)?.newest ?? 0;
  }

  /** In the order of first deposits; with an offset, only those with a deposit from there on. */
  holders(fromOffset = 0n): readonly Receiver[] {
    return [...this.#state.receivers.values()].filter(
      ({ received }) => (received.at(-1)?.offset ?? -1n) >= fromOffset,
    );
  }

  /** An address' transfers before this ledger offset. */
  of({ key }: Holder, beforeOffset: bigint): readonly Received[] {
    return (this.#state.receivers.get(key)?.received ?? []).filter(
      ({ offset }) => offset < beforeOffset,
    );
  }
}
