/** Runs before each test file. */
import { afterAll, expect, type RunnerTask } from 'vitest';
import { hasFailed, settleLogs } from './kept-logs.ts';
import { HANG_MS } from './limits.ts';

// registered first, and so it runs last: the file has stopped its systems
// eslint-disable-next-line eslint/no-empty-pattern -- Vitest gives fixtures first
afterAll(({}, file: Readonly<RunnerTask>) => {
  file.meta.logs = settleLogs(hasFailed(file));
});

// one `expect` for all files of a worker
if (expect.poll.name !== 'pollAtLength') {
  const { poll } = expect;
  expect.poll = function pollAtLength(look, options) {
    return poll(look, { message: `within ${HANG_MS / 1_000} s`, ...options });
  };
}
