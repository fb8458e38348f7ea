import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../../infra/local/stack/folder.ts';
import { parseCompose, textOf } from '../../support/compose.ts';

const FOLDER = 'infra/compose/stand-ins';
const { services } = parseCompose(textOf('docker-compose.yml'));

function imageOf(name: string): string {
  return services[name]?.image.replace(/@.*/, '') ?? '';
}

test('the page of stand-ins has a row for each image that they replace', () => {
  const folders = readdirSync(join(checkout, FOLDER), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const replaced = folders.map(imageOf).filter((image) => image !== '');
  const [base = ''] = /node:\S+/.exec(textOf('infra/Dockerfile')) ?? [];
  const rows = textOf(`${FOLDER}/README.md`).matchAll(/^\| `([^`]+)` \|/gm);
  expect(Array.from(rows, ([, image = '']) => image).toSorted()).toEqual(
    ['debian:bookworm-slim', base, ...replaced].toSorted(),
  );
});

test('where stand-ins are used, images are named without digests, and the version is the same', () => {
  const file = parseCompose(textOf(`${FOLDER}/compose.yml`));
  const pinned = Object.keys(services).filter((name) => services[name]?.image.includes('@'));
  expect(Object.keys(file.services).toSorted()).toEqual(['grafana', ...pinned].toSorted());
  for (const name of pinned) expect(file.services[name]?.image).toBe(imageOf(name));
});
