/** The packages and files of the image, against those that containers load. */
import { dirname, isAbsolute, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';
import { checkout } from '../../infra/local/stack/folder.ts';
import { parseCompose, textOf } from '../support/compose.ts';

/** Loaded by other means than an import of their name. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'graphql-subscriptions': 'graphql-redis-subscriptions imports it, as its peer',
  'swagger-ui-dist': 'document-routes.ts reads its files',
  '@fontsource/inter': 'painter-worker.ts reads its files',
};

interface Packages {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const packages: Packages = JSON.parse(textOf('package.json'));

/** The programs that containers run. */
function programs(): readonly string[] {
  const { services } = parseCompose(textOf('docker-compose.yml'));
  const words = Object.values(services).flatMap(({ entrypoint = [], command = [] }) =>
    entrypoint.concat(command),
  );
  return [...new Set(words.filter((word) => word.endsWith('.ts')))];
}

interface Loaded {
  /** packages that are imported, but for types */
  readonly packages: readonly string[];
  /** files of this checkout */
  readonly files: readonly string[];
}

/** The threads that a file starts. */
function threadsOf(file: string): readonly string[] {
  if (!/\.tsx?$/.test(file)) return [];
  const starts = textOf(file).matchAll(/new Worker\(new URL\('([^']+)'/g);
  return [...starts].map(([, path = '']) => join(dirname(file), path));
}

/** The packages and files that these files load, also in threads. */
async function loadedBy(files: readonly string[]): Promise<Loaded> {
  const bundle = await rolldown({
    input: files.map((file) => join(checkout, file)),
    cwd: checkout,
    platform: 'node',
    external: /^[^./]/,
    moduleTypes: { '.css': 'empty', '.svg': 'empty' },
    treeshake: false,
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'esm' });
  await bundle.close();
  const chunks = output.filter((each) => each.type === 'chunk');
  const names = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const own = new Set(output.map(({ fileName }) => fileName));
  const loaded = {
    packages: names
      .filter((name) => !name.startsWith('node:') && !own.has(name))
      .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')),
    files: chunks
      .flatMap(({ moduleIds }) => moduleIds)
      .filter((id) => isAbsolute(id))
      .map((id) => relative(checkout, id)),
  };
  const threads = loaded.files.flatMap(threadsOf).filter((thread) => !files.includes(thread));
  return threads.length === 0 ? loaded : loadedBy([...files, ...threads]);
}

/** Whether `.dockerignore` lets a file into the build: the last line that names it decides. */
function isSent(file: string): boolean {
  const naming = textOf('.dockerignore')
    .trim()
    .split('\n')
    .filter((line) => {
      const path = line.replace(/^!/, '');
      return path === '*' || file === path || file.startsWith(`${path}/`);
    });
  return naming.at(-1)?.startsWith('!') === true;
}

/** Whether a stage of the Dockerfile, by its number, copies a file of the checkout. */
function isCopied(stage: number, file: string): boolean {
  const stages = textOf('infra/Dockerfile').split(/^FROM /m);
  const lines = stages[stage]?.split('\n') ?? [];
  const sources = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
  const removed = lines.flatMap((line) => /^RUN rm -r (\S+)$/.exec(line)?.[1] ?? []);
  const isIn = (folder: string): boolean => file === folder || file.startsWith(`${folder}/`);
  return sources.some(isIn) && !removed.some(isIn);
}

test('the image installs the packages that a container loads, and no other', async () => {
  const files = programs();
  expect(files).toEqual(expect.arrayContaining(['services/ops/main.ts', 'infra/devnet/main.ts']));
  const loaded = new Set([...(await loadedBy(files)).packages, ...Object.keys(OTHERWISE)]);
  for (const name of Object.keys(packages.optionalDependencies)) loaded.delete(name);
  expect([...loaded].toSorted()).toEqual(Object.keys(packages.dependencies).toSorted());
});

test.each([
  [
    'that builds the console',
    1,
    ['main.tsx', 'operations/main.tsx'].map((file) => `services/console/src/${file}`),
  ],
  ['of the services', 2, programs()],
])('the stage %s has each file that it loads', async (_stage, stage, entries) => {
  const { files } = await loadedBy(entries);
  expect(files.length).toBeGreaterThan(entries.length);
  expect(files.filter((file) => !isSent(file) || !isCopied(stage, file))).toEqual([]);
});

test('the labels of the image have the version of the project', () => {
  expect(textOf('infra/Dockerfile')).toContain(
    `org.opencontainers.image.version="${packages.version}"`,
  );
});
