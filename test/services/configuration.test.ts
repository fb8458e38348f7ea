/** Holds docs/configuration.md equal to the settings; the meaning of each stands there alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../infra/devnet/config.ts';
import { OFFSET, OFFSET_DEFAULT } from '../../infra/local/cluster/ports.ts';
import { defaultPorts, portNames, portVariable } from '../../infra/services/ports.ts';
import { STATUS_LIMITS, STATUS_SERVICES } from '../../services/ops/config.ts';
import { CONSOLE_SETTINGS } from '../../services/ops/console/console.ts';
import { KEY } from '../../services/ops/governance/operator-key.ts';
import { SERVICES } from '../../services/ops/local/settings.ts';
import type { Setting } from '../../services/runtime/process/config.ts';

function defaultOf(setting: Setting<unknown>): string {
  if (!('fallback' in setting)) return 'required';
  const { fallback } = setting;
  if (fallback === undefined || fallback === null || Array.isArray(fallback)) return '';
  return typeof fallback === 'bigint'
    ? fallback.toString()
    : JSON.stringify(fallback).replaceAll('"', '');
}

/** By variable: the services that read it, the default, and whether it is a secret. */
function declared(): ReadonlyMap<string, readonly string[]> {
  const rows = new Map<string, { services: string[]; setting: Setting<unknown> }>();
  for (const [service, settings] of Object.entries(SERVICES)) {
    for (const setting of Object.values(settings)) {
      const row = rows.get(setting.name) ?? { services: [], setting };
      row.services.push(service);
      rows.set(setting.name, row);
    }
  }
  const all = Object.keys(SERVICES).length;
  const { prometheus_url: prometheus } = CONSOLE_SETTINGS;
  for (const setting of [STATUS_SERVICES, ...Object.values(STATUS_LIMITS), KEY, prometheus])
    rows.set(setting.name, { services: ['ops'], setting });
  return new Map(
    [...rows].map(([name, { services, setting }]) => [
      name,
      [
        services.length === all ? 'all' : services.join(', '),
        defaultOf(setting),
        setting.secret ? 'secret' : '',
      ],
    ]),
  );
}

const ROOT = join(import.meta.dirname, '../..');
const STACK_READS = ['infra/local', 'infra/devnet', 'infra/services', 'services'];
/** The stack makes the values, for a program of its own; and one that compose alone reads. */
const OF_OTHERS = /^APP_(?:PROXY_|SECRETS_DIR$)/;

/** Variables that the code of the stack, the devnet, the services or `ops` names. */
function named(): ReadonlySet<string> {
  const files = STACK_READS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
      .map((file) => join(ROOT, folder, file)),
  );
  const names = files.flatMap((file) => readFileSync(file, 'utf8').match(VARIABLE) ?? []);
  return new Set([...names, ...portNames.map(portVariable)]);
}

const VARIABLE = /\bAPP_[A-Z0-9]+(?:_[A-Z0-9]+)*\b/g;

const rows = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `APP_'))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
const documented = new Map(
  rows.map(([, name = '', services = '', , fallback = '', secrecy = '']) => [
    name,
    [services, fallback, secrecy],
  ]),
);

test('docs/configuration.md has every setting with its services, default and secrecy', () => {
  const settings = declared();
  expect(new Map([...documented].filter(([name]) => settings.has(name)))).toEqual(settings);
  expect(rows).toHaveLength(documented.size);
  expect(rows.filter(([, , , meaning]) => meaning === '')).toEqual([]);
});

test('docs/configuration.md has every variable that the code names, and no other', () => {
  const read = [...named()].filter((name) => !OF_OTHERS.test(name));
  expect(read.filter((name) => !documented.has(name.replace(/_FILE$/, '')))).toEqual([]);
  const known = new Set([...read, ...declared().keys()]);
  expect([...documented.keys()].filter((name) => !known.has(name))).toEqual([]);
});

test('docs/configuration.md has the ports of the stack and the defaults of the devnet', () => {
  const defaults = portNames.map((name) => [portVariable(name), String(defaultPorts[name])]);
  for (const [name = '', port] of [...defaults, [OFFSET, String(OFFSET_DEFAULT)]])
    expect(documented.get(name)).toEqual(['local stack', port, '']);
  const required = { APP_DEVNET_DIR: '/data', APP_DEVNET_SEED: 'seed' };
  const written = [...documented]
    .filter(([name, [services]]) => services === 'devnet' && !(name in required))
    .map(([name, [, fallback]]) => [name, fallback]);
  expect(written.length).toBeGreaterThan(5);
  expect(readConfig({ ...required, ...Object.fromEntries(written) })).toEqual(readConfig(required));
});

test('docs/operations/secrets.md says of every secret setting what it is worth', () => {
  const page = readFileSync(new URL('../../docs/operations/secrets.md', import.meta.url), 'utf8');
  const secrets = [...declared()].flatMap(([name, [, , secrecy]]) =>
    secrecy === 'secret' ? [name] : [],
  );
  expect(secrets.length).toBeGreaterThan(5);
  expect(secrets.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
