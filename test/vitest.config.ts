import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './support/longest-first.ts';

const fromHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Tests on a stack of servers, which one global set-up starts for all of them, and long runs. */
const ON_SERVERS = ['test/servers/**/*.test.ts', 'test/faults/**/*.test.ts'];

export default defineConfig({
  root: fromHere('..'),
  test: {
    pool: 'forks',
    // Node itself loads the modules, as it does in the services
    experimental: { viteModuleRunner: false },
    sequence: { sequencer: LongestFirst },
    // tests wait for servers: a third worker uses the time of two cores
    maxWorkers: 3,
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
    testTimeout: 60_000,
    // waits may take long on a busy machine
    expect: { poll: { timeout: 50_000 } },
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    reporters: ['default', fromHere('support/closing-line.ts')],
    projects: [
      { extends: true, test: { name: 'house', include: ['test/house.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'unit',
          // starting a process and loading the modules again for each file takes half of the CPU
          // time
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: ['test/house.test.ts', ...ON_SERVERS],
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: ON_SERVERS,
          globalSetup: [fromHere('support/global-setup.ts')],
        },
      },
    ],
  },
});
