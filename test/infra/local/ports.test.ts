import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import {
  assertPortsFree,
  defaultPorts,
  portNames,
  portVariable,
  readPorts,
} from '../../../infra/local/ports.ts';
import { takePort } from '../../support/free-ports.ts';

test('every port lies below the ephemeral ones and can be moved by its variable', () => {
  expect(readPorts({})).toEqual(defaultPorts);
  for (const name of portNames) {
    expect(defaultPorts[name]).toBeLessThan(32_768);
    expect(readPorts({ [portVariable(name)]: '31999' })[name]).toBe(31_999);
  }
});

test('every bad port setting is named at once', () => {
  const bad = {
    APP_KAFKA_PORT: '0',
    APP_REDIS_PORT: '65536',
    APP_NODE_PORT: '17545x',
    APP_EXPLORER_PORT: String(defaultPorts.postgres),
  };
  expect(() => readPorts(bad)).toThrow(/APP_KAFKA_PORT[^]*APP_REDIS_PORT[^]*APP_NODE_PORT/);
  expect(() => readPorts(bad)).toThrow('APP_EXPLORER_PORT and APP_POSTGRES_PORT are both 15432');
});

test('a port in use is refused with its holder and the variable that moves it', async () => {
  const { port, release } = await takePort();
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  try {
    const ports = { ...defaultPorts, postgres: port };
    await expect(assertPortsFree(ports, ['postgres'])).rejects.toThrow(
      new RegExp(
        `port ${port} \\(postgres\\) is held by process ${process.pid} \\(.+\\): stop it, or set APP_POSTGRES_PORT`,
      ),
    );
  } finally {
    server.close();
    release();
  }
});
