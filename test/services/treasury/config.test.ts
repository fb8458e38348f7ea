import { expect, test } from 'vitest';
import { NETWORK_LIMITS, USDT_CONTRACTS } from '../../../schemas/deposit-policy.ts';
import { DEVELOPMENT_XPUB } from '../../../schemas/development.ts';
import { ConfigError } from '../../../services/runtime/process/config.ts';
import { readTreasuryConfig } from '../../../services/treasury/config.ts';
import { defaultSettings } from '../../../infra/services/settings.ts';
import { OTHER_XPUB, USDT_CONTRACT } from '../../support/deposit-log.ts';

const GOOD = {
  APP_HTTP_PORT: '17004',
  APP_KAFKA_BROKERS: '127.0.0.1:19092',
  APP_REGISTRY_URL: 'http://127.0.0.1:18081/apis/ccompat/v7',
  APP_NETWORK: 'testnet',
  APP_USDT_CONTRACT: 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf',
  APP_TRON_URL: 'http://127.0.0.1:17090',
  APP_CUSTODY_ADDRESSES: 'none',
  APP_NODE_URL: 'http://127.0.0.1:17545',
  APP_CHAIN_ID: '7777',
  APP_MINT_KEY: `0x${'0'.repeat(63)}1`,
  APP_DEPOSIT_XPUB: OTHER_XPUB,
};

const OPERATORS = `0x${'1'.repeat(40)}, ${'2'.repeat(40)}`;
const MAINNET = {
  ...GOOD,
  APP_NETWORK: 'mainnet',
  APP_USDT_CONTRACT: USDT_CONTRACTS.mainnet,
  APP_OPERATORS: OPERATORS,
  APP_KAFKA_REPLICATION_MIN: '3',
};

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    readTreasuryConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test("the network's limits are the defaults", () => {
  expect(readTreasuryConfig(GOOD)).toMatchObject({
    http_port: 17_004,
    network: 'testnet',
    usdt_contract: USDT_CONTRACT,
    limits: NETWORK_LIMITS.testnet,
  });
  expect(readTreasuryConfig(MAINNET).limits).toEqual(NETWORK_LIMITS.mainnet);
});

test('each limit has a variable, in micro-USD', () => {
  const env = {
    APP_FIRST_FEE: '1',
    APP_LATER_FEE: '0',
    APP_MINIMUM: '3',
    APP_SINGLE_CAP: '4',
    APP_ROLLING_CAP: '100000000000000000000',
  };
  const limits = {
    first_fee: 1n,
    later_fee: 0n,
    minimum: 3n,
    single_cap: 4n,
    rolling_cap: 10n ** 20n,
  };
  expect(readTreasuryConfig({ ...GOOD, ...env })).toMatchObject({ limits });
});

test('all missing and wrong settings are reported at once', () => {
  expect(problemsOf({})).toEqual(Object.keys(GOOD).map((name) => expect.stringContaining(name)));
  const bad = {
    APP_USDT_CONTRACT: 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBg',
    APP_FIRST_FEE: '-1',
    APP_LATER_FEE: '0.5',
    APP_MINIMUM: '1e6',
  };
  expect(problemsOf({ ...GOOD, ...bad })).toEqual(
    Object.keys(bad).map((name) => expect.stringContaining(name)),
  );
});

test('a second node is optional, and is another one than the first', () => {
  expect(readTreasuryConfig(GOOD).second_node_url).toBe('');
  const second = 'http://127.0.0.1:17546';
  expect(readTreasuryConfig({ ...GOOD, APP_SECOND_NODE_URL: second })).toMatchObject({
    second_node_url: second,
  });
  expect(problemsOf({ ...GOOD, APP_SECOND_NODE_URL: GOOD.APP_NODE_URL })).toEqual([
    expect.stringMatching(/^APP_SECOND_NODE_URL is /),
  ]);
});

test('contradicting limits are refused by their variables', () => {
  expect(problemsOf({ ...GOOD, APP_MINIMUM: '2000000000' })).toEqual([
    expect.stringMatching(/^APP_MINIMUM is above APP_SINGLE_CAP: /),
  ]);
  expect(problemsOf({ ...GOOD, APP_SINGLE_CAP: '6000000000' })).toEqual([
    expect.stringMatching(/^APP_SINGLE_CAP is above APP_ROLLING_CAP: /),
  ]);
});

test('custody addresses are parsed, and an age limit below the interval is refused', () => {
  expect(readTreasuryConfig(GOOD)).toMatchObject({
    custody_addresses: [],
    reserve_tolerance: 1_000_000n,
  });
  const two = 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6, TPjjvMwjPoDC32V2dGDYTkLH4E5LAtBZ6C';
  const { custody_addresses: custodyAddresses } = readTreasuryConfig({
    ...GOOD,
    APP_CUSTODY_ADDRESSES: two,
  });
  expect(custodyAddresses.map(({ length }) => length)).toEqual([20, 20]);
  for (const wrong of [`${two},`, ''])
    expect(problemsOf({ ...GOOD, APP_CUSTODY_ADDRESSES: wrong })).toEqual([
      expect.stringContaining('APP_CUSTODY_ADDRESSES'),
    ]);
  const slow = { APP_RECONCILE_EVERY_MS: '60000', APP_RECONCILE_AGE_MAX_MS: '60000' };
  expect(problemsOf({ ...GOOD, ...slow, APP_MINIMUM: '2000000000' })).toEqual([
    expect.stringContaining('APP_MINIMUM'),
    expect.stringMatching(
      /^APP_RECONCILE_AGE_MAX_MS is 60000, not above APP_RECONCILE_EVERY_MS, 60000/,
    ),
  ]);
  expect(problemsOf({ ...GOOD, ...slow, APP_RECONCILE_AGE_MAX_MS: '0' })).toEqual([]);
});

test.each(['0', '0x', 'f'.repeat(64), '0'.repeat(64), 'a secret word', 'a'.repeat(63)])(
  'a malformed key is refused and not repeated',
  (key) => {
    expect(problemsOf({ ...GOOD, APP_MINT_KEY: key })).toEqual([
      'APP_MINT_KEY is not the private key of the mint authority, 64 hex digits',
    ]);
  },
);

test('the mainnet refuses well-known keys, addresses and tokens by their variables', () => {
  const { APP_MINT_KEY: _key, ...without } = MAINNET;
  expect(problemsOf(without)).toEqual([expect.stringMatching(/^APP_MINT_KEY is not set: /)]);
  for (const known of [
    defaultSettings.APP_MINT_KEY,
    defaultSettings.APP_MINT_KEY.slice(2).toUpperCase(),
  ])
    expect(problemsOf({ ...MAINNET, APP_MINT_KEY: known })).toEqual([
      expect.stringMatching(/^APP_MINT_KEY is the key of the devnet/),
    ]);
  expect(
    problemsOf({ ...MAINNET, APP_CUSTODY_ADDRESSES: defaultSettings.APP_CUSTODY_ADDRESSES }),
  ).toEqual([
    expect.stringMatching(/^APP_CUSTODY_ADDRESSES has T\w+, whose private key everybody knows/),
  ]);
  expect(problemsOf({ ...MAINNET, APP_USDT_CONTRACT: defaultSettings.APP_USDT_CONTRACT })).toEqual([
    expect.stringMatching(/^APP_USDT_CONTRACT is T\w+, a token of the testnet/),
  ]);
  const both = `${OPERATORS}, ${defaultSettings.APP_OPERATORS}`;
  expect(problemsOf({ ...MAINNET, APP_OPERATORS: both })).toEqual([
    expect.stringMatching(/^APP_OPERATORS has 0x\w+, whose private key everybody knows/),
  ]);
  expect(
    problemsOf({
      ...GOOD,
      APP_MINT_KEY: defaultSettings.APP_MINT_KEY,
      APP_CUSTODY_ADDRESSES: defaultSettings.APP_CUSTODY_ADDRESSES,
      APP_OPERATORS: defaultSettings.APP_OPERATORS,
    }),
  ).toEqual([]);
});

test('operators are addresses, each once, and two for an amount that needs two', () => {
  expect(readTreasuryConfig(GOOD)).toMatchObject({ operators: [], two_operators_above: 0n });
  const two = { ...GOOD, APP_OPERATORS: OPERATORS, APP_TWO_OPERATORS_ABOVE: '5000000' };
  expect(readTreasuryConfig(two)).toMatchObject({
    operators: [Buffer.alloc(20, 0x11), Buffer.alloc(20, 0x22)],
    two_operators_above: 5_000_000n,
  });
  for (const operators of ['alice', `${OPERATORS},`, '0x11'])
    expect(problemsOf({ ...GOOD, APP_OPERATORS: operators })).toEqual([
      expect.stringMatching(/^APP_OPERATORS is /),
    ]);
  const [one = ''] = OPERATORS.split(',');
  expect(problemsOf({ ...two, APP_OPERATORS: one })).toEqual([
    expect.stringMatching(/^APP_TWO_OPERATORS_ABOVE is 5000000 and APP_OPERATORS has 1/),
  ]);
  expect(problemsOf({ ...GOOD, APP_OPERATORS: `${one},${one}` })).toEqual([
    expect.stringMatching(/^APP_OPERATORS has an address twice/),
  ]);
});

test('the mainnet refuses to be without operators', () => {
  const { APP_OPERATORS: _operators, ...without } = MAINNET;
  expect(problemsOf(without)).toEqual([expect.stringMatching(/^APP_OPERATORS is not set/)]);
});

test('the mainnet wants to hear the number of replicas, also where it is one', () => {
  for (const APP_KAFKA_REPLICATION_MIN of ['', ' '])
    expect(problemsOf({ ...MAINNET, APP_KAFKA_REPLICATION_MIN })).toEqual([
      expect.stringMatching(/^APP_KAFKA_REPLICATION_MIN is not set: on the mainnet/),
    ]);
  expect(problemsOf({ ...MAINNET, APP_KAFKA_REPLICATION_MIN: '1' })).toEqual([]);
});

test('the key of deposit addresses is required, and the public one is refused on the mainnet', () => {
  expect(problemsOf({ ...GOOD, APP_DEPOSIT_XPUB: '' })).toEqual([
    expect.stringMatching(/^APP_DEPOSIT_XPUB is not set/),
  ]);
  expect(problemsOf({ ...MAINNET, APP_DEPOSIT_XPUB: DEVELOPMENT_XPUB })).toEqual([
    expect.stringMatching(/^APP_DEPOSIT_XPUB is the key of the development stack/),
  ]);
});
