import { setTimeout as after } from 'node:timers/promises';

/** As `expect.poll` does; many conditions ask a server. */
const POLL_MS = 100;

/**
 * Polls until `holds` is true; an error counts as false. On timeout rejects with `what` and the
 * last error.
 */
export async function until(
  holds: () => Promise<boolean>,
  what: string,
  patienceMs = 60_000,
): Promise<void> {
  const begun = performance.now();
  let last: unknown;
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
    if (performance.now() - begun > patienceMs)
      throw new Error(`waited ${patienceMs} ms in vain for ${what}`, { cause: last });
    await after(POLL_MS);
  }
}
