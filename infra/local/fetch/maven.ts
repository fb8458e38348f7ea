import { resolve } from 'node:path';
import type { Report } from '../cli/report.ts';
import { runProgram, StackFault } from '../process/run-program.ts';

const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:2.8';

const ADVICE = `Maven fetches the servers once, and there is no mvn on the PATH. One of these helps:
  Debian, Ubuntu:  apt-get install maven
  macOS:           brew install maven`;

export interface MavenOptions {
  readonly java: string;
  readonly env: NodeJS.ProcessEnv;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** Runs Maven and reports its progress. Throws a StackFault with Maven's own errors. */
async function maven(
  artifact: string,
  args: readonly string[],
  { java, env, report, signal }: MavenOptions,
): Promise<void> {
  const home = /^(.*)\/bin\/java$/.exec(java)?.[1];
  const { end, output } = await runProgram('mvn', ['--strict-checksums', ...args], {
    signal,
    env: home === undefined ? env : { ...env, JAVA_HOME: home },
    onOutput(text) {
      const last = [...text.matchAll(/Progress \(\d+\): ([^\r\n]+)/g)].at(-1)?.[1];
      if (last !== undefined) report.now(`fetching ${artifact}: ${last.trim()}`);
    },
  });
  if (end === 'missing') throw new StackFault(ADVICE);
  if (end === 'done') return;
  const errors = output.split(/[\r\n]+/).filter((line) => /ERROR(?!.*\[Help)/.test(line));
  const shown = errors.slice(0, 6).map((line) => `\n  | ${line}`);
  throw new StackFault(
    `fetching ${artifact} failed; check the network. Maven printed:${shown.join('')}`,
  );
}

/** Puts one file of an artifact (group:artifact:version[:type[:classifier]]) into `target`. */
export async function fetchArtifact(
  artifact: string,
  target: string,
  options: MavenOptions,
): Promise<void> {
  const where = `-DoutputDirectory=${target}`;
  await maven(artifact, [`${PLUGIN}:copy`, `-Dartifact=${artifact}`, where], options);
}

/** Puts the run-time dependencies of a pom.xml, named by its path from here, into `target`. */
export async function fetchLibraries(
  pom: string,
  properties: Readonly<Record<string, string>>,
  target: string,
  options: MavenOptions,
): Promise<void> {
  const given = Object.entries(properties).map(([name, value]) => `-D${name}=${value}`);
  const args = ['-f', resolve(import.meta.dirname, pom), `${PLUGIN}:copy-dependencies`, ...given];
  await maven(pom, [...args, '-DincludeScope=runtime', `-DoutputDirectory=${target}`], options);
}
