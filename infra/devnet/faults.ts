/** Faults that are switched on over the admin port: what they do stands beside each; the routes of the node ask for them. */

export const NODE_FAULT_MODES = [
  /** POST /v1/transactions takes the transaction, says nothing for `delay_ms` and then cuts the connection */
  'accept_then_timeout',
  /** POST /v1/transactions says `already_known`, though nothing was taken */
  'already_known',
  /** POST /v1/transactions takes the transaction if it is valid, and says `nonce_too_low` all the same */
  'nonce_too_low',
  /** POST /v1/transactions takes the transaction if it is valid, and says `unknown_transaction` all the same */
  'unknown_transaction',
  /** every GET is answered as of `delay_ms` ago, though never from below the last final block */
  'lag',
  /** every route answers 503 */
  'status_503',
  /** every route cuts the connection without an answer */
  'reset',
  /** every route waits `delay_ms` before it begins */
  'delay',
  /** before a Mint is taken, another transaction of the mint authority takes its nonce */
  'human_takes_nonce',
] as const;

export type NodeFaultMode = (typeof NODE_FAULT_MODES)[number];

/** Where the request does not say. */
export const NODE_FAULT_DELAYS_MS: ReadonlyMap<NodeFaultMode, number> = new Map([
  ['accept_then_timeout', 30_000],
  ['lag', 5_000],
  ['delay', 1_000],
]);

export interface Fault<Mode extends string = NodeFaultMode> {
  readonly mode: Mode;
  /** requests that it still concerns; null: until it is switched off */
  readonly times: number | null;
  readonly delay_ms: number;
}

export class Faults<Mode extends string = NodeFaultMode> {
  readonly #delays_ms: ReadonlyMap<Mode, number>;
  readonly #active = new Map<Mode, Fault<Mode>>();

  /** `delays_ms`: of a mode that is switched on without one; else none. */
  constructor(delays_ms: ReadonlyMap<Mode, number> = new Map<Mode, number>()) {
    this.#delays_ms = delays_ms;
  }

  /** Switches a mode on; a second time replaces the first. */
  set(mode: Mode, times: number | null, delay_ms: number | undefined): Fault<Mode> {
    const fault = { mode, times, delay_ms: delay_ms ?? this.#delays_ms.get(mode) ?? 0 };
    this.#active.set(mode, fault);
    return fault;
  }

  clear(): void {
    this.#active.clear();
  }

  list(): readonly Fault<Mode>[] {
    return [...this.#active.values()];
  }

  /** The fault, if it is on, counted once. */
  take(mode: Mode): Fault<Mode> | undefined {
    const fault = this.#active.get(mode);
    if (fault === undefined || fault.times === null) return fault;
    if (fault.times <= 1) this.#active.delete(mode);
    else this.#active.set(mode, { ...fault, times: fault.times - 1 });
    return fault;
  }
}
