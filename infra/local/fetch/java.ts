import { join } from 'node:path';
import { runProgram, StackFault } from '../process/run-program.ts';

const JAVA_MAJOR_MIN = 17;
/** where Homebrew installs a Java that is not on the PATH */
const HOMEBREW = ['/opt/homebrew/opt/openjdk/bin/java', '/usr/local/opt/openjdk/bin/java'];

const ADVICE = `One of these helps:
  Debian, Ubuntu:  apt-get install openjdk-17-jre-headless
  macOS:           brew install openjdk
  elsewhere:       install any Java and set JAVA_HOME to its folder`;

/** The major version in the output of `java -version` ("1.8.0_292" is 8), or undefined. */
export function javaMajor(printed: string): number | undefined {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(printed) ?? [];
  return first === undefined ? undefined : Number(first === '1' ? second : first);
}

/**
 * The path of a Java that is new enough: from JAVA_HOME, else from the PATH. Throws a StackFault
 * that says what to install.
 */
export async function findJava(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string> {
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
  throw new StackFault(
    `Kafka and the schema registry need Java ${JAVA_MAJOR_MIN} or newer; ${found}. ${ADVICE}`,
  );
}
