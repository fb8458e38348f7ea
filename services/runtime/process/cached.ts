/** A value of another process, asked for at most once a second. */
import { messageOf } from './errors.ts';
import type { Logger } from './log.ts';

const FRESH_MS = 1_000;

/**
 * The value that `read` gave in the last second, or a new one; undefined when `read` threw. Logs
 * `lost` when reading begins to fail, and `restored` when it works again.
 */
export function cachedFor<Parameters extends readonly unknown[], Value>(
  now: () => number,
  log: Logger,
  lost: string,
  restored: string,
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
