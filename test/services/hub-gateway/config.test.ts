import { expect, test } from 'vitest';
import { DEVELOPMENT_JWT_SECRET } from '../../../schemas/development.ts';
import { readHubGatewayConfig } from '../../../services/hub-gateway/config.ts';
import { ConfigError } from '../../../services/runtime/process/config.ts';

const NEEDED = {
  APP_HTTP_PORT: '17002',
  APP_OPS_PORT: '17032',
  APP_NETWORK: 'testnet',
  APP_CHAIN_ID: '7777',
  APP_POSTGRES_READER_URL: 'postgres://clt_reader:clt_reader@127.0.0.1:15432/clt',
  APP_REDIS_URL: 'redis://127.0.0.1:16379',
  APP_NODE_URL: 'http://127.0.0.1:17545',
  APP_JWT_SECRET: 'x'.repeat(32),
};

test('addresses, the chain and the secret are required, the rest has defaults', () => {
  expect(readHubGatewayConfig(NEEDED)).toMatchObject({
    network: 'testnet',
    chain_id: 7_777,
    jwt_expiration_hours: 6,
    auth_single_use: false,
    request_referrer: null,
    offer_referrer: null,
    introspection: true,
    rate_per_second: 100,
    sockets_per_client_max: 500,
    socket_operations_max: 20,
    socket_message_bytes_max: 65_536,
    socket_init_ms: 150_000,
    socket_buffer_bytes_max: 1_048_576,
    socket_slow_ms: 60_000,
  });
});

test('a referrer is an address and becomes lower case', () => {
  const address = `0x${'AB'.repeat(20)}`;
  expect(readHubGatewayConfig({ ...NEEDED, APP_REQUEST_REFERRER: address }).request_referrer).toBe(
    address.toLowerCase(),
  );
  expect(() => readHubGatewayConfig({ ...NEEDED, APP_OFFER_REFERRER: address.slice(2) })).toThrow(
    ConfigError,
  );
});

test('a configuration error does not show the secret', () => {
  const bad = { ...NEEDED, APP_JWT_SECRET: 'too short', APP_CHAIN_ID: '0' };
  expect(() => readHubGatewayConfig(bad)).toThrow(/APP_CHAIN_ID.*APP_JWT_SECRET/);
  expect(() => readHubGatewayConfig(bad)).not.toThrow(/too short/);
});

test('introspection is off on the mainnet unless APP_INTROSPECTION is set', () => {
  expect(readHubGatewayConfig({ ...NEEDED, APP_NETWORK: 'mainnet' }).introspection).toBe(false);
  expect(
    readHubGatewayConfig({ ...NEEDED, APP_NETWORK: 'mainnet', APP_INTROSPECTION: 'true' })
      .introspection,
  ).toBe(true);
  expect(readHubGatewayConfig({ ...NEEDED, APP_NETWORK: 'testnet' }).introspection).toBe(true);
});

test('the development secret is refused on the mainnet', () => {
  const known = { ...NEEDED, APP_JWT_SECRET: DEVELOPMENT_JWT_SECRET };
  expect(() => readHubGatewayConfig({ ...known, APP_NETWORK: 'mainnet' })).toThrow(
    /^APP_JWT_SECRET is the public secret of the development stack/,
  );
  expect(readHubGatewayConfig({ ...known, APP_NETWORK: 'testnet' }).jwt_secret).toBe(
    DEVELOPMENT_JWT_SECRET,
  );
  const also = { ...NEEDED, APP_NETWORK: 'mainnet', APP_JWT_SECRET_ALSO: DEVELOPMENT_JWT_SECRET };
  expect(() => readHubGatewayConfig(also)).toThrow(/^APP_JWT_SECRET_ALSO is the public secret/);
});
