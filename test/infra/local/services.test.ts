import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mintAuthorityKey } from '../../../infra/devnet/clt/keys.ts';
import { localAddresses } from '../../../infra/local/addresses.ts';
import { commonOf, defaultCommon, ownSettings, readCommon } from '../../../infra/local/choices.ts';
import { checkout, folderAt, type Folder } from '../../../infra/local/folder.ts';
import { toHex } from '../../../schemas/address.ts';
import { DEVELOPMENT_MINT_AUTHORITY } from '../../../schemas/development.ts';
import { authorityOf } from '../../../services/treasury/minting/mint-signer.ts';
import { defaultPorts, portNames } from '../../../infra/local/ports.ts';
import { serviceCommand, services } from '../../../infra/local/services.ts';

const place = { http_host: '127.0.0.1', ports: defaultPorts, data: '/data' };
const at = localAddresses(defaultPorts);

test.each(services)('$name is a program of this checkout with ports of the table', (spec) => {
  expect(existsSync(join(checkout, spec.entry))).toBe(true);
  expect(spec.ports.every((port) => portNames.includes(port))).toBe(true);
});

test.each(services)(
  '$name is run by this very Node, and told only what it is meant to know',
  (spec) => {
    const command = serviceCommand(spec, defaultCommon, at, place, {});
    expect(command.file).toBe(process.execPath);
    const known = Object.keys(command.env).filter((name) => !name.startsWith('APP_'));
    const options = 'NODE_OPTIONS' in spec.defaults ? ['NODE_OPTIONS'] : [];
    expect(known.toSorted()).toEqual([
      'HOME',
      'LC_ALL',
      'NODE_COMPILE_CACHE',
      ...options,
      'PATH',
      'TZ',
    ]);
  },
);

test('the explorer’s gateway is not given the writer’s connection', () => {
  const gateway = services.find(({ name }) => name === 'explorer-gateway');
  if (gateway === undefined) throw new Error('there is no explorer-gateway');
  const text = JSON.stringify(serviceCommand(gateway, defaultCommon, at, place, {}).env);
  expect(text).toContain('clt_reader');
  expect(text).not.toContain('clt_writer');
});

test('the secret of tokens is told to the gateways of deposits and of the hub and to nobody who does not need it, also when a user sets it', () => {
  const own = ownSettings({ APP_JWT_SECRET: 'a secret of the user, 32 characters' });
  const common = readCommon({ APP_JWT_SECRET: 'a secret of the user, 32 characters' });
  const told = services.filter(
    (spec) => 'APP_JWT_SECRET' in serviceCommand(spec, common, at, place, own).env,
  );
  expect(told.map(({ name }) => name)).toEqual(['deposit-gateway', 'hub-gateway']);
  const gateway = told[0];
  if (gateway === undefined) throw new Error('there is no deposit-gateway');
  const { env } = serviceCommand(gateway, common, at, place, own);
  expect(env['APP_JWT_SECRET']).toBe('a secret of the user, 32 characters');
  expect(JSON.stringify(env)).not.toContain('clt_writer');
});

test('a user’s own settings reach the services, but cannot move what the stack decides; a test’s can', () => {
  const env = {
    APP_RATE_PER_SECOND: '7',
    APP_HTTP_PORT: '1',
    APP_STATEMENT_TIMEOUT_MS: '50',
    APP_LOCAL_DIR: '/x',
    APP_EXPLORER_PORT: '2',
    EDITOR: 'vi',
  };
  const own = ownSettings(env);
  expect(own).toEqual({
    APP_RATE_PER_SECOND: '7',
    APP_HTTP_PORT: '1',
    APP_STATEMENT_TIMEOUT_MS: '50',
  });
  const gateway = services.find(({ name }) => name === 'explorer-gateway');
  if (gateway === undefined) throw new Error('there is no explorer-gateway');
  const given = serviceCommand(gateway, readCommon({ APP_NETWORK: 'mainnet' }), at, place, own).env;
  expect(given).toMatchObject({
    APP_RATE_PER_SECOND: '7',
    APP_HTTP_PORT: '17003',
    APP_STATEMENT_TIMEOUT_MS: '50',
    APP_NETWORK: 'mainnet',
  });
  expect(
    serviceCommand(gateway, defaultCommon, at, place, own, { APP_HTTP_PORT: '3' }).env[
      'APP_HTTP_PORT'
    ],
  ).toBe('3');
});

function ownFolder(): Folder {
  const folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-choices-')));
  mkdirSync(folder.data);
  onTestFinished(() => rmSync(folder.root, { recursive: true }));
  return folder;
}

const KEYS = ['mint_key', 'deposit_xpub', 'custody_addresses', 'devnet_seed'] as const;

test('on the mainnet the stack has none of the keys that everybody knows, and keeps its own as long as the data', async () => {
  const folder = ownFolder();
  const mainnet = await commonOf({ APP_NETWORK: 'mainnet' }, folder);
  for (const name of KEYS) expect(mainnet[name], name).not.toBe(defaultCommon[name]);
  expect(mainnet.usdt_contract).toBe('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');
  expect(mainnet.jwt_secret).toMatch(/^[0-9a-f]{64}$/);
  expect(await commonOf({ APP_NETWORK: 'mainnet' }, folder)).toEqual(mainnet);
  expect((await commonOf({ APP_NETWORK: 'mainnet' }, ownFolder())).mint_key).not.toBe(
    mainnet.mint_key,
  );
  const chosen = {
    APP_MINT_KEY: '1',
    APP_DEPOSIT_XPUB: '2',
    APP_CUSTODY_ADDRESSES: '3',
    APP_DEVNET_SEED: '4',
    APP_USDT_CONTRACT: '5',
  };
  expect(await commonOf({ APP_NETWORK: 'mainnet', ...chosen }, folder)).toMatchObject({
    mint_key: '1',
    deposit_xpub: '2',
    usdt_contract: '5',
  });
});

test('the key of the treasury is that of the devnet, whatever its seed', async () => {
  const folder = ownFolder();
  const plain = await commonOf({}, folder);
  expect(plain).toEqual({ ...defaultCommon, jwt_secret: plain.jwt_secret });
  expect(toHex(authorityOf(plain.mint_key))).toBe(DEVELOPMENT_MINT_AUTHORITY);
  for (const seed of ['clt-devnet', 'another']) {
    const { mint_key: key } = await commonOf({ APP_DEVNET_SEED: seed }, folder);
    expect(toHex(authorityOf(key))).toBe(mintAuthorityKey(seed).address);
  }
});

test('the key of the mint authority is told to the treasury alone, and the seed of the devnet to the devnet, also when a user sets them', () => {
  const set = { APP_MINT_KEY: `0x${'1'.repeat(64)}`, APP_DEVNET_SEED: 'a seed of the user' };
  const told = (name: string): readonly string[] =>
    services
      .filter(
        (spec) => name in serviceCommand(spec, readCommon(set), at, place, ownSettings(set)).env,
      )
      .map((spec) => spec.name);
  expect([told('APP_MINT_KEY'), told('APP_DEVNET_SEED')]).toEqual([['treasury'], ['devnet']]);
});
