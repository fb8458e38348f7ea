/** Programs of the operating system that tests use. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { HANG_MS } from './limits.ts';

/**
 * The path of the first of these programs that is found. Where there is none, root installs the
 * package of Debian or Ubuntu, as in a container; undefined when that fails too.
 */
export async function systemProgram(
  names: readonly string[],
  debianPackage: string,
): Promise<string | undefined> {
  const found = find(names);
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0) return undefined;
  const options = {
    timeout: HANG_MS,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  };
  const install = `apt-get update && apt-get install --yes --no-install-recommends ${debianPackage}`;
  // test files that run beside each other want different packages
  const lock = path.join(tmpdir(), 'clt-test-apt.lock');
  // without apt, a network or the package the test says that it is skipped
  await promisify(execFile)('flock', [lock, 'sh', '-c', install], options).catch(() => undefined);
  return find(names);
}

function find(names: readonly string[]): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin'];
  return folders
    .flatMap((folder) => names.map((name) => path.resolve(folder, name)))
    .find((program) => existsSync(program));
}
