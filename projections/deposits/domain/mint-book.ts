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
 * that is given up leaves the window. When an operator releases one, nonces go on behind the mints
 * that are still in flight: the chain may never reach the nonce of the released one.
 */
import { holdReasonOf, type PolicyLimits } from '../../../schemas/deposit-policy.ts';
import type { MintIntended, PolicySet } from '../../../schemas/treasury.ledger/events.ts';
import type { Deposit } from './deposit.ts';

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

export type Policy = PolicyLimits & Pick<PolicySet, 'version' | 'network' | 'decided_at'>;

/** The state of a book that does not begin with the ledger. */
export interface StoredMints {
  readonly policies: readonly Policy[];
  /** version of the policy in force; 0 before the first */
  readonly policy_version: number;
  /** an intent counts above it; -1 before the first */
  readonly last_nonce: number;
  /** the ledger's time of that intent */
  readonly time: number;
  /** in the order of the ledger; may hold some that left the window */
  readonly counted: readonly CountedMint[];
}

export type VoidReason =
  'not_waiting' | 'no_policy' | 'nonce_taken' | 'outside_limits' | 'over_rolling_cap';

const NOTHING: StoredMints = {
  policies: [],
  policy_version: 0,
  last_nonce: -1,
  time: 0,
  counted: [],
};

export class MintBook {
  readonly #policies: Map<number, Policy>;
  #policy: Policy | undefined;
  #lastNonce: number;
  #time: number;
  /** by sequence, which is their order; without those that left the window for good */
  readonly #counted: Map<number, CountedMint>;
  #sum: bigint;

  constructor({ policies, policy_version, last_nonce, time, counted }: StoredMints = NOTHING) {
    this.#policies = new Map(policies.map((policy) => [policy.version, policy]));
    this.#policy = this.#policies.get(policy_version);
    this.#lastNonce = last_nonce;
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

  /** The nonce that the next intent has to be above; -1: any. */
  get lastNonce(): number {
    return this.#lastNonce;
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

  /** Puts the policy in force and returns true, unless it is not the next version. */
  setPolicy(event: PolicySet): boolean {
    if (event.version !== (this.#policy?.version ?? 0) + 1) return false;
    this.#policy = event;
    this.#policies.set(event.version, event);
    return true;
  }

  /** The reason why an intent for this deposit does not count; undefined when it does. */
  voidReasonOf(deposit: Deposit, intent: MintIntended): VoidReason | undefined {
    if (deposit.status !== 'confirmed') return 'not_waiting';
    const terms = this.#policies.get(deposit.terms.policy_version);
    if (terms === undefined || this.#policy === undefined) return 'no_policy';
    if (intent.nonce <= this.#lastNonce) return 'nonce_taken';
    if (needsApproval(deposit, terms)) return 'outside_limits';
    return intent.amount > this.leftAt(intent.decided_at) ? 'over_rolling_cap' : undefined;
  }

  /** Adds an intent that counts. */
  count({ sequence, nonce, amount, decided_at }: MintIntended): CountedMint {
    const at = this.timeOf(decided_at);
    for (const gone of this.#counted.values()) {
      if (gone.at > at - WINDOW_MS) break;
      this.giveUp(gone.sequence);
    }
    const mint = { sequence, amount, at };
    this.#counted.set(sequence, mint);
    this.#sum += amount;
    this.#lastNonce = nonce;
    this.#time = at;
    return mint;
  }

  /** After a rotation or a release the next intent has a nonce above those in flight. */
  beginNonces(inFlight: Iterable<number>): void {
    this.#lastNonce = Math.max(-1, ...inFlight);
  }

  /** Gives up an intent that counted: its part of the window is free again. */
  giveUp(sequence: number): void {
    this.#sum -= this.#counted.get(sequence)?.amount ?? 0n;
    this.#counted.delete(sequence);
  }
}

/** True while the deposit is outside its limits and no person has approved it. */
export function needsApproval(
  deposit: Extract<Deposit, { readonly status: 'confirmed' }>,
  limits: PolicyLimits,
): boolean {
  return !deposit.approved && holdReasonOf(limits, deposit.terms.credit) !== undefined;
}
