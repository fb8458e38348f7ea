/** The files of the console and of `ops console`: built at each start, in a second each. */
import { join } from 'node:path';
import { build } from 'vite';
import { checkout } from './folder.ts';

export async function buildConsole(): Promise<void> {
  for (const config of ['vite.config.ts', 'operations.config.ts']) {
    const configFile = join(checkout, 'services', 'console', config);
    await build({ configFile, logLevel: 'error' });
  }
}
