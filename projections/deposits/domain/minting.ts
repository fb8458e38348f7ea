/**
 * Decides which deposits are minted next, and what became of a mint. The functions change nothing:
 * the events that they return are to be appended.
 */
import type {
  DepositHeld,
  MintCredited,
  MintDead,
  MintIntended,
} from '../../../schemas/treasury.ledger/events.ts';
import type { SentTransaction } from '../../chain/sender.ts';
import { phase, type Confirmed } from './deposit.ts';
import type { Ledger, RequestedMint } from './ledger.ts';
import { goesFirstAt } from './mint-queue.ts';

/** The arguments of a Mint on the chain. */
export interface MintCall {
  readonly nonce: number;
  /** 20 bytes */
  readonly to: Buffer;
  /** CLT base units, which are micro-USDT */
  readonly amount: bigint;
  /** 32 bytes: names the deposit to readers of the chain */
  readonly reference: Buffer;
}

interface Due {
  readonly deposit_id: string;
  readonly deposit: Confirmed;
}

/**
 * The deposits that may be minted at this moment, in the order of the ledger, as far as the rolling
 * cap allows. A deposit that does not fit lets those behind it pass until it has waited a day; then
 * nothing behind it is minted, so that within another day there is room. A deposit above the
 * rolling cap itself (approved before the cap was lowered) waits for a larger cap and delays
 * nobody. A deposit whose mint was given up waits until the caller has read final blocks that show
 * it as over: another writer's word on the chain is not believed.
 */
export function dueMints(
  ledger: Ledger,
  {
    now,
    final_nonce,
    most,
    isOver = ({ nonce }) => nonce < final_nonce,
    isProven = () => true,
  }: Omit<Intending, 'hashOf'>,
): readonly Due[] {
  const due: Due[] = [];
  const { policy } = ledger;
  if (policy === undefined) return due;
  let left = ledger.leftAt(now);
  for (const { deposit_id, ...position } of ledger.waiting) {
    if (due.length >= most || left <= 0n) break;
    const deposit = ledger.deposit(deposit_id);
    if (deposit.status !== 'confirmed') continue;
    const { credit, policy_version } = deposit.terms;
    const limits = ledger.policyOf(policy_version);
    const goesFirst = goesFirstAt(position, credit, policy.rolling_cap);
    if (limits === undefined || goesFirst === undefined) continue;
    if (!isProven(deposit_id) || !ledger.givenUp(deposit_id).every(isOver)) continue;
    const next = phase(deposit, { limits, cap_left: left });
    if (next === 'await_cap' && now >= goesFirst) break;
    if (next !== 'mint') continue;
    due.push({ deposit_id, deposit });
    left -= credit;
  }
  return due;
}

export interface Intending {
  /** Unix milliseconds */
  readonly now: number;
  /** the mint authority's next nonce as of the newest final block */
  readonly final_nonce: number;
  /** hash of the signed transaction: known before the broadcast, since signing is deterministic */
  readonly hashOf: (call: MintCall) => Buffer;
  /** intents at most */
  readonly most: number;
  /**
   * Whether final blocks show that a mint which was given up is not on the chain and never will be.
   * By default: its nonce is used.
   */
  readonly isOver?: (mint: RequestedMint) => boolean;
  /** Whether the deposit has arrived, on its terms. By default the ledger is believed. */
  readonly isProven?: (depositId: string) => boolean;
}

/** The intents to mint. Broadcast nothing before an intent is read back and counts. */
export function intend(
  ledger: Ledger,
  { hashOf, ...intending }: Intending,
): { readonly events: readonly MintIntended[] } {
  const { now, final_nonce } = intending;
  const free = ledger.free_nonces.filter((nonce) => nonce >= final_nonce);
  const first = Math.max(ledger.last_nonce + 1, final_nonce) - free.length;
  const events = dueMints(ledger, intending).map(
    ({ deposit_id, deposit: { terms } }, at): MintIntended => {
      const call = mintCallOf({
        deposit_id,
        nonce: free[at] ?? first + at,
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
        tx_hash: hashOf(call),
        decided_at: now,
      };
    },
  );
  return { events };
}

/** The reference is the deposit's id and sixteen zero bytes. */
export function mintCallOf({
  deposit_id: depositId,
  nonce,
  to,
  amount,
}: Pick<RequestedMint, 'deposit_id' | 'nonce' | 'to' | 'amount'>): MintCall {
  return {
    nonce,
    to,
    amount,
    reference: Buffer.concat([Buffer.from(depositId.replaceAll('-', ''), 'hex'), Buffer.alloc(16)]),
  };
}

/** A transaction of the mint authority in a final block. */
export type FinalTransaction = Omit<SentTransaction, 'nonce' | 'function_call_type'>;

/** The outcomes of mints in flight. `finalAt`: the authority's final transaction with a nonce. */
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
  { tx_hash: txHash, block_height, block_hash, minted }: FinalTransaction,
  written: { readonly sequence: number; readonly decided_at: number },
): MintCredited | MintDead | DepositHeld {
  const of = { ...written, deposit_id };
  if (!txHash.equals(tx_hash))
    return { type: 'MintDead', ...of, tx_hash, nonce, other_tx_hash: txHash, block_height };
  if (minted?.amount !== amount || !minted.to.equals(to))
    return { type: 'DepositHeld', ...of, reason: 'mint_failed' };
  return { type: 'MintCredited', ...of, tx_hash, block_height, block_hash };
}
