/** A value of another server, read at most once in a while. */
import { messageOf } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';

const FRESH_MS = 1_000;

export interface CachedOptions {
  /** ms of a monotonic clock */
  readonly now: () => number;
  readonly log: Logger;
  /** logged once when reading begins to fail, and once when it works again */
  readonly lost: string;
  readonly restored: string;
}

/** The value that `read` gave in the last second, or a new one; undefined when `read` threw. */
export function cachedFor<Parameters extends readonly unknown[], Value>(
  { now, log, lost, restored }: CachedOptions,
  read: (...parameters: Parameters) => Promise<Value>,
): (...parameters: Parameters) => Promise<Value | undefined> {
  let startedAt = Number.NEGATIVE_INFINITY;
  let cached: Promise<Value | undefined> = Promise.resolve(undefined);
  let isLost = false;

  const attempt = async (parameters: Parameters): Promise<Value | undefined> => {
    try {
      const value = await read(...parameters);
      if (isLost) log.info(restored);
      isLost = false;
      return value;
    } catch (error) {
      if (!isLost) log.warn({ err: error }, `${lost}: ${messageOf(error)}`);
      isLost = true;
      return undefined;
    }
  };
  return (...parameters) => {
    if (now() - startedAt >= FRESH_MS) {
      startedAt = now();
      cached = attempt(parameters);
    }
    return cached;
  };
}
