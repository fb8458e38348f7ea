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
  #state;

  constructor(stored: StoredMints = NOTHING) {
    const { policies, policy_version, last_nonce, free_nonces, time, counted } = stored;
    const known = new Map(policies.map((policy) => [policy.version, policy]));
    const past: CountedMint[] = [];
    this.#state = {
      policies: known,
      policy: known.get(policy_version),
      last_nonce,
      free_nonces,
      time,
      /** by sequence, which is their order; without those that left the window */
      counted: new Map(counted.map((mint) => [mint.sequence, mint])),
      /** mints that left the window, in order: they count again when what moved it is void */
      past,
      sum: counted.reduce((sum, { amount }) => sum + amount, 0n),
    };
  }

  /** Everything that was folded, to be copied at once: it changes with the next record. */
  get state() {
    return this.#state;
  }

  /** Goes on from the state of another. */
  restore(state: MintBook['state']): void {
    this.#state = state;
  }

  /** The policy in force; undefined before the first. */
  get policy(): Policy | undefined {
    return this.#state.policy;
  }

  policyOf(version: number): Policy | undefined {
    return this.#state.policies.get(version);
  }

  /** The nonce that the next intent has to be above, unless it has a free one; -1: any. */
  get last_nonce(): number {
    return this.#state.last_nonce;
  }

  /** Nonces below the last one that count again, ascending. */
  get free_nonces(): readonly number[] {
    return this.#state.free_nonces;
  }

  /** The mints in the window at `time`, without those given up since; in order. */
  get counted(): Iterable<CountedMint> {
    return this.#state.counted.values();
  }

  /** The ledger's time of the last intent that counted, 0 before the first. */
  get time(): number {
    return this.#state.time;
  }

  /** The ledger's time of an intent decided at this moment. */
  timeOf(decidedAt: number): number {
    return Math.max(this.#state.time, decidedAt);
  }

  /** The room under the rolling cap, micro-USDT; negative after a cap was lowered. */
  leftAt(decidedAt: number): bigint {
    const windowStart = this.timeOf(decidedAt) - WINDOW_MS;
    let left = (this.#state.policy?.rolling_cap ?? 0n) - this.#state.sum;
    for (const { at, amount } of this.#state.counted.values()) {
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
    for (const mint of this.#state.counted.values()) {
      if (mint.at <= windowStart) continue;
      left += mint.amount;
      if (left >= amount) return mint.at + WINDOW_MS;
    }
    return undefined;
  }

  /** Puts the policy in force and returns true, unless it is not the next of this network. */
  setPolicy(event: PolicySet): boolean {
    const before = this.#state.policy;
    if (event.version !== (before?.version ?? 0) + 1) return false;
    if (before !== undefined && event.network !== before.network) return false;
    this.#state.policy = event;
    this.#state.policies.set(event.version, event);
    return true;
  }

  /** Why no honest writer confirms on these terms. `ordinal`: its account's deposits before. */
  whyNotTerms(event: DepositConfirmed, ordinal: number): string | undefined {
    return whyNotTerms(event, this.#state.policy, ordinal);
  }

  /** Whether a hold that names a limit names the right one; other reasons are claims. */
  isHold(deposit: Deposit, event: DepositHeld): boolean {
    if (deposit.status === 'absent' || !isByPolicy(event)) return true;
    const limits = this.#state.policies.get(deposit.terms.policy_version);
    return limits !== undefined && holdReasonOf(limits, deposit.terms.credit) === event.reason;
  }

  /** The reason why an intent for this deposit does not count; undefined when it does. */
  voidReasonOf(deposit: Deposit, intent: MintIntended): VoidReason | undefined {
    if (deposit.status !== 'confirmed') return 'not_waiting';
    const terms = this.#state.policies.get(deposit.terms.policy_version);
    if (terms === undefined || this.#state.policy === undefined) return 'no_policy';
    if (intent.nonce <= this.#state.last_nonce && !this.#state.free_nonces.includes(intent.nonce))
      return 'nonce_taken';
    if (needsApproval(deposit, terms)) return 'outside_limits';
    return intent.amount > this.leftAt(intent.decided_at) ? 'over_rolling_cap' : undefined;
  }

  /** Adds an intent that counts. */
  count({ sequence, nonce, amount, decided_at }: MintIntended): CountedMint {
    const at = this.timeOf(decided_at);
    for (const gone of this.#state.counted.values()) {
      if (gone.at > at - WINDOW_MS) break;
      this.giveUp(gone.sequence);
      this.#state.past.push(gone);
    }
    const mint = { sequence, amount, at };
    this.#state.counted.set(sequence, mint);
    this.#state.sum += amount;
    if (nonce > this.#state.last_nonce) this.#state.last_nonce = nonce;
    else this.#state.free_nonces = this.#state.free_nonces.filter((free) => free !== nonce);
    this.#state.time = at;
    return mint;
  }

  /** After a rotation nonces are those of another account; no mint is in flight. */
  beginNonces(): void {
    this.#state.last_nonce = -1;
    this.#state.free_nonces = [];
  }

  /** The nonce of a mint that was released or is void counts again. `inFlight`: of the others. */
  freeNonce(nonce: number, inFlight: Iterable<number>): void {
    const taken = [...inFlight];
    const last = Math.max(-1, ...taken);
    const free = [...this.#state.free_nonces, nonce].filter(
      (each) => each < last && !taken.includes(each),
    );
    this.#state.free_nonces = [...new Set(free)].toSorted((one, other) => one - other);
    this.#state.last_nonce = last;
  }

  /** Gives up an intent that counted: its part of the window is free again. */
  giveUp(sequence: number): void {
    this.#state.sum -= this.#state.counted.get(sequence)?.amount ?? 0n;
    if (!this.#state.counted.delete(sequence))
      this.#state.past = this.#state.past.filter((mint) => mint.sequence !== sequence);
  }

  /**
   * Gives up an intent that is void. Its time was somebody's word: the ledger's time and the window
   * are what the others make them.
   */
  unmake(sequence: number): void {
    this.giveUp(sequence);
    const all = [...this.#state.past, ...this.#state.counted.values()];
    this.#state.time = all.reduce((time, { at }) => Math.max(time, at), 0);
    this.#state.past = all.filter(({ at }) => at <= this.#state.time - WINDOW_MS);
    const counted = all.filter(({ at }) => at > this.#state.time - WINDOW_MS);
    this.#state.counted = new Map(counted.map((mint) => [mint.sequence, mint]));
    this.#state.sum = counted.reduce((sum, { amount }) => sum + amount, 0n);
  }
}

/** True while the deposit is outside its limits and no person has approved it. */
export function needsApproval(
  deposit: Extract<Deposit, { readonly status: 'confirmed' }>,
  limits: PolicyLimits,
): boolean {
  return !deposit.approved && holdReasonOf(limits, deposit.terms.credit) !== undefined;
}
