/** Holds docs/configuration.md equal to the settings; the meaning of each stands there alone. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { STATUS_LIMITS, STATUS_SERVICES } from '../../services/ops/config.ts';
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
  for (const setting of [STATUS_SERVICES, ...Object.values(STATUS_LIMITS)])
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

test('docs/configuration.md has every setting with its services, default and secrecy', () => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| `APP_'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  const documented = new Map(
    rows.map(([, name = '', services = '', , fallback = '', secrecy = '']) => [
      name,
      [services, fallback, secrecy],
    ]),
  );
  expect(documented).toEqual(declared());
  expect(rows).toHaveLength(documented.size);
  expect(rows.filter(([, , , meaning]) => meaning === '')).toEqual([]);
});

test('docs/operations/secrets.md says of every secret setting what it is worth', () => {
  const page = readFileSync(new URL('../../docs/operations/secrets.md', import.meta.url), 'utf8');
  const secrets = [...declared()].flatMap(([name, [, , secrecy]]) =>
    secrecy === 'secret' ? [name] : [],
  );
  expect(secrets.length).toBeGreaterThan(5);
  expect(secrets.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
