import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { assertPortsFree, isFree, readPorts } from '../../../../infra/local/stack/ports.ts';
import { defaultPorts, portNames, portVariable } from '../../../../infra/services/ports.ts';

test('every port is below the ephemeral ones, and its variable moves it', () => {
  expect(readPorts({})).toEqual(defaultPorts);
  for (const name of portNames) {
    expect(defaultPorts[name]).toBeLessThan(32_768);
    expect(readPorts({ [portVariable(name)]: '31999' })[name]).toBe(31_999);
  }
});

test('all bad port settings are reported together', () => {
  const bad = {
    APP_KAFKA_PORT: '0',
    APP_REDIS_PORT: '65536',
    APP_NODE_PORT: '17545x',
    APP_EXPLORER_PORT: String(defaultPorts.postgres),
  };
  expect(() => readPorts(bad)).toThrow(/APP_KAFKA_PORT[^]*APP_REDIS_PORT[^]*APP_NODE_PORT/);
  expect(() => readPorts(bad)).toThrow('APP_EXPLORER_PORT and APP_POSTGRES_PORT are both 15432');
});

test('a port in use is refused with the variable that moves it', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  try {
    expect(await isFree(port)).toBe(false);
    await expect(
      assertPortsFree({ ...defaultPorts, postgres: port }, ['postgres']),
    ).rejects.toThrow(
      new RegExp(`port ${port} \\(postgres\\) is in use .*set APP_POSTGRES_PORT to another`),
    );
  } finally {
    server.close();
  }
  await once(server, 'close');
  expect(await isFree(port)).toBe(true);
});
