import { HDNodeWallet } from 'ethers';
import { expect, test } from 'vitest';
import { defaultSettings } from '../../../infra/services/settings.ts';
import { accountAt, OTHER_XPUB, XPUB } from '../../support/deposit-log.ts';
import { ConfigError } from '../../../services/runtime/process/config.ts';
import {
  readDepositGatewayConfig,
  type DepositGatewayConfig,
} from '../../../services/deposit-gateway/config.ts';

const GOOD = {
  APP_NETWORK: 'testnet',
  APP_HTTP_PORT: '17001',
  APP_OPS_PORT: '17031',
  APP_KAFKA_BROKERS: '127.0.0.1:19092',
  APP_REGISTRY_URL: 'http://127.0.0.1:18081/apis/ccompat/v7',
  APP_POSTGRES_READER_URL: 'postgres://clt_reader:hunter2@127.0.0.1:15432/clt',
  APP_REDIS_URL: 'redis://127.0.0.1:16379',
  APP_JWT_SECRET: 'x'.repeat(32),
  APP_DEPOSIT_XPUB: XPUB,
};
const [ONE, TWO] = [accountAt(1), accountAt(2)].map((account) => `0x${account.toString('hex')}`);

function read(
  change: Readonly<Record<string, string>> = {},
): DepositGatewayConfig | readonly string[] {
  try {
    return readDepositGatewayConfig({ ...GOOD, ...change });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test('the testnet admits every account, even if a list is set', () => {
  expect(read()).toMatchObject({
    network: 'testnet',
    allowed_accounts: undefined,
    address_wait_ms: 10_000,
    rate_per_second: 100,
    rate_burst: 300,
  });
  expect(read({ APP_ALLOWED_ACCOUNTS: 'x' })).toMatchObject({ allowed_accounts: undefined });
});

test('the mainnet refuses the public key and secret of the development stack', () => {
  const mainnet = { APP_NETWORK: 'mainnet', APP_ALLOWED_ACCOUNTS: ONE ?? '' };
  expect(read(mainnet)).toEqual([
    expect.stringMatching(/^APP_DEPOSIT_XPUB is the key of the development stack/),
  ]);
  expect(read({ ...mainnet, APP_JWT_SECRET: defaultSettings.APP_JWT_SECRET })).toEqual([
    expect.stringMatching(/^APP_DEPOSIT_XPUB is the key of the development stack/),
    expect.stringMatching(/^APP_JWT_SECRET is the public secret of the development stack/),
  ]);
  expect(read({ ...mainnet, APP_DEPOSIT_XPUB: OTHER_XPUB })).toMatchObject({
    deposit_key: { extended_public_key: OTHER_XPUB },
  });
});

test('the mainnet requires the list; the case of its accounts does not matter', () => {
  const mainnet = { APP_NETWORK: 'mainnet', APP_DEPOSIT_XPUB: OTHER_XPUB };
  const expected =
    'the accounts of the pilot, each 0x + 40 hex digits, several separated by commas';
  expect(read(mainnet)).toEqual([`APP_ALLOWED_ACCOUNTS is not set: expected ${expected}`]);
  const list = `${ONE?.toUpperCase().replace('0X', '0x')}, ${TWO}`;
  expect(read({ ...mainnet, APP_ALLOWED_ACCOUNTS: list })).toMatchObject({
    allowed_accounts: new Set([ONE, TWO]),
  });
  for (const bad of [
    `${ONE},`,
    `${ONE}${TWO}`,
    `${ONE} ${TWO}`,
    `${ONE},0x12`,
    accountAt(1).toString('hex'),
    'everybody',
  ])
    expect(read({ ...mainnet, APP_ALLOWED_ACCOUNTS: bad })).toEqual([
      expect.stringContaining(`expected ${expected}`),
    ]);
});

test('a bad key is reported with its problem and never shown', () => {
  expect(read()).toMatchObject({ deposit_key: { extended_public_key: XPUB } });
  const { extendedKey: secret } = HDNodeWallet.fromPhrase(
    'test test test test test test test test test test test junk',
    undefined,
    "m/44'/195'/0'/0",
  );
  expect(read({ APP_DEPOSIT_XPUB: secret })).toEqual([
    expect.stringMatching(
      /^APP_DEPOSIT_XPUB is not .*it is an extended private key.*keep it offline/,
    ),
  ]);
  expect(JSON.stringify(read({ APP_DEPOSIT_XPUB: secret }))).not.toContain(secret);
  expect(read({ APP_DEPOSIT_XPUB: `${XPUB.slice(0, -1)}x` })).toEqual([
    expect.stringContaining('or mistyped'),
  ]);
});

test('every problem is reported at once, without secrets', () => {
  const { APP_NETWORK: _network, ...rest } = GOOD;
  const problems = (() => {
    try {
      readDepositGatewayConfig({ ...rest, APP_JWT_SECRET: 'a short secret', APP_DEPOSIT_XPUB: '' });
      return [];
    } catch (error) {
      return error instanceof ConfigError ? error.problems : [];
    }
  })();
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
    'APP_NETWORK',
    'APP_JWT_SECRET',
    'APP_DEPOSIT_XPUB',
  ]);
  expect(problems.join('\n')).not.toContain('a short secret');
  expect(readConfigNames()).toEqual(Object.keys(GOOD).toSorted());
});

/** The settings without which it does not start. */
function readConfigNames(): readonly string[] {
  try {
    readDepositGatewayConfig({});
    return [];
  } catch (error) {
    return error instanceof ConfigError
      ? error.problems.map((problem) => problem.split(' ')[0] ?? '').toSorted()
      : [];
  }
}
