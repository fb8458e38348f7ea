import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findJava, javaMajor } from '../../../../infra/local/fetch/java.ts';

const never = new AbortController().signal;

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['openjdk version "25" 2025-09-16 LTS', 25],
  ['java version "1.8.0_292"', 8],
  ['The operation couldn’t be completed. Unable to locate a Java Runtime.', undefined],
])('%s is Java %s', (printed, major) => {
  expect(javaMajor(printed)).toBe(major);
});

/** A PATH with these shell scripts as its only programs. */
function machineWith(programs: Readonly<Record<string, string>>): {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
} {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-java-'));
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { folder, env: { PATH: folder } };
}

test('without Java the error says what to install', async () => {
  const { folder, env } = machineWith({});
  try {
    const found = findJava(env, never);
    await expect(found).rejects.toThrow(
      /Java 17 or newer; there is none[^]*apt-get install[^]*brew install[^]*JAVA_HOME/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the error names a Java that is too old', async () => {
  const { folder, env } = machineWith({ java: `echo 'openjdk version "11.0.2"' >&2` });
  try {
    await expect(findJava(env, never)).rejects.toThrow('java is version 11');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('JAVA_HOME comes before the PATH, unless its Java is missing or too old', async () => {
  const { folder, env } = machineWith({ java: `echo 'openjdk version "21.0.2"' >&2` });
  const find = (home: string): Promise<string> => findJava({ ...env, JAVA_HOME: home }, never);
  const bin = join(folder, 'jdk', 'bin');
  try {
    expect(await find('')).toBe('java');
    expect(await find(join(folder, 'jdk'))).toBe('java');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'java'), `#!/bin/sh\necho 'openjdk version "17.0.1"' >&2\n`, {
      mode: 0o755,
    });
    expect(await find(join(folder, 'jdk'))).toBe(join(bin, 'java'));
    writeFileSync(join(bin, 'java'), `#!/bin/sh\necho 'java version "1.8.0_1"' >&2\n`);
    expect(await find(join(folder, 'jdk'))).toBe('java');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
