/** The credit of a deposit that is not sent yet, by the rules that the treasury follows. */
import {
  creditOf,
  feeOf,
  holdReasonOf,
  type PolicyLimits,
} from '../../../../schemas/deposit-policy.ts';
import type { MintQueue } from '../api/deposits.ts';

export interface Estimate {
  readonly fee: bigint;
  readonly credit: bigint;
  readonly outcome: Turn['outcome'] | 'below_minimum' | 'over_single_cap';
  /** undefined unless it waits, and the time is known */
  readonly at?: string | undefined;
}

/** `queue`: undefined while it is not known. */
export function estimate(
  limits: PolicyLimits,
  gross: bigint,
  isFirst: boolean,
  queue: MintQueue | undefined,
): Estimate {
  const fee = feeOf(limits, isFirst ? 0 : 1);
  const credit = creditOf(gross, fee);
  const held = holdReasonOf(limits, credit);
  if (held !== undefined) return { fee, credit, outcome: held };
  const { outcome, at } = turnOf(queue, credit, queue?.waiting);
  return { fee, credit, outcome, at };
}

/** Whether a credit is minted by itself soon; `unknown`: nobody says how much room there is. */
export interface Turn {
  readonly outcome: 'minted' | 'waits' | 'stopped' | 'unknown';
  /** by then there is room for all before it and itself; undefined: later than all is known */
  readonly at?: string | undefined;
}

/** `before`: credits whose turn is first, base units; undefined: not known. */
export function turnOf(
  queue: MintQueue | undefined,
  credit: bigint,
  before: string | null | undefined,
): Turn {
  if (queue === undefined || before === undefined || before === null) return { outcome: 'unknown' };
  if (queue.is_stopped) return { outcome: 'stopped' };
  const wanted = BigInt(before) + credit;
  let room = BigInt(queue.cap_left);
  if (wanted <= room) return { outcome: 'minted' };
  for (const { at, amount } of queue.leaving) {
    room += BigInt(amount);
    if (wanted <= room) return { outcome: 'waits', at };
  }
  return { outcome: 'waits' };
}
