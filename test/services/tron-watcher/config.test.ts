import { expect, test } from 'vitest';
import { ConfigError } from '../../../services/runtime/process/config.ts';
import { readWatcherConfig } from '../../../services/tron-watcher/config.ts';

const NEEDED = {
  APP_HTTP_PORT: '17012',
  APP_KAFKA_BROKERS: 'localhost:9092',
  APP_REGISTRY_URL: 'http://localhost:8081',
  APP_POSTGRES_READER_URL: 'postgres://reader:secret@localhost/clt',
  APP_NETWORK: 'mainnet',
  APP_TRON_URL: 'https://api.trongrid.io/',
  APP_USDT_CONTRACT: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
};

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    readWatcherConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test("the defaults stay within the provider's limits", () => {
  expect(readWatcherConfig(NEEDED)).toMatchObject({
    tron_url: 'https://api.trongrid.io',
    tron_api_key: '',
    usdt_contract: Buffer.from('a614f803b6fd780986a42c78ec9c7f77e6ded13c', 'hex'),
    pass_addresses_max: 50,
    requests_per_second: 10,
    requests_per_day: 90_000,
  });
});

test('all missing and wrong settings are reported at once, without keys', () => {
  const missing = problemsOf({});
  for (const name of Object.keys(NEEDED))
    expect(missing.join('\n')).toContain(`${name} is not set`);
  const wrong = problemsOf({
    ...NEEDED,
    APP_USDT_CONTRACT: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u',
    APP_PASS_ADDRESSES_MAX: '0',
  });
  expect(wrong).toEqual([
    'APP_USDT_CONTRACT is "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u": expected an address of TRON in base58 (34 characters, T first)',
    'APP_PASS_ADDRESSES_MAX is "0": expected a whole number from 1 to 10000',
  ]);
});

test("the mainnet refuses the testnet's token, and a provider that others can stand in for", () => {
  const token = { APP_USDT_CONTRACT: 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf' };
  const open = { APP_TRON_URL: 'http://api.trongrid.io' };
  expect(problemsOf({ ...NEEDED, ...token, ...open })).toEqual([
    expect.stringMatching(/^APP_USDT_CONTRACT is T\w+, a token of the testnet/),
    expect.stringMatching(/^APP_TRON_URL begins with http:/),
  ]);
  for (const host of ['localhost:9090', '127.0.0.1:9090', '[::1]:9090'])
    expect(problemsOf({ ...NEEDED, APP_TRON_URL: `http://${host}` })).toEqual([]);
  expect(problemsOf({ ...NEEDED, ...token, ...open, APP_NETWORK: 'testnet' })).toEqual([]);
});
