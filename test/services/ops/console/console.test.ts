import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../../../services/ops/config.ts';
import { CONSOLE_SETTINGS, serveOperations } from '../../../../services/ops/console/console.ts';
import { Closing } from '../../../../services/runtime/process/main.ts';

const NOWHERE = '127.0.0.1:1';

test('a port in use is refused with the option that takes a free one', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const http_port: number = Object(other.address()).port;
  const stopping = new AbortController();
  const closing = new Closing();
  onTestFinished(async () => {
    other.close();
    stopping.abort();
    await closing.close(
      () => undefined,
      () => undefined,
    );
  });
  const stack = '/nowhere/stack.json';
  const config = readSettings(CONSOLE_SETTINGS, stack, {
    APP_KAFKA_BROKERS: NOWHERE,
    APP_REGISTRY_URL: `http://${NOWHERE}`,
    APP_POSTGRES_READER_URL: `postgres://clt_reader:x@${NOWHERE}/clt`,
    APP_NODE_URL: `http://${NOWHERE}`,
  });
  const place = { stack, http_host: '127.0.0.1', http_port };
  await expect(serveOperations(config, place, [], stopping.signal, closing)).rejects.toThrow(
    `port ${http_port} is in use by another program (lsof -i :${http_port} names it): npx ops console --port 0`,
  );
});
