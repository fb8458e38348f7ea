import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { HANG_MS, TEST_HANG_MS } from './support/limits.ts';
import { LongestFirst } from './support/longest-first.ts';

const fromHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// a worker would write its cache of code at its end, which takes more than the minute that Vitest
// gives it on a busy machine; processes that tests start have one (`each-file.ts`)
delete process.env['NODE_COMPILE_CACHE'];

const SERVERS = ['test/servers/**/*.test.ts'];
/** Short fault runs, and other long tests of whole systems: CI runs them after `npm test`. */
const FAULTS = ['test/faults/**/*.test.ts'];
/** The images and the compose file, on a Docker engine. */
const CONTAINERS = ['test/containers/**/*.test.ts'];
/** The chart, by an API server that is built first. */
const CHART = ['test/chart/**/*.test.ts'];
/** One stack of servers for all files. */
const WITH_SERVERS = {
  globalSetup: [fromHere('support/global-setup.ts')],
  setupFiles: [fromHere('support/each-servers-file.ts')],
};

export default defineConfig({
  root: fromHere('..'),
  test: {
    pool: 'forks',
    // starting a process and loading the modules again for each file takes a third of the CPU time:
    // a file closes what it opens and restores what it replaces
    isolate: false,
    // Node itself loads the modules, as it does in the services
    experimental: { viteModuleRunner: false },
    sequence: { sequencer: LongestFirst },
    // tests wait for servers: four workers use the time of two cores
    maxWorkers: 4,
    // a missing snapshot fails, also outside of CI
    update: 'none',
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
    testTimeout: TEST_HANG_MS,
    hookTimeout: TEST_HANG_MS,
    teardownTimeout: HANG_MS,
    // most conditions ask a server
    expect: { poll: { timeout: HANG_MS, interval: 100 } },
    setupFiles: [fromHere('support/each-file.ts')],
    reporters: ['default', fromHere('support/closing-line.ts')],
    projects: [
      { extends: true, test: { name: 'house', include: ['test/house.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/house.test.ts', ...SERVERS, ...FAULTS, ...CONTAINERS, ...CHART],
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: SERVERS,
          ...WITH_SERVERS,
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          include: FAULTS,
          ...WITH_SERVERS,
          // most files start a whole system; with four at once each waits for the others
          maxWorkers: 3,
        },
      },
      {
        extends: true,
        test: {
          name: 'containers',
          include: CONTAINERS,
          globalSetup: [fromHere('containers/global-setup.ts')],
          // they kill and freeze parts of one system
          maxWorkers: 1,
        },
      },
      { extends: true, test: { name: 'chart', include: CHART } },
    ],
  },
});
