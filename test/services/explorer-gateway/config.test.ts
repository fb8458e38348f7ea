import { expect, test } from 'vitest';
import { ConfigError } from '../../../services/runtime/process/config.ts';
import { readExplorerGatewayConfig, tronUrlOf } from '../../../services/explorer-gateway/config.ts';

const NEEDED = {
  APP_HTTP_PORT: '17003',
  APP_OPS_PORT: '17033',
  APP_POSTGRES_READER_URL: 'postgres://clt_reader:clt_reader@127.0.0.1:15432/clt',
  APP_REDIS_URL: 'redis://127.0.0.1:16379',
  APP_NODE_URL: 'http://127.0.0.1:17545',
};

test('only the addresses of servers are required', () => {
  expect(readExplorerGatewayConfig(NEEDED)).toMatchObject({
    log_level: 'info',
    http_host: '127.0.0.1',
    http_port: 17_003,
    drain_ms: 10_000,
    postgres_reader_url: NEEDED.APP_POSTGRES_READER_URL,
    redis_url: NEEDED.APP_REDIS_URL,
    node_url: NEEDED.APP_NODE_URL,
    kafka_brokers: undefined,
    treasury_public_reconciliation_url: undefined,
    statement_timeout_ms: 2_000,
    connections_max: 8,
    ready_lag_blocks_max: 20,
    answers_kept_max: 4_096,
    exports_max: 4,
    rate_per_second: 100,
    rate_burst: 300,
    trust_proxy_hops: 0,
  });
});

function treasuryUrl(url: string): unknown {
  return readExplorerGatewayConfig({ ...NEEDED, APP_TREASURY_PUBLIC_RECONCILIATION_URL: url })
    .treasury_public_reconciliation_url;
}

test('the treasury is optional: an empty address means none, a bad one is a problem', () => {
  expect(treasuryUrl('')).toBeUndefined();
  expect(treasuryUrl('http://127.0.0.1:17004/public/reconciliation')).toBe(
    'http://127.0.0.1:17004/public/reconciliation',
  );
  for (const url of ['treasury', 'ftp://treasury/x', 'http://user:hunter2@treasury/']) {
    expect(() => treasuryUrl(url)).toThrow(
      new ConfigError([
        'APP_TREASURY_PUBLIC_RECONCILIATION_URL is not an address like http://host:port, without user and password',
      ]),
    );
  }
});

function tiles(url: string): unknown {
  return readExplorerGatewayConfig({ ...NEEDED, APP_CONSOLE_TILES_URL: url }).console_tiles_url;
}

test('tiles need the place of each coordinate in their address', () => {
  expect(tiles('')).toBeUndefined();
  expect(tiles('https://tiles.example/{z}/{x}/{y}.png')).toBe(
    'https://tiles.example/{z}/{x}/{y}.png',
  );
  for (const url of ['https://tiles.example/', 'ftp://tiles.example/{z}/{x}/{y}'])
    expect(() => tiles(url)).toThrow('APP_CONSOLE_TILES_URL');
});

test.each([
  [{}, undefined],
  [{ APP_NETWORK: 'mainnet' }, 'https://tronscan.org/#/transaction/'],
  [{ APP_NETWORK: 'testnet' }, 'https://nile.tronscan.org/#/transaction/'],
  [{ APP_NETWORK: 'testnet', APP_CONSOLE_TRON_URL: 'none' }, undefined],
  [{ APP_CONSOLE_TRON_URL: 'https://tron.example/tx/' }, 'https://tron.example/tx/'],
])('with %j transfers are linked at %s', (given, url) => {
  expect(tronUrlOf(readExplorerGatewayConfig({ ...NEEDED, ...given }))).toBe(url);
});

test.each(['javascript:alert(1)//', 'tronscan.org', 'https://me:secret@tron.example/tx/'])(
  'no transfer is linked at %s',
  (APP_CONSOLE_TRON_URL) => {
    expect(() => readExplorerGatewayConfig({ ...NEEDED, APP_CONSOLE_TRON_URL })).toThrow(
      'APP_CONSOLE_TRON_URL is not an address like https://tronscan.org/#/transaction/, without user and password, or none',
    );
  },
);

test('every problem is reported at once', () => {
  expect(() => readExplorerGatewayConfig({ APP_RATE_PER_SECOND: '-1' })).toThrow(
    new ConfigError([
      'APP_HTTP_PORT is not set: expected a port from 1 to 65535 (0: any free one)',
      'APP_POSTGRES_READER_URL is not set: expected an address like postgres://user:password@host:port/database',
      'APP_REDIS_URL is not set: expected an address like redis://host:port',
      'APP_RATE_PER_SECOND is "-1": expected a whole number from 0 to 1000000',
      'APP_OPS_PORT is not set: expected a port from 1 to 65535 (0: any free one)',
      'APP_NODE_URL is not set: expected an address like http://host:port, without user and password',
    ]),
  );
});
