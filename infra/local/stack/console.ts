/** The console's files, as the explorer gateway serves them: built at each start, in a second. */
import { join } from 'node:path';
import { build } from 'vite';
import { checkout } from './folder.ts';

export async function buildConsole(): Promise<void> {
  const configFile = join(checkout, 'services', 'console', 'vite.config.ts');
  await build({ configFile, logLevel: 'error' });
}
