/** The admin port's switches for faults, of the CLT node and of TRON's provider. */
import type { Express } from 'express';
import type { Fault, Faults, NodeFaultMode } from './faults.ts';
import { NODE_FAULT_MODES } from './faults.ts';
import { answer } from './http.ts';
import { fields, invalid, isInteger } from './json-body.ts';
import { LAG_MS_MAX } from './tron/chain.ts';
import type { TronFaultMode } from './tron/faults.ts';
import { TRON_FAULT_MODES } from './tron/faults.ts';

type Targeted = Fault<string> & { readonly target: string };

/** One side's faults, without its modes in the type. */
interface Target {
  readonly modes: readonly string[];
  list(): readonly Targeted[];
  clear(): void;
  /** undefined: there is no such mode */
  set(mode: unknown, times: number | null, delay_ms: number | undefined): Targeted | undefined;
}

export function faultRoutes(node: Faults, tron: Faults<TronFaultMode>): (app: Express) => void {
  const targets = new Map([
    ['node', targetOf<NodeFaultMode>('node', NODE_FAULT_MODES, node)],
    ['tron', targetOf<TronFaultMode>('tron', TRON_FAULT_MODES, tron)],
  ]);
  const list = (): readonly Targeted[] => [...targets.values()].flatMap((target) => target.list());

  return (app) => {
    app.get('/admin/faults', (_request, response) => answer(response, { faults: list() }));
    app.delete('/admin/faults', (_request, response) => {
      for (const target of targets.values()) target.clear();
      answer(response, { faults: list() });
    });
    app.post('/admin/faults', (request, response) => {
      const { target: name, mode, times = null, delay_ms } = fields(request.body);
      const target = typeof name === 'string' ? targets.get(name) : undefined;
      if (target === undefined) {
        invalid(response, '{"target": "node" or "tron", "mode": "..", "times"?, "delay_ms"?}');
        return;
      }
      if (times !== null && !isInteger(times, 1, Number.MAX_SAFE_INTEGER)) {
        invalid(
          response,
          '"times": an integer from 1; leave it out for a fault that stays until DELETE /admin/faults',
        );
        return;
      }
      if (delay_ms !== undefined && !isInteger(delay_ms, 0, LAG_MS_MAX)) {
        invalid(response, `"delay_ms": an integer from 0 to ${LAG_MS_MAX}`);
        return;
      }
      const fault = target.set(mode, times, delay_ms);
      if (fault === undefined)
        invalid(
          response,
          `{"target": "${String(name)}", "mode": one of ${target.modes.join(', ')}, ..}`,
        );
      else answer(response, fault);
    });
  };
}

function targetOf<Mode extends string>(
  target: string,
  modes: readonly Mode[],
  faults: Faults<Mode>,
): Target {
  return {
    modes,
    list: () =>
      faults.list().map((fault) => ({
        target,
        mode: fault.mode,
        times: fault.times,
        delay_ms: fault.delay_ms,
      })),
    clear: () => faults.clear(),
    set: (wanted, times, delay_ms) => {
      const mode = modes.find((each) => each === wanted);
      return mode === undefined ? undefined : { target, ...faults.set(mode, times, delay_ms) };
    },
  };
}
