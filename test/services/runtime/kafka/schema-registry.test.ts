import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { SchemaRegistry } from '../../../../services/runtime/kafka/schema-registry.ts';
import { ScriptedRegistry } from '../../../support/scripted-registry.ts';

let scripted: ScriptedRegistry;
beforeEach(async () => {
  scripted = await ScriptedRegistry.open();
});
afterEach(() => scripted.close());

test('a service whose setting loses the race against that of another one sets it again', async () => {
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  scripted.races = 1;
  await registry.setCompatibility('subject');
  expect(scripted.compatibility.get('subject')).toBe('FULL_TRANSITIVE');
});

test('a setting that loses every race is a fault with retry', async () => {
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  scripted.races = Infinity;
  await expect(registry.setCompatibility('subject')).rejects.toMatchObject({
    code: 'schema_registry',
    retry: true,
  });
});

test('a certificate that is not believed is named, with its remedy', async () => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'registry' }], {
    keyType: 'ec',
  });
  const server = createServer({ cert, key }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  const registry = new SchemaRegistry({ registry_url: `https://127.0.0.1:${port}` });
  await expect(registry.ask('/subjects')).rejects.toMatchObject({
    code: 'schema_registry',
    retry: true,
    message: expect.stringMatching(
      /certificate of the schema registry at .* is refused: .* \(DEPTH_ZERO_SELF_SIGNED_CERT\); .*NODE_EXTRA_CA_CERTS/,
    ),
  });
});

test('a registry that is gone is named with the reason of the system', async () => {
  const gone = await ScriptedRegistry.open();
  const registry = new SchemaRegistry({ registry_url: gone.url });
  await gone.close();
  await expect(registry.ask('/subjects')).rejects.toMatchObject({
    message: expect.stringMatching(/does not answer: .*ECONNREFUSED/),
  });
});
