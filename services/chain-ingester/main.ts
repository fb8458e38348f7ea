/** Follows the CLT node and appends its blocks to `chain.blocks`. */
import { runMain } from '../runtime/main.ts';
import { readIngesterConfig } from './config.ts';
import { ingest } from './ingest.ts';

await runMain('chain-ingester', readIngesterConfig, ingest);
