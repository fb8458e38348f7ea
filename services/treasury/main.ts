/**
 * Decides what becomes of each transfer of `tron.transfers`, in `treasury.ledger`, and mints what
 * it credits. Several may run: the ledger lets one of them count at a time.
 */
import { runMain } from '../runtime/process/main.ts';
import { readTreasuryConfig } from './config.ts';
import { serve } from './service.ts';

await runMain('treasury', readTreasuryConfig, serve);
