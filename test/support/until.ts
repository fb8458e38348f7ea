import { setTimeout as after } from 'node:timers/promises';
import { inspect } from 'node:util';
import { HANG_MS } from './limits.ts';

/** Between two looks at least, as `expect.poll` does; many conditions ask a server. */
const POLL_MS = 100;
const REST_MAX_MS = 5_000;

/** A look that takes longer than HANG_MS is an error. */
async function within<Seen>(look: () => Seen | Promise<Seen>): Promise<Seen> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = setTimeout(() => reject(new Error('the look itself has not ended')), HANG_MS);
  try {
    return await Promise.race([look(), promise]);
  } finally {
    clearTimeout(late);
  }
}

/**
 * Looks again and again until `holds` is true of what it sees; an error is nothing seen. It rests
 * as long as a look takes, five seconds at most, so that one that starts a command leaves processor
 * time. After HANG_MS it rejects with `what` was waited for, for how long, and what was seen last.
 */
export async function until<Seen>(
  look: () => Seen | Promise<Seen>,
  what: string,
  holds: (seen: Seen) => boolean = (seen) => seen === true,
): Promise<void> {
  const begun = performance.now();
  for (;;) {
    let last: string;
    let cause: unknown;
    const looked = performance.now();
    try {
      const seen = await within(look);
      if (holds(seen)) return;
      last = typeof seen === 'string' ? seen : inspect(seen);
    } catch (error) {
      [last, cause] = [String(error), error];
    }
    const waited = performance.now() - begun;
    if (waited > HANG_MS)
      throw new Error(
        `waited ${Math.round(waited / 1_000)} s in vain for ${what}; seen last: ${last}`,
        { cause },
      );
    const took = performance.now() - looked;
    await after(Math.min(Math.max(POLL_MS, took), REST_MAX_MS));
  }
}
