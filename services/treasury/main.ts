/** Turns transfers into deposits and mints them. Several may run: one at a time counts. */
import { runMain } from '../runtime/process/main.ts';
import { readTreasuryConfig } from './config.ts';
import { serve } from './service.ts';

await runMain('treasury', readTreasuryConfig, serve);
