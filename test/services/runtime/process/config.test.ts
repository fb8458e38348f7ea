import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  choice,
  ConfigError,
  flag,
  httpUrl,
  integer,
  list,
  port,
  postgresUrl,
  readConfig,
  redisUrl,
  secret,
  SERVICE_SETTINGS,
  text,
  type Environment,
  type Setting,
} from '../../../../services/runtime/process/config.ts';

const SETTINGS = {
  ...SERVICE_SETTINGS,
  network: choice('APP_NETWORK', ['testnet', 'mainnet']),
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  postgres_url: postgresUrl('APP_POSTGRES_URL'),
  jwt_secret: secret('APP_JWT_SECRET', { characters_min: 32 }),
};
const GOOD = {
  APP_HTTP_PORT: '17011',
  APP_NETWORK: 'testnet',
  APP_KAFKA_BROKERS: '127.0.0.1:19092, kafka-2:19092,[::1]:19092',
  APP_POSTGRES_URL: 'postgres://clt_writer:pw@127.0.0.1:15432/clt',
  APP_JWT_SECRET: 'x'.repeat(32),
};

function read<Value>(setting: Setting<Value>, value: string): Value | undefined {
  return setting.read(value);
}

function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig(env, SETTINGS);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('settings become typed values, with defaults where there may be any', () => {
  const config = readConfig(GOOD, SETTINGS);
  const network: 'testnet' | 'mainnet' = config.network;
  const brokers: readonly string[] = config.kafka_brokers;
  expect({ ...config, network, brokers }).toEqual({
    log_level: 'info',
    otlp_url: undefined,
    trace_every: 1,
    http_host: '127.0.0.1',
    http_port: 17_011,
    drain_ms: 10_000,
    network: 'testnet',
    kafka_brokers: ['127.0.0.1:19092', 'kafka-2:19092', '[::1]:19092'],
    brokers: ['127.0.0.1:19092', 'kafka-2:19092', '[::1]:19092'],
    postgres_url: GOOD.APP_POSTGRES_URL,
    jwt_secret: GOOD.APP_JWT_SECRET,
  });
});

test('every missing setting is reported at once, each with the expected value', () => {
  expect(problemsOf({})).toEqual([
    'APP_HTTP_PORT is not set: expected a port from 1 to 65535 (0: any free one)',
    'APP_NETWORK is not set: expected one of testnet, mainnet',
    'APP_KAFKA_BROKERS is not set: expected host:port, several separated by commas',
    'APP_POSTGRES_URL is not set: expected an address like postgres://user:password@host:port/database',
    'APP_JWT_SECRET is not set: expected a secret of at least 32 characters',
  ]);
});

test('bad settings are reported together with missing ones, and show their value only when it is no secret', () => {
  const problems = problemsOf({
    ...GOOD,
    APP_HTTP_PORT: '65536',
    APP_NETWORK: 'devnet',
    APP_KAFKA_BROKERS: ' ',
    APP_POSTGRES_URL: 'mysql://u:hunter2@h/db',
    APP_JWT_SECRET: 'hunter2',
  });
  expect(problems).toEqual([
    'APP_HTTP_PORT is "65536": expected a port from 1 to 65535 (0: any free one)',
    'APP_NETWORK is "devnet": expected one of testnet, mainnet',
    'APP_KAFKA_BROKERS is not set: expected host:port, several separated by commas',
    'APP_POSTGRES_URL is not an address like postgres://user:password@host:port/database',
    'APP_JWT_SECRET is not a secret of at least 32 characters',
  ]);
  expect(problems.join()).not.toContain('hunter2');
});

describe('a secret in a file', () => {
  const { APP_JWT_SECRET: given, APP_POSTGRES_URL: url, ...rest } = GOOD;
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'clt-test-config-'));
    writeFileSync(join(folder, 'jwt'), `${given}\n`);
    writeFileSync(join(folder, 'url'), url);
    writeFileSync(join(folder, 'empty'), '\n');
    writeFileSync(join(folder, 'short'), 'too short');
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const files = (jwt: string): Environment => ({
    ...rest,
    APP_POSTGRES_URL_FILE: join(folder, 'url'),
    APP_JWT_SECRET_FILE: jwt,
  });

  test('is read without the white space around it', () => {
    const config = readConfig(files(join(folder, 'jwt')), SETTINGS);
    expect([config.jwt_secret, config.postgres_url]).toEqual([given, url]);
  });

  test('is missing, bad or given twice with the words of the variable, and never shown', () => {
    expect(problemsOf(files(join(folder, 'empty')))).toEqual([
      'APP_JWT_SECRET is not set: expected a secret of at least 32 characters',
    ]);
    expect(problemsOf(files(join(folder, 'short')))).toEqual([
      'APP_JWT_SECRET is not a secret of at least 32 characters',
    ]);
    expect(problemsOf({ ...files(join(folder, 'jwt')), APP_JWT_SECRET: given })).toEqual([
      'APP_JWT_SECRET and APP_JWT_SECRET_FILE are both set: keep one of them',
    ]);
    expect(problemsOf(files(given))[0]).toBe(
      'APP_JWT_SECRET_FILE is not the path of a file that can be read, ENOENT',
    );
  });

  test('is only for secrets', () => {
    const env = { ...GOOD, APP_NETWORK: '', APP_NETWORK_FILE: join(folder, 'jwt') };
    expect(problemsOf(env)).toEqual(['APP_NETWORK is not set: expected one of testnet, mainnet']);
  });
});

test('a long bad value is cut, and control characters in it are escaped', () => {
  const [problem] = problemsOf({ ...GOOD, APP_NETWORK: `a\nb${'c'.repeat(10_000)}` });
  expect(problem).toHaveLength(
    `APP_NETWORK is "": expected one of testnet, mainnet`.length + 60 + '...'.length + 1,
  );
  expect(problem).toContain(String.raw`a\nb`);
});

describe('a setting', () => {
  test.each(['', '-1', '1.5', '1e3', '0x10', ' 5 6', '10000000000000000000000', '٥', 'NaN', '101'])(
    'an integer of 0 to 100 is not %j',
    (value) => {
      expect(read(integer('APP_X', { min: 0, max: 100 }), value)).toBeUndefined();
    },
  );

  test('an integer may be negative if its range allows it', () => {
    expect(read(integer('APP_X', { min: -5, max: 5 }), '-5')).toBe(-5);
    expect(read(integer('APP_X', { min: -5, max: 5 }), '-6')).toBeUndefined();
  });

  test('a port may be 0, and no more than 65535', () => {
    expect([
      read(port('APP_X'), '0'),
      read(port('APP_X'), '65535'),
      read(port('APP_X'), '65536'),
    ]).toEqual([0, 65_535, undefined]);
  });

  test('a flag is exactly true or false', () => {
    expect(
      ['true', 'false', '1', 'yes', 'TRUE'].map((value) => read(flag('APP_X'), value)),
    ).toEqual([true, false, undefined, undefined, undefined]);
  });

  test.each([
    'localhost',
    'host:',
    ':9092',
    'host:9092,',
    'host:9092,,host:9093',
    'http://host:9092',
    'user@host:1',
    'host:port',
  ])('brokers are not %j', (value) => expect(read(list('APP_X'), value)).toBeUndefined());

  test('an HTTP address loses its trailing slash and may not contain credentials', () => {
    expect(read(httpUrl('APP_X'), 'http://127.0.0.1:17545/')).toBe('http://127.0.0.1:17545');
    expect(read(httpUrl('APP_X'), 'https://registry/apis/ccompat/v7')).toBe(
      'https://registry/apis/ccompat/v7',
    );
    for (const bad of [
      '127.0.0.1:17545',
      'ftp://host',
      'http://u:p@host',
      'http://host/?q=1',
      'http://host/#x',
      'nonsense',
    ]) {
      expect(read(httpUrl('APP_X'), bad)).toBeUndefined();
    }
  });

  test('addresses of Postgres and Redis need their protocol and a host', () => {
    expect(read(postgresUrl('APP_X'), 'postgresql://u@h/db')).toBe('postgresql://u@h/db');
    expect(read(redisUrl('APP_X'), 'rediss://h:1')).toBe('rediss://h:1');
    for (const bad of ['postgres:', 'h:5432', 'redis://h'])
      expect(read(postgresUrl('APP_X'), bad)).toBeUndefined();
    expect(read(redisUrl('APP_X'), 'postgres://h')).toBeUndefined();
  });

  test('an empty variable takes the default, as one that is not set', () => {
    const settings = { name: text('APP_X', { default: 'there' }) };
    expect([
      readConfig({}, settings),
      readConfig({ APP_X: '' }, settings),
      readConfig({ APP_X: 'here' }, settings),
    ]).toEqual([{ name: 'there' }, { name: 'there' }, { name: 'here' }]);
  });
});
