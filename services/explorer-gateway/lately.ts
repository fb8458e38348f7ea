/** What somebody else knows, asked for at most once a second, however often it is wanted. */
import { messageOf } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';

const FRESH_MS = 1_000;

export interface Lately {
  /** ms of a clock that never goes back */
  readonly now: () => number;
  readonly log: Logger;
  /** logged once when it is not told any more, and once when it is told again */
  readonly lost: string;
  readonly back: string;
}

/** What `ask` told last; undefined when it threw. Whoever asks again within a second gets the same answer. */
export function lately<Asked extends readonly unknown[], Told>(
  { now, log, lost, back }: Lately,
  ask: (...asked: Asked) => Promise<Told>,
): (...asked: Asked) => Promise<Told | undefined> {
  let begun = Number.NEGATIVE_INFINITY;
  let answer: Promise<Told | undefined> = Promise.resolve(undefined);
  let silent = false;

  const attempt = async (asked: Asked): Promise<Told | undefined> => {
    try {
      const told = await ask(...asked);
      if (silent) log.info(back);
      silent = false;
      return told;
    } catch (error) {
      if (!silent) log.warn({ err: error }, `${lost}: ${messageOf(error)}`);
      silent = true;
      return undefined;
    }
  };
  return (...asked) => {
    if (now() - begun >= FRESH_MS) {
      begun = now();
      answer = attempt(asked);
    }
    return answer;
  };
}
