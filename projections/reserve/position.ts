/** Supply, ledger and custody at one ledger offset and one final block. Base units, micro-USD. */
import type { RunStatus } from '../../schemas/reconciliation.ts';
import type { DepositConfirmed } from '../../schemas/treasury.ledger/events.ts';
import type { Ledger } from '../deposits/domain/ledger.ts';
import type { ChainSupply, FinalSupply } from './supply.ts';

/** The ledger's side, up to one offset, and for mints up to one final block. */
export interface LedgerPosition {
  /** the first record that is not included */
  readonly ledger_offset: bigint;
  readonly treasury_minted: bigint;
  /** credits of all deposits that are not minted up to that block */
  readonly held: bigint;
  /** arrived and credited to nobody */
  readonly retained_fees: bigint;
}

/**
 * A mint counts when a live intent names its transaction, and it gave the deposit's owner exactly
 * the credit. Any other mint (undecided, repeated, of another amount or account) stays unexplained
 * supply. The block must be older than the ledger: every intent is appended before its broadcast.
 */
export function ledgerPosition(
  ledger: Ledger,
  supply: ChainSupply,
  final: FinalSupply,
): LedgerPosition {
  let minted = 0n;
  let gross = 0n;
  let credits = 0n;
  for (const deposit of ledger.deposits.values()) {
    if (deposit.status === 'absent') continue;
    const { terms } = deposit;
    gross += terms.gross;
    credits += terms.credit;
    if (deposit.status !== 'mint_requested' && deposit.status !== 'credited') continue;
    const [mint, ...others] = supply.mintsOf(deposit.mint.tx_hash);
    if (mint === undefined || others.length > 0 || mint.height > final.height) continue;
    if (mint.amount === terms.credit && mint.to.equals(terms.clt_address)) minted += terms.credit;
  }
  return {
    ledger_offset: ledger.end,
    treasury_minted: minted,
    held: credits - minted,
    retained_fees: gross - credits,
  };
}

export interface Position extends Omit<LedgerPosition, 'ledger_offset'> {
  readonly onchain_supply: bigint;
  readonly genesis_allocation: bigint;
  readonly burned: bigint;
  /** minted less burned */
  readonly ledger_liability: bigint;
  readonly custody_reported: bigint;
}

export function positionOf(ledger: LedgerPosition, final: FinalSupply, custody: bigint): Position {
  const { treasury_minted, held, retained_fees } = ledger;
  return {
    onchain_supply: final.supply,
    genesis_allocation: final.genesis_allocation,
    treasury_minted,
    burned: final.burned,
    ledger_liability: treasury_minted - final.burned,
    custody_reported: custody,
    held,
    retained_fees,
  };
}

/** Custody less what is owed, held and retained; negative when money is missing. */
export function surplusOf(position: Position): bigint {
  const { ledger_liability, held, retained_fees, custody_reported } = position;
  return custody_reported - (ledger_liability + held + retained_fees);
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

export interface Received {
  readonly tx_id: Buffer;
  /** offset of its DepositConfirmed in treasury.ledger */
  readonly offset: bigint;
  /** Unix milliseconds, of the block on TRON */
  readonly block_timestamp: number;
}

/** The transfers that deposit addresses received, from the ledger. */
export class Receipts {
  /** by the address' bytes in latin1, in the order of the ledger */
  readonly #byAddress = new Map<string, Received[]>();
  #newest = 0;

  /** Takes each DepositConfirmed that counts, in order. */
  add({ tx_id, deposit_address, block_timestamp }: DepositConfirmed, offset: bigint): void {
    const key = deposit_address.toString('latin1');
    const received = { tx_id, offset, block_timestamp };
    const known = this.#byAddress.get(key);
    if (known === undefined) this.#byAddress.set(key, [received]);
    else known.push(received);
    this.#newest = Math.max(this.#newest, block_timestamp);
  }

  /** Block time of the newest deposit, 0 before the first: TRON is solid up to there. */
  get newest_block_timestamp(): number {
    return this.#newest;
  }

  /** In the order of first deposits; with an offset, only those with a deposit from there on. */
  addresses(fromOffset = 0n): readonly Buffer[] {
    return [...this.#byAddress]
      .filter(([, received]) => (received.at(-1)?.offset ?? -1n) >= fromOffset)
      .map(([key]) => Buffer.from(key, 'latin1'));
  }

  /** An address' transfers before this ledger offset. */
  of(address: Buffer, beforeOffset: bigint): readonly Received[] {
    return (this.#byAddress.get(address.toString('latin1')) ?? []).filter(
      ({ offset }) => offset < beforeOffset,
    );
  }
}
