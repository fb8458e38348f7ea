/**
 * Asks TRON's provider what came to the deposit addresses, and appends it to `tron.transfers`.
 * Several may run: they share the addresses.
 */
import { runMain } from '../runtime/process/main.ts';
import { readWatcherConfig } from './config.ts';
import { watchTron } from './service.ts';

await runMain('tron-watcher', readWatcherConfig, watchTron);
