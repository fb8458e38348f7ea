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
  /** those below the last one that count again */
  readonly free = new Set<number>();
  #windowSequence = 0;
  /** of the last one, or of the last one that is not given up where a later one is void */
  #time = 0;

  set(policy: PolicySet): boolean {
    const { version, network, minimum, single_cap, rolling_cap } = policy;
    if (version !== this.policies.length + 1) return false;
    if (network !== (this.policies[0]?.network ?? network)) return false;
    if (minimum > single_cap || single_cap > rolling_cap) return false;
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
    if (nonce <= this.lastNonce && !this.free.has(nonce)) return false;
    if (!deposit.approved && (deposit.credit < own.minimum || deposit.credit > own.single_cap))
      return false;
    if (amount > this.leftAt(decided_at)) return false;
    const at = Math.max(decided_at, this.#time);
    const within = this.#within(at);
    this.counted.push({ sequence, nonce, deposit_id, amount, at, gone: false, live: true });
    this.#time = at;
    this.lastNonce = Math.max(nonce, this.lastNonce);
    this.free.delete(nonce);
    this.#windowSequence = Math.min(sequence, ...within.map((before) => before.sequence));
    return true;
  }

  /** The room under the rolling cap for an intent that is decided at this time. */
  leftAt(decided_at: number): bigint {
    const within = this.#within(Math.max(decided_at, this.#time));
    const minted = within.reduce((sum, before) => sum + before.amount, 0n);
    return (this.policies.at(-1)?.rolling_cap ?? 0n) - minted;
  }

  #within(at: number): readonly PlainMint[] {
    return this.counted.filter((before) => !before.gone && before.at > at - DAY_MS);
  }

  giveUp(sequence: number): void {
    this.end(sequence);
    for (const mint of this.counted) if (mint.sequence === sequence) mint.gone = true;
  }

  end(sequence: number): void {
    for (const mint of this.counted) if (mint.sequence === sequence) mint.live = false;
  }

  /**
   * Released by a person, or void: the next nonce is above those of the mints in flight, or its own
   * below them, unless another of them has it.
   */
  release(sequence: number): void {
    this.giveUp(sequence);
    const live = this.counted.filter((mint) => mint.live).map(({ nonce }) => nonce);
    const own = this.counted.find((mint) => mint.sequence === sequence)?.nonce;
    this.lastNonce = Math.max(-1, ...live);
    if (own !== undefined && !live.includes(own)) this.free.add(own);
    for (const nonce of this.free) if (nonce >= this.lastNonce) this.free.delete(nonce);
  }

  /** The mint was none, and its time moves no window. */
  void(sequence: number): void {
    this.release(sequence);
    const kept = this.counted.filter(({ gone }) => !gone);
    this.#time = Math.max(0, ...kept.map(({ at }) => at));
    this.#windowSequence = kept.find(({ at }) => at > this.#time - DAY_MS)?.sequence ?? 0;
  }

  get head(): Row {
    return {
      policy_version: this.policies.length,
      last_nonce: this.lastNonce,
      free_nonces: [...this.free].toSorted((one, other) => one - other).join(','),
      mint_time: this.#time,
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
