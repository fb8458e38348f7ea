/** Runs before each test file. */
import { fileURLToPath } from 'node:url';
import { afterAll, expect, type RunnerTask } from 'vitest';
import { hasFailed, settleLogs } from './kept-logs.ts';
import { HANG_MS } from './limits.ts';

// processes that tests start load their modules in half of the CPU time; set here, since a worker
// that is started with it has a cache of its own (`vitest.config.ts`)
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('../../node_modules/.cache/node', import.meta.url),
);

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
