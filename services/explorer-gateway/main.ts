import { openHttp } from '../runtime/http.ts';
import { runMain } from '../runtime/main.ts';
import { openReader } from '../runtime/postgres.ts';
import { explorerApp } from './app.ts';
import { readExplorerGatewayConfig } from './config.ts';

await runMain('explorer-gateway', readExplorerGatewayConfig, async ({ config, log, metrics, closing }) => {
  const reader = openReader({ ...config, application_name: 'explorer-gateway' }, log);
  closing.add('Postgres', () => reader.close());
  const http = await openHttp({ ...config, log, metrics, ...explorerApp(config, reader, log) });
  closing.add('HTTP', () => http.drain());
});
