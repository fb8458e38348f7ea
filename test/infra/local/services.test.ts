import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { localAddresses } from '../../../infra/local/addresses.ts';
import { checkout } from '../../../infra/local/folder.ts';
import { defaultPorts, portNames } from '../../../infra/local/ports.ts';
import { defaultCommon, ownSettings, readCommon, serviceCommand, services } from '../../../infra/local/services.ts';

const place = { http_host: '127.0.0.1', ports: defaultPorts, data: '/data' };
const at = localAddresses(defaultPorts);

test.each(services)('$name is a program of this checkout with ports of the table', (spec) => {
  expect(existsSync(join(checkout, spec.entry))).toBe(true);
  expect(spec.ports.every((port) => portNames.includes(port))).toBe(true);
});

test.each(services)('$name is run by this very Node, and told only what it is meant to know', (spec) => {
  const command = serviceCommand(spec, defaultCommon, at, place, {});
  expect(command.file).toBe(process.execPath);
  const known = Object.keys(command.env).filter((name) => !name.startsWith('APP_'));
  expect(known.toSorted()).toEqual(['HOME', 'LC_ALL', 'PATH', 'TZ']);
});

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
  const told = services.filter((spec) => 'APP_JWT_SECRET' in serviceCommand(spec, common, at, place, own).env);
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
  expect(own).toEqual({ APP_RATE_PER_SECOND: '7', APP_HTTP_PORT: '1', APP_STATEMENT_TIMEOUT_MS: '50' });
  const gateway = services.find(({ name }) => name === 'explorer-gateway');
  if (gateway === undefined) throw new Error('there is no explorer-gateway');
  const given = serviceCommand(gateway, readCommon({ APP_NETWORK: 'mainnet' }), at, place, own).env;
  expect(given).toMatchObject({ APP_RATE_PER_SECOND: '7', APP_HTTP_PORT: '17003', APP_STATEMENT_TIMEOUT_MS: '50', APP_NETWORK: 'mainnet' });
  expect(serviceCommand(gateway, defaultCommon, at, place, own, { APP_HTTP_PORT: '3' }).env['APP_HTTP_PORT']).toBe('3');
});
