import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { certificateFiles, makeCertificates } from '../../../../infra/cluster/certificates.ts';
import {
  ConfigError,
  readConfig,
  REDIS_SETTINGS,
  type Environment,
} from '../../../../services/runtime/process/config.ts';
import {
  KAFKA_SETTINGS,
  REGISTRY_SETTINGS,
} from '../../../../services/runtime/process/kafka-settings.ts';

const SETTINGS = { ...KAFKA_SETTINGS, ...REGISTRY_SETTINGS, ...REDIS_SETTINGS };
const ADDRESSES = {
  APP_KAFKA_BROKERS: 'kafka-1:9092',
  APP_REGISTRY_URL: 'https://registry',
  APP_REDIS_URL: 'redis://redis:6379',
};
const ACCOUNT = { APP_KAFKA_USERNAME: 'treasury', APP_KAFKA_PASSWORD: 'hunter2' };

const OPEN_REGISTRY = {
  APP_REGISTRY_URL: 'http://registry:8081',
  APP_REGISTRY_USERNAME: 'u',
  APP_REGISTRY_PASSWORD: 'p',
};
const OPEN_TOKENS = {
  ...ACCOUNT,
  APP_KAFKA_SASL: 'oauthbearer',
  APP_KAFKA_TLS: 'on',
  APP_KAFKA_OAUTH_URL: 'http://id/token',
};

let folder: string;
let files: { readonly cert: string; readonly key: string };
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kafka-settings-'));
  await makeCertificates(folder, ['one'], () => ['localhost'], new Date());
  files = certificateFiles(folder, 'one');
});
afterAll(() => rmSync(folder, { recursive: true }));

function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig({ ...ADDRESSES, ...env }, SETTINGS);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test('without further settings Kafka is asked in plain text and without an account', () => {
  expect(readConfig(ADDRESSES, SETTINGS)).toMatchObject({
    kafka_brokers: ['kafka-1:9092'],
    kafka_tls: undefined,
    kafka_tls_ca: undefined,
    kafka_sasl: undefined,
    kafka_connect_ms: 3_000,
    kafka_request_ms: 10_000,
    kafka_prefix: '',
    registry_username: undefined,
    redis_sentinels: undefined,
  });
});

test('PEM files are read', () => {
  const config = readConfig(
    {
      ...ADDRESSES,
      APP_KAFKA_TLS_CA: files.cert,
      APP_KAFKA_TLS_CERT: files.cert,
      APP_KAFKA_TLS_KEY: files.key,
    },
    SETTINGS,
  );
  expect(config.kafka_tls_ca).toMatch(/^-----BEGIN CERTIFICATE-----/);
  expect(config.kafka_tls_key).toMatch(/^-----BEGIN PRIVATE KEY-----/);
});

test('a file that cannot be read, or holds something else, is a problem with the reason', () => {
  const text = join(folder, 'text');
  writeFileSync(text, 'nothing');
  expect(
    problemsOf({
      APP_KAFKA_TLS_CA: join(folder, 'absent'),
      APP_KAFKA_TLS_CERT: text,
      APP_KAFKA_TLS_KEY: files.cert,
    }),
  ).toEqual([
    expect.stringMatching(/^APP_KAFKA_TLS_CA is ".*, and ENOENT.*: expected the path of a PEM/),
    expect.stringMatching(/^APP_KAFKA_TLS_CERT is ".*: expected the path of a PEM/),
    expect.stringMatching(/^APP_KAFKA_TLS_KEY is ".*: expected the path of a PEM/),
  ]);
});

test.each<[string, Environment, readonly RegExp[]]>([
  ['TLS that is off', { APP_KAFKA_TLS: 'off', APP_KAFKA_TLS_CA: 'CERT' }, [/APP_KAFKA_TLS is off/]],
  ['a certificate without its key', { APP_KAFKA_TLS_CERT: 'CERT' }, [/without APP_KAFKA_TLS_KEY/]],
  ['a key without its certificate', { APP_KAFKA_TLS_KEY: 'KEY' }, [/without APP_KAFKA_TLS_CERT/]],
  [
    'SASL without an account',
    { APP_KAFKA_SASL: 'scram-sha-512' },
    [/without APP_KAFKA_USERNAME and APP_KAFKA_PASSWORD/],
  ],
  [
    'an account without SASL, twice',
    ACCOUNT,
    [/APP_KAFKA_USERNAME .*without APP_KAFKA_SASL/, /APP_KAFKA_PASSWORD .*without APP_KAFKA_SASL/],
  ],
  [
    'a clear password without TLS',
    { ...ACCOUNT, APP_KAFKA_SASL: 'plain' },
    [/plain without TLS.*APP_KAFKA_TLS=off/],
  ],
  [
    'OAUTHBEARER without an endpoint',
    { ...ACCOUNT, APP_KAFKA_SASL: 'oauthbearer', APP_KAFKA_TLS: 'on' },
    [/without APP_KAFKA_OAUTH_URL/],
  ],
  [
    'an endpoint for tokens that are not used',
    { ...ACCOUNT, APP_KAFKA_SASL: 'scram-sha-256', APP_KAFKA_OAUTH_URL: 'https://id/token' },
    [/APP_KAFKA_OAUTH_URL is set, and APP_KAFKA_SASL is not oauthbearer/],
  ],
  [
    'an unknown mechanism',
    { ...ACCOUNT, APP_KAFKA_SASL: 'gssapi', APP_KAFKA_TLS: 'on' },
    [/expected one of plain, scram-sha-256, scram-sha-512, oauthbearer/],
  ],
  ['a prefix with a slash', { APP_KAFKA_PREFIX: 'a/b' }, [/expected at most 100 letters/]],
  ['half an account of the registry', { APP_REGISTRY_USERNAME: 'u' }, [/APP_REGISTRY_PASSWORD/]],
  [
    'a password for a registry without TLS on the mainnet',
    { ...OPEN_REGISTRY, APP_NETWORK: 'mainnet' },
    [/^APP_REGISTRY_URL begins with http:.*read the password/],
  ],
  [
    'a password for tokens without TLS on the mainnet',
    { ...OPEN_TOKENS, APP_NETWORK: 'mainnet' },
    [/^APP_KAFKA_OAUTH_URL begins with http:.*read the password/],
  ],
  ['sentinels without a name', { APP_REDIS_SENTINELS: 'h:1' }, [/APP_REDIS_SENTINEL_NAME/]],
  ['TLS for a Redis without', { APP_REDIS_TLS_CA: 'CERT' }, [/change it to rediss/]],
])('a contradiction is a problem: %s', (_, given, expected) => {
  const paths: Environment = { CERT: files.cert, KEY: files.key };
  const env = Object.entries(given).map(([name, value]) => [name, paths[value ?? ''] ?? value]);
  const problems = problemsOf(Object.fromEntries(env));
  expect(problems).toEqual(expected.map((each) => expect.stringMatching(each)));
  expect(problems.join()).not.toContain('hunter2');
});

test('a clear password is sent where TLS is switched off in words', () => {
  expect(problemsOf({ ...ACCOUNT, APP_KAFKA_SASL: 'plain', APP_KAFKA_TLS: 'off' })).toEqual([]);
});

test('a password is sent without TLS off the mainnet, to this machine, and never where there is none', () => {
  const mainnet = { APP_NETWORK: 'mainnet' };
  for (const given of [
    OPEN_REGISTRY,
    OPEN_TOKENS,
    { ...mainnet, ...OPEN_REGISTRY, APP_REGISTRY_URL: 'http://127.0.0.1:18081' },
    { ...mainnet, ...OPEN_TOKENS, APP_KAFKA_OAUTH_URL: 'https://id/token' },
    { ...mainnet, APP_REGISTRY_URL: 'http://registry:8081' },
  ])
    expect(problemsOf(given)).toEqual([]);
});
