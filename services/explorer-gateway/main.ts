import { performance } from 'node:perf_hooks';
import { indexedPosition } from '../../projections/explorer/queries/chain.ts';
import { openHttp } from '../runtime/http/server.ts';
import { runMain } from '../runtime/process/main.ts';
import { openReader } from '../runtime/postgres/pool.ts';
import { ReadVersion } from '../runtime/read-version.ts';
import { openNotificationSubscriber } from '../runtime/redis.ts';
import { explorerApp } from './app.ts';
import { readExplorerGatewayConfig } from './config.ts';

const now = (): number => performance.now();

await runMain(
  'explorer-gateway',
  readExplorerGatewayConfig,
  async ({ config, log, metrics, closing }) => {
    const reader = openReader({ ...config, application_name: 'explorer-gateway' }, log);
    closing.add('Postgres', () => reader.close());
    const index = new ReadVersion({ reader, position: indexedPosition(), now });
    const moved = (): void => index.changed();
    const notifications = openNotificationSubscriber(
      { ...config, client_name: 'explorer-gateway' },
      ['projection:explorer'],
      { onNotification: moved, onSubscribed: moved },
      log,
    );
    closing.add('Redis', () => notifications.close());
    const http = await openHttp({
      ...config,
      log,
      metrics,
      ...explorerApp(config, reader, log, now, index),
    });
    closing.add('HTTP', () => http.drain());
  },
);
