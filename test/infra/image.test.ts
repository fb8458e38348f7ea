/** The packages that `npm ci --omit=dev` installs, against those that containers load. */
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';
import { clusterFile } from '../../infra/cluster/compose.ts';
import { checkout } from '../../infra/local/stack/folder.ts';
import { parseCompose, textOf } from '../support/compose.ts';

/** Loaded by other means than an import of their name. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'graphql-subscriptions': 'graphql-redis-subscriptions imports it, as its peer',
  'swagger-ui-dist': 'document-routes.ts reads its files',
};

interface Packages {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const packages: Packages = JSON.parse(textOf('package.json'));

/** The programs that containers of both compose files run. */
function programs(): readonly string[] {
  const files = [parseCompose(textOf('docker-compose.yml')), parseCompose(clusterFile())];
  const words = files
    .flatMap(({ services }) => Object.values(services))
    .flatMap(({ entrypoint = [], command = [] }) => entrypoint.concat(command));
  return [...new Set(words.filter((word) => word.endsWith('.ts')))];
}

/** The packages that these programs and the files that they load import, but for types. */
async function imported(files: readonly string[]): Promise<readonly string[]> {
  const bundle = await rolldown({
    input: files.map((file) => join(checkout, file)),
    cwd: checkout,
    platform: 'node',
    external: /^[^./]/,
    treeshake: false,
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'esm' });
  await bundle.close();
  const names = output.flatMap((chunk) =>
    chunk.type === 'chunk' ? [...chunk.imports, ...chunk.dynamicImports] : [],
  );
  const own = new Set(output.map(({ fileName }) => fileName));
  return names
    .filter((name) => !name.startsWith('node:') && !own.has(name))
    .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
}

test('the image installs the packages that a container loads, and no other', async () => {
  const files = programs();
  expect(files).toEqual(
    expect.arrayContaining(['services/ops/main.ts', 'infra/cluster/prepare.ts']),
  );
  const loaded = new Set([...(await imported(files)), ...Object.keys(OTHERWISE)]);
  for (const name of Object.keys(packages.optionalDependencies)) loaded.delete(name);
  expect([...loaded].toSorted()).toEqual(Object.keys(packages.dependencies).toSorted());
});
