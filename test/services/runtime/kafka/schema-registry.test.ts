import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { SchemaRegistry } from '../../../../services/runtime/kafka/schema-registry.ts';
import { ScriptedRegistry } from '../../../support/scripted-registry.ts';

const SCHEMA = JSON.stringify({ type: 'record', name: 'Noted', namespace: 'test', fields: [] });

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

test('a subject that a kill left without a setting gets it, and the id is the same', async () => {
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  const id = await registry.register('subject', SCHEMA);
  // Apicurio's answer for a subject that exists without a setting
  scripted.compatibility.set('subject', 'NONE');
  scripted.races = 1;
  expect(await registry.register('subject', SCHEMA)).toBe(id);
  expect(scripted.compatibility.get('subject')).toBe('FULL_TRANSITIVE');
});

test('a registry that never keeps the setting is a fault', async () => {
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  await registry.register('subject', SCHEMA);
  scripted.compatibility.set('subject', 'NONE');
  scripted.keeps_settings = false;
  await expect(registry.register('subject', SCHEMA)).rejects.toMatchObject({
    code: 'schema_registry',
    message: expect.stringContaining('FULL_TRANSITIVE != NONE'),
  });
});

test('a registered schema that is not Avro is a fault that nobody retries', async () => {
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  await expect(registry.register('subject', '{"type":"nothing"}')).rejects.toMatchObject({
    code: 'schema_registry',
    retry: false,
  });
  expect(scripted.asked).toEqual([]);
});

test.each<[string, RequestListener]>([
  ['does not answer', () => undefined],
  [
    'sends a byte now and then',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const dripping = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(dripping));
    },
  ],
  [
    'is gone within an answer',
    (request, response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write('{', () => request.socket.destroy());
    },
  ],
])('a registry that %s is a fault with retry within the time limit', async (_how, listener) => {
  const url = await serve(createHttpServer(listener));
  // limit under test
  const registry = new SchemaRegistry({ registry_url: url }, { answer_ms: 100 });
  const late = {
    code: 'schema_registry',
    retry: true,
    message: expect.stringMatching(/ does not answer: .*; start the schema registry/),
  };
  await expect(registry.schema(1)).rejects.toMatchObject(late);
  await expect(registry.register('subject', SCHEMA)).rejects.toMatchObject(late);
});

test('a schema whose connection is reset is a fault with retry, also where the registry is back', async () => {
  await new SchemaRegistry({ registry_url: scripted.url }).register('subject', SCHEMA);
  let resets = 1;
  const url = await serve(
    createHttpServer((request, response) => {
      if (resets-- > 0) request.socket.resetAndDestroy();
      else response.end(JSON.stringify({ schema: SCHEMA }));
    }),
  );
  const registry = new SchemaRegistry({ registry_url: url });
  await expect(registry.schema(1)).rejects.toMatchObject({ code: 'schema_registry', retry: true });
  expect(await registry.schema(1)).toMatchObject({ name: 'test.Noted' });
});

test('the account is sent where schemas are registered, read and listed', async () => {
  scripted.authorization = `Basic ${Buffer.from('ann:sécret').toString('base64')}`;
  const account = { registry_username: 'ann', registry_password: 'sécret' };
  const registry = new SchemaRegistry({ registry_url: scripted.url, ...account });
  const id = await registry.register('subject', SCHEMA);
  expect(await registry.schema(id)).toMatchObject({ name: 'test.Noted' });
  expect(await registry.subjects()).toEqual(['subject']);
  const other = { ...account, registry_password: 'other' };
  const refused = new SchemaRegistry({ registry_url: scripted.url, ...other });
  await expect(refused.register('subject', SCHEMA)).rejects.toMatchObject({
    code: 'schema_registry',
    retry: true,
    message: expect.stringContaining('APP_REGISTRY_PASSWORD'),
  });
});

test('a redirection is not followed: the address has to be that of the registry', async () => {
  const url = await serve(
    createHttpServer(({ url: path = '' }, response) =>
      response.writeHead(301, { location: `${scripted.url}${path}` }).end(),
    ),
  );
  const registry = new SchemaRegistry({ registry_url: url });
  for (const ask of [() => registry.schema(1), () => registry.register('subject', SCHEMA)])
    await expect(ask()).rejects.toMatchObject({
      retry: true,
      message: expect.stringContaining('correct APP_REGISTRY_URL'),
    });
  expect(scripted.asked).toEqual([]);
});

test.each([
  ['"nonsense"', 'AVRO'],
  ['{"type":"object"}', 'JSON'],
  ['syntax = "proto3"; message Noted {}', 'PROTOBUF'],
  ['any', 'OTHER'],
])('a schema that is not Avro is given as its text: %s', async (schema, schemaType) => {
  scripted.odd.set(7, [200, { schema, schemaType }]);
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  expect(await registry.schema(7)).toBe(schema);
});

test('a schema is asked for each time: a registry may be mended meanwhile', async () => {
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  const id = await registry.register('subject', SCHEMA);
  expect(await registry.schema(id)).toMatchObject({ name: 'test.Noted' });
  scripted.empty();
  expect(await registry.schema(id)).toBeUndefined();
});

test('a certificate that is not believed is named, with its remedy', async () => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'registry' }], {
    keyType: 'ec',
  });
  const url = await serve(createServer({ cert, key }));
  const registry = new SchemaRegistry({ registry_url: url.replace('http', 'https') });
  for (const ask of [
    () => registry.ask('/subjects'),
    () => registry.schema(1),
    () => registry.register('subject', SCHEMA),
  ])
    await expect(ask()).rejects.toMatchObject({
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
  for (const ask of [
    () => registry.ask('/subjects'),
    () => registry.schema(1),
    () => registry.register('subject', SCHEMA),
  ])
    await expect(ask()).rejects.toMatchObject({
      message: expect.stringMatching(/does not answer: .*ECONNREFUSED/),
    });
});

/** The address, without TLS. */
async function serve(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  return `http://127.0.0.1:${port}`;
}
