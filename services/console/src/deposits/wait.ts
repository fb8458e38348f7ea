/** The reason why a deposit waits, and until when: only what the service says. */
import type { Timeline } from '../api/deposits.ts';
import type { Mark } from '../design/mark.ts';
import { amountText, localTime, wordFor } from '../format.ts';
import { TEXT } from '../text.ts';
import { turnOf, type Queue, type Turn } from './estimate.ts';

/** The words of a turn, with the time where there is one. */
export function turnText({ outcome, at }: Turn): string {
  const { outcomes, notBefore } = TEXT.calculator;
  return outcomes[outcome] + (at === undefined ? '' : notBefore(localTime(at)));
}

export interface Wait {
  /** a sentence each */
  readonly reasons: readonly string[];
  /** the time before which it does not go on, or a person's decision; undefined: nobody says */
  readonly until?: { readonly at: string } | 'person';
}

type History = Pick<Timeline, 'status' | 'credit' | 'reason' | 'waiting_for' | 'waiting_before'>;

/** Undefined: it waits for nothing, or has a status to come. */
export function waitOf(history: History, queue: Queue | undefined): Wait | undefined {
  const { status, reason, waiting_for: waitingFor } = history;
  const { next, reasons } = TEXT.deposits;
  switch (status) {
    case 'confirmed': {
      const { place, at } = placeOf(history, queue);
      const isLate = waitingFor === 'rolling_cap';
      return {
        reasons: [isLate ? next.rollingCap : next.confirmed, ...place],
        ...(isLate && at !== undefined && { until: { at } }),
      };
    }
    case 'mint_requested':
      return { reasons: [next.mintRequested] };
    case 'needs_manual':
      return waitingFor === 'awaiting_approval'
        ? { reasons: [next.person(wordFor(reasons, reason ?? ''))], until: 'person' }
        : { reasons: [next.rejected] };
    case 'credited':
    default:
      // or a status to come
      return undefined;
  }
}

/** Undefined: it neither waits nor is credited. */
export function markOf(history: Pick<Timeline, 'status' | 'waiting_for'>): Mark | undefined {
  switch (history.status) {
    case 'credited':
      return 'good';
    case 'confirmed':
    case 'mint_requested':
      return 'warn';
    case 'needs_manual':
      return history.waiting_for === 'awaiting_approval' ? 'warn' : undefined;
    default:
      // a status to come
      return undefined;
  }
}

/** The place of a deposit among those that wait to be minted. */
function placeOf(
  { credit, waiting_before: before }: History,
  queue: Queue | undefined,
): { readonly place: readonly string[]; readonly at?: string | undefined } {
  if (before === null) return { place: [] };
  const { outcome, at } = turnOf(queue, BigInt(credit), before);
  const text = turnText({ outcome });
  return { place: [`${TEXT.deposits.before(amountText(BigInt(before)))} ${text}.`], at };
}
