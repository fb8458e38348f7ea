import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { securityOf, tokenSource } from '../../../../../services/runtime/kafka/kafkajs/security.ts';

const PLAIN = { kafka_brokers: ['k:1'] };

test('TLS is off by default, on by word, and on with a file', () => {
  expect(securityOf(PLAIN)).toEqual({});
  expect(securityOf({ ...PLAIN, kafka_tls: 'on' })).toEqual({ ssl: {} });
  expect(securityOf({ ...PLAIN, kafka_tls_cert: 'C', kafka_tls_key: 'K' })).toEqual({
    ssl: { cert: 'C', key: 'K' },
  });
});

test('an account has a mechanism', () => {
  const account = { kafka_username: 'u', kafka_password: 'p' };
  expect(securityOf({ ...PLAIN, ...account, kafka_sasl: 'scram-sha-256' })).toMatchObject({
    sasl: { mechanism: 'scram-sha-256', username: 'u', password: 'p' },
  });
});

interface Endpoint {
  readonly url: string;
  readonly asked: string[];
  status: number;
}

/** Gives the tokens 1, 2, 3, ..., each of 100 seconds. */
async function tokenEndpoint(): Promise<Endpoint> {
  const asked: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    asked.push(`${request.headers.authorization} ${await text(request)}`);
    const token = { access_token: String(asked.length), expires_in: 100 };
    response.writeHead(endpoint.status).end(JSON.stringify(token));
  };
  const server = createServer((request, response) => void answer(request, response)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  const endpoint: Endpoint = { url: `http://127.0.0.1:${port}/token`, asked, status: 200 };
  return endpoint;
}

test('a token is asked for once by all connections, and again before it expires', async () => {
  const endpoint = await tokenEndpoint();
  let now = 0;
  const token = tokenSource(
    {
      kafka_username: 'treasury',
      kafka_password: 'a:b',
      kafka_oauth_url: endpoint.url,
      kafka_oauth_scope: 'kafka',
    },
    () => now,
  );
  const values = async (): Promise<string[]> =>
    (await Promise.all([token(), token()])).map(({ value }) => value);
  expect(await values()).toEqual(['1', '1']);
  now = 79_999;
  expect(await values()).toEqual(['1', '1']);
  now = 80_000;
  expect(await values()).toEqual(['2', '2']);
  const basic = Buffer.from('treasury:a%3Ab').toString('base64');
  expect(endpoint.asked[0]).toBe(`Basic ${basic} grant_type=client_credentials&scope=kafka`);
});

test('an endpoint that refuses is named without the password, and asked again', async () => {
  const endpoint = await tokenEndpoint();
  endpoint.status = 401;
  const account = { kafka_username: 'treasury', kafka_password: 'hunter2' };
  const token = tokenSource({ ...account, kafka_oauth_url: endpoint.url }, () => 0);
  await expect(token()).rejects.toMatchObject({
    retry: true,
    message: `${endpoint.url} gave no token for treasury: it answered 401; correct APP_KAFKA_OAUTH_URL, APP_KAFKA_USERNAME or APP_KAFKA_PASSWORD`,
  });
  endpoint.status = 200;
  expect(await token()).toMatchObject({ value: '2' });
});
