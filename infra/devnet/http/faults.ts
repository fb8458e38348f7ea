/** Faults that the admin port switches on, for the CLT node and for TRON's provider. */
import { LAG_MS_MAX } from '../tron/chain.ts';
import { bodyFields, isInteger, refuseBody, type Routes } from './app.ts';

/** The node's fault modes, each with its delay in ms where the request gives none. */
export const NODE_FAULTS = {
  /** POST /v1/transactions accepts, stays silent for `delay_ms` and closes the connection */
  accept_then_timeout: 30_000,
  /** POST /v1/transactions answers `already_known` and accepts nothing */
  already_known: 0,
  /** POST /v1/transactions accepts a valid transaction and answers `nonce_too_low` */
  nonce_too_low: 0,
  /** POST /v1/transactions accepts a valid transaction and answers `unknown_transaction` */
  unknown_transaction: 0,
  /** every GET answers as of `delay_ms` ago, but not below the last final block */
  lag: 5_000,
  /** every route answers 503 */
  status_503: 0,
  /** every route resets the connection */
  reset: 0,
  /** every route waits `delay_ms` first */
  delay: 1_000,
  /** another transaction of the mint authority takes the nonce of a Mint before it is accepted */
  human_takes_nonce: 0,
} as const;
export type NodeFaultMode = keyof typeof NODE_FAULTS;

/** The fault modes of TRON's provider, each with its default delay in ms. */
export const TRON_FAULTS = {
  /** every route answers 403: too many requests, suspended for 30 s */
  status_403: 0,
  /** every route answers 429 */
  status_429: 0,
  /** every route answers 503 with a page of HTML */
  status_503: 0,
  /** every route answers 200 with a page of HTML */
  html: 0,
  /** every route answers 200 with `success: false` */
  success_false: 0,
  /** every route answers 200 with an `Error` */
  error_200: 0,
  /** every route answers with the first half of its JSON */
  truncated: 0,
  /** the list is empty, receipts are {} */
  empty: 0,
  /** a list's first page has every row twice; a later page repeats the one before it */
  repeat: 0,
  /** solidified head, list and receipts are as of `delay_ms` ago */
  lag: 5_000,
  /** only the list is as of `delay_ms` ago */
  list_lag: 5_000,
  /** every route resets the connection */
  reset: 0,
  /** every route waits `delay_ms` first */
  delay: 1_000,
} as const;
export type TronFaultMode = keyof typeof TRON_FAULTS;

export interface Fault {
  readonly mode: string;
  /** remaining requests; null: until it is switched off */
  readonly times: number | null;
  readonly delay_ms: number;
}

export class Faults<Mode extends string> {
  readonly #delaysMs: ReadonlyMap<string, number>;
  readonly #active = new Map<string, Fault>();
  readonly #taken = new Map<string, number>();

  constructor(delays_ms: Readonly<Record<Mode, number>>) {
    this.#delaysMs = new Map(Object.entries<number>(delays_ms));
  }

  get modes(): readonly string[] {
    return [...this.#delaysMs.keys()];
  }

  get active(): readonly Fault[] {
    return [...this.#active.values()];
  }

  /** How many requests each mode has met so far; those without any are left out. */
  get taken(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#taken);
  }

  /** Switches a mode on, or replaces its settings; undefined for an unknown mode. */
  set(mode: string, times: number | null, delay_ms: number | undefined): Fault | undefined {
    const delay = this.#delaysMs.get(mode);
    if (delay === undefined) return undefined;
    const fault = { mode, times, delay_ms: delay_ms ?? delay };
    this.#active.set(mode, fault);
    return fault;
  }

  clear(): void {
    this.#active.clear();
  }

  /** The fault if it is active; counts one request. */
  take(mode: Mode): Fault | undefined {
    const fault = this.#active.get(mode);
    if (fault === undefined) return undefined;
    this.#taken.set(mode, (this.#taken.get(mode) ?? 0) + 1);
    if (fault.times === null) return fault;
    if (fault.times <= 1) this.#active.delete(mode);
    else this.#active.set(mode, { ...fault, times: fault.times - 1 });
    return fault;
  }
}

export function faultRoutes(sides: {
  readonly node: Faults<NodeFaultMode>;
  readonly tron: Faults<TronFaultMode>;
}): Routes {
  const targets = new Map<string, Faults<never>>(Object.entries(sides));
  const list = (): object => ({
    faults: [...targets].flatMap(([target, { active }]) =>
      active.map((fault) => ({ target, ...fault })),
    ),
  });

  return (app) => {
    app.get('/admin/faults', (_request, response) => response.json(list()));
    app.get('/admin/faults/taken', (_request, response) =>
      response.json(Object.fromEntries([...targets].map(([target, { taken }]) => [target, taken]))),
    );
    app.delete('/admin/faults', (_request, response) => {
      for (const faults of targets.values()) faults.clear();
      response.json(list());
    });
    app.post('/admin/faults', (request, response) => {
      const { target, mode, times = null, delay_ms } = bodyFields(request.body);
      const faults = typeof target === 'string' ? targets.get(target) : undefined;
      if (faults === undefined)
        return refuseBody(
          response,
          '{"target": "node" or "tron", "mode": "..", "times"?, "delay_ms"?}',
        );
      if (times !== null && !isInteger(times, 1, Number.MAX_SAFE_INTEGER))
        return refuseBody(
          response,
          '"times": an integer from 1, or none: until DELETE /admin/faults',
        );
      if (delay_ms !== undefined && !isInteger(delay_ms, 0, LAG_MS_MAX))
        return refuseBody(response, `"delay_ms": an integer from 0 to ${LAG_MS_MAX}`);
      const fault = typeof mode === 'string' ? faults.set(mode, times, delay_ms) : undefined;
      if (fault === undefined)
        refuseBody(response, `"mode": for this target one of ${faults.modes.join(', ')}`);
      else response.json({ target, ...fault });
    });
  };
}
