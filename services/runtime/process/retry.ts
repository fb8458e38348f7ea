/** Waits that a drain ends, and retries with back-off. */
import { setTimeout as after } from 'node:timers/promises';
import { Fault } from './errors.ts';
import type { Logger } from './log.ts';

/** Resolves after `ms`, or when the signal is aborted. Never rejects. */
export async function untilAborted(ms: number, signal: AbortSignal): Promise<void> {
  await after(ms, undefined, { signal }).catch(() => undefined);
}

/** Resolves when the signal is aborted. */
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
  /** called with the fault before each back-off, and with undefined on success */
  readonly onFault?: (fault: Fault | undefined) => void;
}

/**
 * Repeats `attempt` with back-off until it succeeds. Throws faults without `retry` and other errors
 * at once, and the last fault when the signal is aborted.
 */
export async function retrying<Result>(
  {
    what,
    log,
    signal,
    retry_ms_min: retryMsMin = 100,
    retry_ms_max: retryMsMax = 2_000,
    onFault,
  }: RetryOptions,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      const result = await attempt();
      onFault?.(undefined);
      return result;
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry || signal.aborted) throw error;
      onFault?.(error);
      log.warn({ err: error, tries }, `${what} failed, retrying`);
      await untilAborted(Math.min(retryMsMax, retryMsMin * 2 ** Math.min(tries - 1, 10)), signal);
      if (signal.aborted) throw error;
    }
  }
}
