/** Gives each account its deposit address, and shows it its deposits. */
import { runMain } from '../runtime/process/main.ts';
import { readDepositGatewayConfig } from './config.ts';
import { serve } from './service.ts';

await runMain('deposit-gateway', readDepositGatewayConfig, (service) => serve(service));
