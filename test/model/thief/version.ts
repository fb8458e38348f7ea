/**
 * The differences between versions of the system under test: the sequences are played on an older
 * one with another version of this file.
 */
import type { Wallet } from 'ethers';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { decisionText, type SignedDecision } from '../../../schemas/operator-signature.ts';
import { isReserveEvent, type ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import {
  isTreasuryEvent,
  type DepositConfirmed,
  type MintVoided,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { BalanceProvider } from '../../../services/treasury/reconciliation/readings.ts';
import type { ReconcilerOptions } from '../../../services/treasury/reconciliation/reconciler.ts';
import type { Treasury } from '../../../services/treasury/treasury.ts';
import type { Placed } from './logs.ts';

/** Where two operators are asked for, a decision that loosens limits needs both. */
export const LOOSENING_NEEDS_TWO = true;
/** Who holds a deposit signs it, unless the policy alone gives the reason. */
export const HOLDS_ARE_SIGNED = true;
/** An intent that the mint authority's key did not make is voided, and the audit names it. */
export const FOREIGN_MINTS_ARE_VOIDED = true;
/** By whom a deposit is counted: the later ones cost less. */
export const ORDINAL_OF: 'address' | 'account' = 'account';

/** The number of the deposit that is confirmed next: the first one costs more. */
export function ordinalOf(
  ledger: Ledger,
  { clt_address }: Pick<DepositConfirmed, 'deposit_address' | 'clt_address'>,
): number {
  return ledger.depositsOf(clt_address);
}

/** The offset from which on the ledger is that of an honest treasury. */
export function beginningOf(records: readonly Placed<TreasuryEvent>[]): bigint {
  const pin = records.find(
    ({ event, counts, forged }) => event.type === 'LedgerPinned' && counts && forged === undefined,
  );
  return pin?.offset ?? BigInt(records.length);
}

/** An operator stops all minting. */
export function isStopping(event: TreasuryEvent): boolean {
  return event.type === 'MintingSet' && !event.open;
}

/** The part of custody that covers nothing. */
export function frozenIn({ frozen = 0n }: ReserveReconciled): bigint {
  return frozen;
}

/** The treasury takes back a mint that the chain does not have. */
export function isVoiding(event: TreasuryEvent): event is MintVoided {
  return event.type === 'MintVoided';
}

type Signable = SignedDecision | ReserveReconciled;

export function isSignable(event: { readonly type: string }): event is Signable {
  if (isReserveEvent(event)) return true;
  if (!isTreasuryEvent(event)) return false;
  const { type } = event;
  const isOfAuthority = type === 'LedgerPinned' || type === 'DepositHeld' || type === 'MintDead';
  return isOfAuthority || 'actor' in event || type === 'PolicySet';
}

/** Signed for this ledger; an event that nobody signs stays as it is. */
export function signatureOf(
  event: { readonly type: string },
  wallet: Wallet,
  { governance }: Ledger,
): Buffer | undefined {
  if (!isSignable(event)) return undefined;
  const namesNone = event.type === 'LedgerPinned' || event.type === 'ReserveReconciled';
  const text = decisionText(event, namesNone ? undefined : governance.ledger_id);
  return Buffer.from(wallet.signMessageSync(text).slice(2), 'hex');
}

/** Answers about the token: each balance is one number. */
export interface Answers extends Pick<BalanceProvider, 'head' | 'balance' | 'list' | 'receipt'> {
  readonly balances: (addresses: readonly Buffer[]) => Promise<readonly bigint[]>;
}

const TOKEN = { paused: false, deprecated: false, fee_basis_points: 0n, maximum_fee: 0n };

/** The token blocks nobody. */
export function providerOf({ balances, ...answers }: Answers): BalanceProvider {
  return {
    ...answers,
    token: () => Promise.resolve(TOKEN),
    isBlocked: () => Promise.resolve(false),
    balances: async (addresses) => ({
      token: TOKEN,
      balances: (await balances(addresses)).map((balance) => ({ balance, is_blocked: false })),
    }),
  };
}

export const RESERVE_METRICS: ReconcilerOptions['metrics'] = {
  token() {},
  made() {},
  planned() {},
  failed() {},
  lag() {},
};

/** The proofs of the treasury, for the reserve runs. */
export function proofsOf(treasury: Treasury): Partial<ReconcilerOptions> {
  return {
    proofs: {
      isProven: (id) => treasury.proofs.isProven(id),
      isPaidBack: (id) => treasury.proofs.isPaidBack(id),
      isInternal: (id) => treasury.proofs.isInternal(id),
      displaced: () => treasury.proofs.displaced(),
    },
  };
}
