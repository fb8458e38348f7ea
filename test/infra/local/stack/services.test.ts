import { createServer } from 'node:http';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { computeAddress } from 'ethers';
import { expect, onTestFinished, test } from 'vitest';
import { mintAuthorityKey } from '../../../../infra/devnet/clt/keys.ts';
import { Halted, Working } from '../../../../infra/local/process/server.ts';
import { localAddresses } from '../../../../infra/local/stack/services.ts';
import { checkout, folderAt, type Folder } from '../../../../infra/local/stack/folder.ts';
import { defaultPorts, portNames } from '../../../../infra/services/ports.ts';
import { serviceCommand, serviceIsReady } from '../../../../infra/local/stack/services.ts';
import { serviceEnvironment, services } from '../../../../infra/services/services.ts';
import { defaultSettings } from '../../../../infra/services/settings.ts';
import {
  folderSettings,
  readSettings,
  userSettings,
} from '../../../../infra/local/stack/settings.ts';
import { toHex } from '../../../../schemas/address.ts';
import {
  DEVELOPMENT_MINT_AUTHORITY,
  DEVELOPMENT_OPERATOR,
  DEVELOPMENT_OPERATOR_KEY,
} from '../../../../schemas/development.ts';
import { authorityOf } from '../../../../services/treasury/minting/mint-signer.ts';

const place = { http_host: '127.0.0.1', ports: defaultPorts, data: '/data' };
const at = localAddresses(defaultPorts);

/** The environment of a service where the user has set these variables. */
function environmentOf(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const spec = services.find((each) => each.name === name);
  if (spec === undefined) throw new Error(`there is no service ${name}`);
  return serviceEnvironment(spec, readSettings(env), at, place, userSettings(env));
}

/** The names of the services whose environment has this variable. */
function knowing(variable: string, env: Readonly<Record<string, string>>): readonly string[] {
  return services.map(({ name }) => name).filter((name) => variable in environmentOf(name, env));
}

test.each(services)('$name is a program of this checkout with ports of the table', (spec) => {
  expect(existsSync(join(checkout, spec.entry))).toBe(true);
  expect(spec.ports.every((port) => portNames.includes(port))).toBe(true);
});

test.each(services)('$name runs on this Node and inherits no environment', (spec) => {
  const { file, env } = serviceCommand(spec, environmentOf(spec.name));
  expect(file).toBe(process.execPath);
  const known = Object.keys(env).filter((name) => !name.startsWith('APP_'));
  const options = 'NODE_OPTIONS' in spec.defaults ? ['NODE_OPTIONS'] : [];
  expect(known.toSorted()).toEqual(
    ['HOME', 'LC_ALL', 'NODE_COMPILE_CACHE', 'NODE_ENV', ...options, 'PATH', 'TZ'].toSorted(),
  );
});

test.each(['explorer-gateway', 'hub-gateway', 'deposit-gateway', 'tron-watcher'])(
  '%s gets the connection of the reader, not of the writer',
  (name) => {
    const text = JSON.stringify(environmentOf(name));
    expect(text).toContain('clt_reader');
    expect(text).not.toContain('clt_writer');
  },
);

test('the wide limits of development hold on the testnet only', () => {
  for (const { name, testnet = {} } of services) {
    expect(environmentOf(name)).toMatchObject(testnet);
    const mainnet = environmentOf(name, { APP_NETWORK: 'mainnet' });
    for (const variable of [...Object.keys(testnet), 'APP_RECONCILE_REQUESTS_PER_DAY'])
      expect(mainnet[variable] ?? '', `${name} ${variable}`).toBe('');
  }
});

test('a secret reaches only the services that need it, even when the user sets it', () => {
  const env = {
    APP_JWT_SECRET: 'a secret of the user, 32 characters',
    APP_MINT_KEY: `0x${'1'.repeat(64)}`,
    APP_DEVNET_SEED: 'a seed of the user',
    APP_OPERATOR_KEY: `0x${'2'.repeat(64)}`,
    APP_OPERATOR_PASSWORD: 'a password of the user',
  };
  expect(knowing('APP_JWT_SECRET', env)).toEqual(['deposit-gateway', 'hub-gateway']);
  expect(knowing('APP_MINT_KEY', env)).toEqual(['treasury']);
  expect(knowing('APP_DEVNET_SEED', env)).toEqual(['devnet']);
  expect(knowing('APP_OPERATOR_KEY', env)).toEqual([]);
  expect(knowing('APP_OPERATOR_PASSWORD', env)).toEqual([]);
  expect(environmentOf('hub-gateway', env)['APP_JWT_SECRET']).toBe(env.APP_JWT_SECRET);
});

test("the settings of the user reach the services, but do not override the stack's own", () => {
  const env = {
    APP_NETWORK: 'mainnet',
    APP_RATE_PER_SECOND: '7',
    APP_HTTP_PORT: '1',
    // no limit: never used
    APP_STATEMENT_TIMEOUT_MS: '50',
    APP_LOCAL_DIR: '/x',
    APP_EXPLORER_PORT: '2',
    EDITOR: 'vi',
  };
  const environment = environmentOf('explorer-gateway', env);
  expect(environment).toMatchObject({
    APP_NETWORK: 'mainnet',
    APP_RATE_PER_SECOND: '7',
    APP_HTTP_PORT: '17003',
    APP_STATEMENT_TIMEOUT_MS: '50',
  });
  for (const name of ['APP_LOCAL_DIR', 'APP_EXPLORER_PORT', 'EDITOR'])
    expect(environment).not.toHaveProperty(name);
});

/** A server that answers `/status` like this. Returns its port. */
async function statusServer(status: object): Promise<number> {
  const server = createServer((request, response) =>
    response.end(request.url === '/status' ? JSON.stringify(status) : ''),
  ).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const LOADING = { status: 'working', phase: 'building_indexes', waits_for: null, message: null };
const WAITING = { status: 'waiting', phase: 'opening', eta_s: null, message: null };

test.each([
  ['ready', { ...LOADING, status: 'ready', eta_s: null }, true],
  [
    'working',
    { ...LOADING, eta_s: 12 },
    new Working('building indexes, about 12 s left', '["building_indexes",12,null]'),
  ],
  ['waiting for Kafka', { ...WAITING, waits_for: 'kafka' }, new Error('waiting for kafka')],
  [
    'halted',
    { ...WAITING, status: 'halted', waits_for: null, message: 'A record is poison.' },
    new Halted('A record is poison.'),
  ],
])('a service is probed by its status: %s', async (_, status, expected) => {
  const port = await statusServer(status);
  const outcome = await serviceIsReady(`http://127.0.0.1:${port}`, defaultPorts).catch(
    (error: unknown) => error,
  );
  expect(outcome).toEqual(expected);
  expect(outcome?.constructor).toBe(expected.constructor);
});

test.each(['working', 'ready'])(
  'a service that waits for a projection is probed by its projector: %s',
  async (projector) => {
    const waiting = { ...WAITING, waits_for: 'projection:explorer' };
    const url = `http://127.0.0.1:${await statusServer(waiting)}`;
    const projector_explorer = await statusServer({ ...LOADING, status: projector, eta_s: 3 });
    const ports = { ...defaultPorts, projector_explorer };
    const outcome = await serviceIsReady(url, ports).catch((error: unknown) => error);
    expect(outcome).toMatchObject({ message: 'waiting for projection:explorer' });
    expect(outcome instanceof Working).toBe(projector === 'working');
  },
);

function ownFolder(): Folder {
  const folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-settings-')));
  mkdirSync(folder.data);
  onTestFinished(() => rmSync(folder.root, { recursive: true }));
  return folder;
}

const KEYS = [
  'APP_MINT_KEY',
  'APP_DEPOSIT_XPUB',
  'APP_CUSTODY_ADDRESSES',
  'APP_DEVNET_SEED',
] as const;

test('a mainnet stack has its own keys, stored with its data', async () => {
  const folder = ownFolder();
  const mainnet = await folderSettings({ APP_NETWORK: 'mainnet' }, folder);
  for (const name of KEYS) expect(mainnet[name], name).not.toBe(defaultSettings[name]);
  expect(mainnet.APP_USDT_CONTRACT).toBe('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');
  expect(mainnet.APP_JWT_SECRET).toMatch(/^[0-9a-f]{64}$/);
  expect(await folderSettings({ APP_NETWORK: 'mainnet' }, folder)).toEqual(mainnet);
  const other = await folderSettings({ APP_NETWORK: 'mainnet' }, ownFolder());
  expect(other.APP_MINT_KEY).not.toBe(mainnet.APP_MINT_KEY);
});

test('the keys that the user sets are used on the mainnet too', async () => {
  const chosen = {
    APP_MINT_KEY: '1',
    APP_DEPOSIT_XPUB: '2',
    APP_CUSTODY_ADDRESSES: '3',
    APP_DEVNET_SEED: '4',
    APP_USDT_CONTRACT: '5',
  };
  const env = { APP_NETWORK: 'mainnet', ...chosen };
  expect(await folderSettings(env, ownFolder())).toMatchObject(chosen);
});

test('the mint key of the treasury is the one of the devnet, with any seed', async () => {
  const folder = ownFolder();
  const plain = await folderSettings({}, folder);
  const { APP_JWT_SECRET, APP_OPERATORS, APP_OPERATOR_KEY } = plain;
  const own = { APP_JWT_SECRET, APP_OPERATORS, APP_OPERATOR_KEY };
  expect(plain).toEqual({ ...defaultSettings, ...own });
  expect(toHex(authorityOf(plain.APP_MINT_KEY))).toBe(DEVELOPMENT_MINT_AUTHORITY);
  for (const seed of ['clt-devnet', 'another']) {
    const { APP_MINT_KEY: key } = await folderSettings({ APP_DEVNET_SEED: seed }, folder);
    expect(toHex(authorityOf(key))).toBe(mintAuthorityKey(seed).address);
  }
});

test('the operator of a stack has a key of its folder, unless the user names others', async () => {
  const folder = ownFolder();
  const { APP_OPERATORS: own, APP_OPERATOR_KEY: key } = await folderSettings({}, folder);
  expect(own).toBe(computeAddress(key).toLowerCase());
  expect(own).not.toBe(DEVELOPMENT_OPERATOR);
  expect(await folderSettings({}, folder)).toMatchObject({ APP_OPERATOR_KEY: key });
  expect((await folderSettings({}, ownFolder())).APP_OPERATORS).not.toBe(own);

  const others = { APP_OPERATORS: `0x${'1'.repeat(40)},0x${'2'.repeat(40)}` };
  expect(await folderSettings(others, folder)).toMatchObject({ ...others, APP_OPERATOR_KEY: '' });
  const given = { APP_OPERATOR_KEY: defaultSettings.APP_OPERATOR_KEY };
  expect(await folderSettings(given, folder)).toMatchObject({
    ...given,
    APP_OPERATORS: DEVELOPMENT_OPERATOR,
  });
});

test('the key of the default operator is the one of its address', () => {
  expect(computeAddress(DEVELOPMENT_OPERATOR_KEY).toLowerCase()).toBe(DEVELOPMENT_OPERATOR);
});
