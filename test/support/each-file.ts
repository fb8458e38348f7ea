/** Runs before each test file. */
import { afterAll, expect, type RunnerTask } from 'vitest';
import { hasFailed, settleLogs } from './kept-logs.ts';
import { HANG_MS } from './limits.ts';

// registered first, and so it runs last: the file has stopped its systems
// eslint-disable-next-line eslint/no-empty-pattern -- Vitest gives fixtures first
afterAll(({}, file: Readonly<RunnerTask>) => {
  file.meta.logs = settleLogs(hasFailed(file));
});

const poll = expect.poll;
expect.poll = (look, options) => poll(look, { message: `within ${HANG_MS / 1_000} s`, ...options });
