/** The explorer's REST interface: blocks, transactions, accounts, the reserve, exports. */
import { runMain } from '../runtime/process/main.ts';
import { readExplorerGatewayConfig } from './config.ts';
import { serve } from './service.ts';

await runMain('explorer-gateway', readExplorerGatewayConfig, async (service) => {
  await serve(service);
});
