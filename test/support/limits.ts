/**
 * Limits of tests. None of them measures speed: a wait ends by its condition, or by the end of the
 * process that it waits for. A limit ends a test that would hang for ever, so it is at least ten
 * times what the slowest wait takes on two cores.
 */

/** For one wait: a condition, an answer, the end of a process. */
export const HANG_MS = 900_000;

/** For a test or a hook, which may wait more than once: the wait that hangs is reported first. */
export const TEST_HANG_MS = 2 * HANG_MS;
