/**
 * Which mint intents count, computed naively from all records before each. It shares no code with
 * the projection.
 */
import type { MintIntended, PolicySet } from '../../schemas/treasury.ledger/events.ts';
import type { Row } from './plain-fold-rows.ts';

const DAY_MS = 86_400_000;

interface PlainMint {
  readonly sequence: number;
  readonly nonce: number;
  readonly deposit_id: string;
  readonly amount: bigint;
  readonly at: number;
  gone: boolean;
  /** neither credited nor given up */
  live: boolean;
}

export class PlainMints {
  readonly policies: PolicySet[] = [];
  /** every one that ever counted */
  readonly counted: PlainMint[] = [];
  lastNonce = -1;
  #windowSequence = 0;

  set(policy: PolicySet): boolean {
    if (policy.version !== this.policies.length + 1) return false;
    this.policies.push(policy);
    return true;
  }

  /** Takes the intent if it counts, given that the deposit waits for just this. */
  take(
    { sequence, nonce, deposit_id, amount, decided_at }: MintIntended,
    deposit: { readonly credit: bigint; readonly version: number; readonly approved: boolean },
  ): boolean {
    const policy = this.policies.at(-1);
    const own = this.policies.find(({ version }) => version === deposit.version);
    if (policy === undefined || own === undefined) return false;
    if (nonce <= this.lastNonce) return false;
    if (!deposit.approved && (deposit.credit < own.minimum || deposit.credit > own.single_cap))
      return false;
    const at = Math.max(decided_at, ...this.counted.map((before) => before.at));
    const within = this.counted.filter((before) => !before.gone && before.at > at - DAY_MS);
    if (within.reduce((sum, before) => sum + before.amount, amount) > policy.rolling_cap)
      return false;
    this.counted.push({ sequence, nonce, deposit_id, amount, at, gone: false, live: true });
    this.lastNonce = nonce;
    this.#windowSequence = Math.min(sequence, ...within.map((before) => before.sequence));
    return true;
  }

  giveUp(sequence: number): void {
    this.end(sequence);
    for (const mint of this.counted) if (mint.sequence === sequence) mint.gone = true;
  }

  end(sequence: number): void {
    for (const mint of this.counted) if (mint.sequence === sequence) mint.live = false;
  }

  /** Given up by a person: the next nonce is above those of the mints that are left. */
  release(sequence: number): void {
    this.giveUp(sequence);
    const live = this.counted.filter((mint) => mint.live);
    this.lastNonce = Math.max(-1, ...live.map(({ nonce }) => nonce));
  }

  get head(): Row {
    const last = this.counted.at(-1);
    return {
      policy_version: this.policies.length,
      last_nonce: this.lastNonce,
      mint_time: last?.at ?? 0,
      window_sequence: this.#windowSequence,
    };
  }

  get policyRows(): Row[] {
    return this.policies.map(
      ({
        version,
        network,
        first_fee,
        later_fee,
        minimum,
        single_cap,
        rolling_cap,
        decided_at,
      }) => ({
        version,
        network,
        first_fee,
        later_fee,
        minimum,
        single_cap,
        rolling_cap,
        decided_at,
      }),
    );
  }

  get mintRows(): Row[] {
    return this.counted
      .filter(({ gone }) => !gone)
      .map(({ sequence, deposit_id, amount, at }) => ({
        sequence,
        deposit_id,
        amount,
        counted_at: at,
        leaves_at: at + DAY_MS,
      }));
  }
}
