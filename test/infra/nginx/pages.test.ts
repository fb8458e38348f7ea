import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { checkout } from '../../../infra/local/stack/folder.ts';
import { openConsole } from '../../../services/explorer-gateway/console.ts';

const CONF = readFileSync(join(checkout, 'infra/nginx/gateways.conf'), 'utf8');

test('nginx passes on every address of the console', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-console-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'assets/main.js'), '');
  writeFileSync(join(folder, 'index.html'), '<title>CLT console</title>');
  const reader = { rows: () => Promise.resolve([]) };
  const tiles = join(folder, 'city.pmtiles');
  writeFileSync(tiles, '');
  const opened = openConsole({
    folder: pathToFileURL(`${folder}/`),
    config: { console_tiles_url: tiles },
    reader,
  });
  const paths = opened?.routes.map(({ path }) => path.replace(/:\w+$/, '12')) ?? [];
  const passed = [...CONF.matchAll(/location ~ (\S+) \{\s+proxy_pass http:\/\/explorer;/g)].map(
    ([, pattern = '']) => new RegExp(pattern),
  );
  expect(paths).toContain('/market/trips/12');
  expect(paths.filter((path) => !passed.some((pattern) => pattern.test(path)))).toEqual([]);
});
