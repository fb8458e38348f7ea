/** The files of the console and of `ops console`: built at each start, in a second each. */
import { join } from 'node:path';
import { StackFault } from '../process/run-program.ts';
import { checkout } from './folder.ts';

export async function buildConsole(): Promise<void> {
  // the bundler's own program is an optional package of the platform
  const { build } = await import('vite').catch((cause: unknown) => {
    throw new StackFault('the bundler Vite is missing: run npm ci with dev and optional packages', {
      cause,
    });
  });
  for (const config of ['vite.config.ts', 'operations.config.ts']) {
    const configFile = join(checkout, 'services', 'console', config);
    await build({ configFile, logLevel: 'error' });
  }
}
