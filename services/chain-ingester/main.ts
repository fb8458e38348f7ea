/** Follows the CLT node and appends its blocks to `chain.blocks`. */
import { runMain } from '../runtime/process/main.ts';
import { readIngesterConfig } from './config.ts';
import { ingest } from './service.ts';

await runMain('chain-ingester', readIngesterConfig, ingest);
