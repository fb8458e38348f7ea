/** Appends transfers to deposit addresses to `tron.transfers`. Several watchers share the work. */
import { runMain } from '../runtime/process/main.ts';
import { readWatcherConfig } from './config.ts';
import { watchTron } from './service.ts';

await runMain('tron-watcher', readWatcherConfig, watchTron);
