/**
 * Judges which intents to mint count: the first for its nonce, its nonce above that of every intent
 * of its authority that counted before, for a deposit that waits for just this, within the caps as
 * they stand in the order of the ledger. Everybody who folds the ledger judges with this file,
 * which relies on that order alone: two writers that both believe it is their turn get one intent
 * between them.
 *
 * The rolling cap holds over the times of the intents that count, each at least that of the one
 * before: a slow clock cannot move the window back. The rolling cap is that of the policy in force;
 * the limits of a single mint are those of the policy that the deposit was confirmed under. A mint
 * that is given up leaves the window. The nonce of a mint that is released or void is free again:
 * the chain takes no later one before it.
 */
import { holdReasonOf, type PolicyLimits } from '../../../schemas/deposit-policy.ts';
import type {
  DepositConfirmed,
  DepositHeld,
  MintIntended,
  PolicySet,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Deposit } from './deposit.ts';
import { isByPolicy } from './governance.ts';
import { whyNotTerms, type Policy } from './proof.ts';

/** The rolling cap holds over (t - 24 h, t]. */
export const WINDOW_MS = 86_400_000;

/** An intent that counts and is not given up. */
export interface CountedMint {
  /** of its MintIntended: nonces begin again with another authority */
  readonly sequence: number;
  /** micro-USDT */
  readonly amount: bigint;
  /** the ledger's time, Unix milliseconds */
  readonly at: number;
}

/** The state of a book that does not begin with the ledger. */
export interface StoredMints {
  readonly policies: readonly Policy[];
  /** version of the policy in force; 0 before the first */
  readonly policy_version: number;
  /** an intent counts above it; -1 before the first */
  readonly last_nonce: number;
  /** nonces below it that count again, ascending */
  readonly free_nonces: readonly number[];
  /** the ledger's time of that intent */
  readonly time: number;
  /** in the order of the ledger; may hold some that left the window, and all where one is voided */
  readonly counted: readonly CountedMint[];
}

export type VoidReason =
  'not_waiting' | 'no_policy' | 'nonce_taken' | 'outside_limits' | 'over_rolling_cap';

const NOTHING: StoredMints = {
  policies: [],
  policy_version: 0,
  last_nonce: -1,
  free_nonces: [],
  time: 0,
  counted: [],
};

export class MintBook {
  readonly #policies: Map<number, Policy>;
  #policy: Policy | undefined;
  #lastNonce: number;
  #freeNonces: readonly number[];
  #time: number;
  /** by sequence, which is their order; without those that left the window */
  #counted: Map<number, CountedMint>;
  /** those that left it, in order: they count again when what moved the window is void */
  #past: CountedMint[] = [];
  #sum: bigint;

  constructor(stored: StoredMints = NOTHING) {
    const { policies, policy_version, last_nonce, free_nonces, time, counted } = stored;
    this.#policies = new Map(policies.map((policy) => [policy.version, policy]));
    this.#policy = this.#policies.get(policy_version);
    this.#lastNonce = last_nonce;
    this.#freeNonces = free_nonces;
    this.#time = time;
    this.#counted = new Map(counted.map((mint) => [mint.sequence, mint]));
    this.#sum = counted.reduce((sum, { amount }) => sum + amount, 0n);
  }

  /** The policy in force; undefined before the first. */
  get policy(): Policy | undefined {
    return this.#policy;
  }

  policyOf(version: number): Policy | undefined {
    return this.#policies.get(version);
  }

  /** The nonce that the next intent has to be above, unless it has a free one; -1: any. */
  get lastNonce(): number {
    return this.#lastNonce;
  }

  /** Nonces below the last one that count again, ascending. */
  get freeNonces(): readonly number[] {
    return this.#freeNonces;
  }

  /** The mints in the window at `time`, without those given up since; in order. */
  get counted(): Iterable<CountedMint> {
    return this.#counted.values();
  }

  /** The ledger's time of the last intent that counted, 0 before the first. */
  get time(): number {
    return this.#time;
  }

  /** The ledger's time of an intent decided at this moment. */
  timeOf(decidedAt: number): number {
    return Math.max(this.#time, decidedAt);
  }

  /** The room under the rolling cap, micro-USDT; negative after a cap was lowered. */
  leftAt(decidedAt: number): bigint {
    const windowStart = this.timeOf(decidedAt) - WINDOW_MS;
    let left = (this.#policy?.rolling_cap ?? 0n) - this.#sum;
    for (const { at, amount } of this.#counted.values()) {
      if (at > windowStart) break;
      left += amount;
    }
    return left;
  }

  /**
   * When there is room for this amount under the rolling cap if nothing else is minted, Unix
   * milliseconds; undefined: never under this cap.
   */
  roomAt(amount: bigint, decidedAt: number): number | undefined {
    const windowStart = this.timeOf(decidedAt) - WINDOW_MS;
    let left = this.leftAt(decidedAt);
    if (left >= amount) return decidedAt;
    for (const mint of this.#counted.values()) {
      if (mint.at <= windowStart) continue;
      left += mint.amount;
      if (left >= amount) return mint.at + WINDOW_MS;
    }
    return undefined;
  }

  /** Puts the policy in force and returns true, unless it is not the next of this network. */
  setPolicy(event: PolicySet): boolean {
    const before = this.#policy;
    if (event.version !== (before?.version ?? 0) + 1) return false;
    if (before !== undefined && event.network !== before.network) return false;
    this.#policy = event;
    this.#policies.set(event.version, event);
    return true;
  }

  /** Why no honest writer confirms on these terms. `ordinal`: its account's deposits before. */
  whyNotTerms(event: DepositConfirmed, ordinal: number): string | undefined {
    return whyNotTerms(event, this.#policy, ordinal);
  }

  /** Whether a hold that names a limit names the right one; other reasons are claims. */
  isHold(deposit: Deposit, event: DepositHeld): boolean {
    if (deposit.status === 'absent' || !isByPolicy(event)) return true;
    const limits = this.#policies.get(deposit.terms.policy_version);
    return limits !== undefined && holdReasonOf(limits, deposit.terms.credit) === event.reason;
  }

  /** The reason why an intent for this deposit does not count; undefined when it does. */
  voidReasonOf(deposit: Deposit, intent: MintIntended): VoidReason | undefined {
    if (deposit.status !== 'confirmed') return 'not_waiting';
    const terms = this.#policies.get(deposit.terms.policy_version);
    if (terms === undefined || this.#policy === undefined) return 'no_policy';
    if (intent.nonce <= this.#lastNonce && !this.#freeNonces.includes(intent.nonce))
      return 'nonce_taken';
    if (needsApproval(deposit, terms)) return 'outside_limits';
    return intent.amount > this.leftAt(intent.decided_at) ? 'over_rolling_cap' : undefined;
  }

  /** Adds an intent that counts. */
  count({ sequence, nonce, amount, decided_at }: MintIntended): CountedMint {
    const at = this.timeOf(decided_at);
    for (const gone of this.#counted.values()) {
      if (gone.at > at - WINDOW_MS) break;
      this.giveUp(gone.sequence);
      this.#past.push(gone);
    }
    const mint = { sequence, amount, at };
    this.#counted.set(sequence, mint);
    this.#sum += amount;
    if (nonce > this.#lastNonce) this.#lastNonce = nonce;
    else this.#freeNonces = this.#freeNonces.filter((free) => free !== nonce);
    this.#time = at;
    return mint;
  }

  /** After a rotation nonces are those of another account; no mint is in flight. */
  beginNonces(): void {
    this.#lastNonce = -1;
    this.#freeNonces = [];
  }

  /** The nonce of a mint that was released or is void counts again. `inFlight`: of the others. */
  freeNonce(nonce: number, inFlight: Iterable<number>): void {
    const taken = [...inFlight];
    const last = Math.max(-1, ...taken);
    const free = [...this.#freeNonces, nonce].filter(
      (each) => each < last && !taken.includes(each),
    );
    this.#freeNonces = [...new Set(free)].toSorted((one, other) => one - other);
    this.#lastNonce = last;
  }

  /** Gives up an intent that counted: its part of the window is free again. */
  giveUp(sequence: number): void {
    this.#sum -= this.#counted.get(sequence)?.amount ?? 0n;
    if (!this.#counted.delete(sequence))
      this.#past = this.#past.filter((mint) => mint.sequence !== sequence);
  }

  /**
   * Gives up an intent that is void. Its time was somebody's word: the ledger's time and the window
   * are what the others make them.
   */
  unmake(sequence: number): void {
    this.giveUp(sequence);
    const all = [...this.#past, ...this.#counted.values()];
    this.#time = all.reduce((time, { at }) => Math.max(time, at), 0);
    this.#past = all.filter(({ at }) => at <= this.#time - WINDOW_MS);
    const counted = all.filter(({ at }) => at > this.#time - WINDOW_MS);
    this.#counted = new Map(counted.map((mint) => [mint.sequence, mint]));
    this.#sum = counted.reduce((sum, { amount }) => sum + amount, 0n);
  }
}

/** True while the deposit is outside its limits and no person has approved it. */
export function needsApproval(
  deposit: Extract<Deposit, { readonly status: 'confirmed' }>,
  limits: PolicyLimits,
): boolean {
  return !deposit.approved && holdReasonOf(limits, deposit.terms.credit) !== undefined;
}
