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

export interface Fault {
  readonly mode: NodeFaultMode;
  /** requests that it still concerns; null: until it is switched off */
  readonly times: number | null;
  readonly delay_ms: number;
}

const DELAY_MS: Readonly<Partial<Record<NodeFaultMode, number>>> = { accept_then_timeout: 30_000, lag: 5_000, delay: 1_000 };

export class Faults {
  readonly #active = new Map<NodeFaultMode, Fault>();

  /** Switches a mode on; a second time replaces the first. */
  set(mode: NodeFaultMode, times: number | null, delay_ms: number | undefined): Fault {
    const fault = { mode, times, delay_ms: delay_ms ?? DELAY_MS[mode] ?? 0 };
    this.#active.set(mode, fault);
    return fault;
  }

  clear(): void {
    this.#active.clear();
  }

  list(): readonly Fault[] {
    return [...this.#active.values()];
  }

  /** The fault, if it is on, counted once. */
  take(mode: NodeFaultMode): Fault | undefined {
    const fault = this.#active.get(mode);
    if (fault === undefined || fault.times === null) return fault;
    if (fault.times <= 1) this.#active.delete(mode);
    else this.#active.set(mode, { ...fault, times: fault.times - 1 });
    return fault;
  }
}
