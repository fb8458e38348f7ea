/**
 * The treasury's verbs, second half: which deposits are minted next, what became of a mint, and what a person decides. They change nothing: what they answer is to be
 * appended, and counts where `ledger.ts` says so.
 */
import type {
  DepositApproved,
  DepositHeld,
  DepositRejected,
  MintCredited,
  MintDead,
  MintIntended,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Decision } from './confirmation.ts';
import { phase, type Confirmed } from './deposit.ts';
import type { Ledger, RequestedMint } from './ledger.ts';
import { needsApproval, WINDOW_MS } from './mint-book.ts';

/** How long a deposit lets smaller ones pass while it does not fit under the rolling cap; then it goes first. */
export const PATIENCE_MS = 86_400_000;

/** What a Mint says on the chain. */
export interface MintCall {
  readonly nonce: number;
  /** 20 bytes */
  readonly to: Buffer;
  /** CLT base units, which are micro-USDT */
  readonly amount: bigint;
  /** 32 bytes: the deposit, so that whoever reads the chain finds it */
  readonly reference: Buffer;
}

interface Due {
  readonly deposit_id: string;
  readonly deposit: Confirmed;
}

/**
 * The deposits that may be minted at this moment, in the order of the ledger, as far as the rolling cap goes. One that does not fit lets those behind it pass until
 * it has waited `PATIENCE_MS`; from then on nothing behind it is minted, so that within a day there is room. One that is larger than the cap itself, which only a
 * person could have let in, waits for a larger cap and keeps nobody waiting. Nor does one whose mint the ledger has given up while no final block shows its nonce taken, as far as
 * whoever asks has read: what another writer says of the chain is not believed before it is seen.
 */
export function dueMints(
  ledger: Ledger,
  { now, final_nonce, most }: Pick<Intending, 'now' | 'final_nonce' | 'most'>,
): readonly Due[] {
  const due: Due[] = [];
  const { policy } = ledger;
  if (policy === undefined) return due;
  let left = ledger.leftAt(now);
  for (const { deposit_id, since } of ledger.waiting) {
    if (due.length >= most || left <= 0n) break;
    const deposit = ledger.deposit(deposit_id);
    const limits =
      deposit.status === 'confirmed' ? ledger.policyOf(deposit.terms.policy_version) : undefined;
    if (
      deposit.status !== 'confirmed' ||
      limits === undefined ||
      deposit.terms.credit > policy.rolling_cap
    )
      continue;
    if (ledger.givenUpNonce(deposit_id) >= final_nonce) continue;
    const next = phase(deposit, { limits, cap_left: left });
    if (next === 'await_cap' && now - since >= PATIENCE_MS) break;
    if (next !== 'mint') continue;
    due.push({ deposit_id, deposit });
    left -= deposit.terms.credit;
  }
  return due;
}

export interface Intending {
  /** Unix milliseconds */
  readonly now: number;
  /** the next nonce of the mint authority as of the newest final block */
  readonly final_nonce: number;
  /** of the signed transaction: known before it is sent, since signing is deterministic */
  readonly hash_of: (call: MintCall) => Buffer;
  /** how many at once */
  readonly most: number;
}

/** The intents to mint what is due; none when nothing is. Nothing may be sent before they are read back and count. */
export function intend(
  ledger: Ledger,
  { now, final_nonce, hash_of, most }: Intending,
): { readonly events: readonly MintIntended[] } {
  const first = Math.max(ledger.lastNonce + 1, final_nonce);
  const events = dueMints(ledger, { now, final_nonce, most }).map(
    ({ deposit_id, deposit: { terms } }, at): MintIntended => {
      const call = mintCallOf({
        deposit_id,
        nonce: first + at,
        to: terms.clt_address,
        amount: terms.credit,
      });
      return {
        type: 'MintIntended',
        sequence: Number(ledger.end) + at,
        deposit_id,
        nonce: call.nonce,
        to: call.to,
        amount: call.amount,
        fee: terms.fee,
        policy_version: terms.policy_version,
        tx_hash: hash_of(call),
        decided_at: now,
      };
    },
  );
  return { events };
}

/** Its reference is the deposit's id and sixteen zero bytes. */
export function mintCallOf({
  deposit_id: id,
  nonce,
  to,
  amount,
}: Pick<RequestedMint, 'deposit_id' | 'nonce' | 'to' | 'amount'>): MintCall {
  return {
    nonce,
    to,
    amount,
    reference: Buffer.concat([Buffer.from(id.replaceAll('-', ''), 'hex'), Buffer.alloc(16)]),
  };
}

/** A transaction of the mint authority in a final block. */
export interface FinalTransaction {
  readonly tx_hash: Buffer;
  readonly block_height: number;
  readonly block_hash: Buffer;
  /** whether it is a Mint that minted just this, to this account; undefined: it minted nothing */
  readonly minted: { readonly to: Buffer; readonly amount: bigint } | undefined;
}

/** What final blocks say of the mints that are under way; no events while they say nothing new. `finalAt`: the authority's final transaction with a nonce. */
export function conclude(
  ledger: Ledger,
  finalAt: (nonce: number) => FinalTransaction | undefined,
  { now, most }: { readonly now: number; readonly most: number },
): { readonly events: readonly (MintCredited | MintDead | DepositHeld)[] } {
  const events: (MintCredited | MintDead | DepositHeld)[] = [];
  for (const mint of ledger.live.values()) {
    if (events.length >= most) break;
    const found = finalAt(mint.nonce);
    if (found !== undefined)
      events.push(
        conclusionOf(mint, found, {
          sequence: Number(ledger.end) + events.length,
          decided_at: now,
        }),
      );
  }
  return { events };
}

function conclusionOf(
  { deposit_id, nonce, tx_hash, to, amount }: RequestedMint,
  { tx_hash: found, block_height, block_hash, minted }: FinalTransaction,
  written: { readonly sequence: number; readonly decided_at: number },
): MintCredited | MintDead | DepositHeld {
  const of = { ...written, deposit_id };
  if (!found.equals(tx_hash))
    return { type: 'MintDead', ...of, tx_hash, nonce, other_tx_hash: found, block_height };
  if (minted?.amount !== amount || !minted.to.equals(to))
    return { type: 'DepositHeld', ...of, reason: 'mint_failed' };
  return { type: 'MintCredited', ...of, tx_hash, block_height, block_hash };
}

/**
 * Why a mint that was requested must not be signed; undefined when it may be. What the fold has found is looked at once more, each for itself: that it is under way,
 * that it is this deposit's and within its limits, and that all mints of the 24 hours up to it were within the rolling cap.
 */
export function whyNotSigned(ledger: Ledger, mint: RequestedMint): string | undefined {
  const deposit = ledger.deposit(mint.deposit_id);
  if (deposit.status !== 'mint_requested') return `the deposit is ${deposit.status}`;
  const { terms, approved } = deposit;
  if (!deposit.mint.tx_hash.equals(mint.tx_hash) || deposit.mint.nonce !== mint.nonce)
    return 'another mint is under way';
  if (mint.amount !== terms.credit || mint.amount <= 0n || !mint.to.equals(terms.clt_address))
    return 'it is not what the deposit credits';
  const limits = ledger.policyOf(terms.policy_version);
  if (limits === undefined) return `there is no policy ${terms.policy_version}`;
  if (needsApproval({ status: 'confirmed', terms, approved }, limits))
    return 'nobody has approved it';
  let sum = 0n;
  for (const { at, nonce, amount } of ledger.counted)
    if (at > mint.at - WINDOW_MS && nonce <= mint.nonce) sum += amount;
  return sum > mint.rolling_cap
    ? `${sum} within 24 hours is above the rolling cap of ${mint.rolling_cap}`
    : undefined;
}

/** A person's decision. */
export interface HumanDecision {
  readonly deposit_id: string;
  readonly actor: string;
  readonly reason: string;
  /** Unix milliseconds */
  readonly now: number;
}

export type HumanRefusal =
  | 'no_such_deposit'
  | 'not_waiting_for_a_person'
  | 'rejected_for_good'
  | 'nothing_to_mint'
  | 'over_rolling_cap';

/** Has a held deposit minted, whatever its limits say; it still waits for the rolling cap. No events when somebody has approved it already. */
export function approve(
  ledger: Ledger,
  { deposit_id, actor, reason, now }: HumanDecision,
): Decision<HumanRefusal, DepositApproved> {
  const deposit = ledger.deposit(deposit_id);
  switch (deposit.status) {
    case 'absent':
      return { refused: 'no_such_deposit' };
    case 'confirmed':
    case 'mint_requested':
      return deposit.approved ? { events: [] } : { refused: 'not_waiting_for_a_person' };
    case 'credited':
      return { refused: 'not_waiting_for_a_person' };
    case 'needs_manual':
  }
  if (deposit.rejected) return { refused: 'rejected_for_good' };
  if (deposit.terms.credit === 0n) return { refused: 'nothing_to_mint' };
  if (deposit.terms.credit > (ledger.policy?.rolling_cap ?? 0n))
    return { refused: 'over_rolling_cap' };
  return {
    events: [
      {
        type: 'DepositApproved',
        sequence: Number(ledger.end),
        deposit_id,
        actor,
        reason,
        decided_at: now,
      },
    ],
  };
}

/** Leaves a held deposit as it is, for good. No events when somebody has rejected it already. */
export function reject(
  ledger: Ledger,
  { deposit_id, actor, reason, now }: HumanDecision,
): Decision<HumanRefusal, DepositRejected> {
  const deposit = ledger.deposit(deposit_id);
  if (deposit.status === 'absent') return { refused: 'no_such_deposit' };
  if (deposit.status !== 'needs_manual') return { refused: 'not_waiting_for_a_person' };
  if (deposit.rejected) return { events: [] };
  return {
    events: [
      {
        type: 'DepositRejected',
        sequence: Number(ledger.end),
        deposit_id,
        actor,
        reason,
        decided_at: now,
      },
    ],
  };
}
