import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
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

/** A port of 127.0.0.1 that is in use until the end of the test. */
async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return Object(server.address()).port;
}

test('ports in use are refused with variables that move them to free ones of their own', async () => {
  const [one, other] = [await takenPort(), await takenPort()];
  expect(await isFree(one)).toBe(false);
  const ports = { ...defaultPorts, kafka: one, postgres: other };
  const refusal = await assertPortsFree(ports, ['kafka', 'postgres']).catch(String);
  expect(refusal).toContain(`port ${one} (kafka) is in use by another program: lsof -i :${one}`);
  expect(refusal).toContain(`port ${other} (postgres) is in use`);
  const [, line = ''] = /before the same command: (.*)$/.exec(String(refusal)) ?? [];
  const moved = Object.fromEntries(line.split(' ').map((each) => each.split('=')));
  expect(Object.keys(moved)).toEqual(['APP_KAFKA_PORT', 'APP_POSTGRES_PORT']);
  const { kafka, postgres } = readPorts(moved);
  for (const port of [kafka, postgres]) {
    expect(await isFree(port)).toBe(true);
    expect(port).toBeLessThan(32_768);
  }
});
