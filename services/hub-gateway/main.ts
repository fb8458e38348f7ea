/** The hub: wallets sign in, see the ride market, have transactions made to sign, and send them. */
import { runMain } from '../runtime/process/main.ts';
import { readHubGatewayConfig } from './config.ts';
import { serve } from './service.ts';

await runMain('hub-gateway', readHubGatewayConfig, async (service) => {
  await serve(service);
});
