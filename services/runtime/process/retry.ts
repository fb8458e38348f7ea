/** Waiting that a drain can end, and retrying what may pass. */
import { setTimeout as after } from 'node:timers/promises';
import { Fault } from './errors.ts';
import type { Logger } from './log.ts';

/** Waits `ms`, or until the signal is aborted: never rejects. */
export async function untilAborted(ms: number, signal: AbortSignal): Promise<void> {
  await after(ms, undefined, { signal }).catch(() => undefined);
}

/** Resolves when the signal is aborted, at once when it has been. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

export interface RetryOptions {
  readonly what: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retry_ms_min?: number;
  readonly retry_ms_max?: number;
  /** told before each wait, with the fault that passed, and with undefined once it has gone well */
  readonly onFault?: (fault: Fault | undefined) => void;
}

/**
 * Does `attempt` until it goes well, with growing pauses. A fault without `retry` and anything that is not a fault is thrown at once; so is the last fault
 * when the signal is aborted.
 */
export async function retrying<Result>(
  options: RetryOptions,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const {
    what,
    log,
    signal,
    retry_ms_min: min = 100,
    retry_ms_max: max = 2_000,
    onFault,
  } = options;
  for (let tries = 1; ; tries++) {
    try {
      const result = await attempt();
      onFault?.(undefined);
      return result;
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry || signal.aborted) throw error;
      onFault?.(error);
      log.warn({ err: error, tries }, `${what} failed, trying again`);
      await untilAborted(Math.min(max, min * 2 ** Math.min(tries - 1, 10)), signal);
      if (signal.aborted) throw error;
    }
  }
}
