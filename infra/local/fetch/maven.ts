import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from '../cli/report.ts';
import { StackFault } from '../process/fault.ts';
import { runProgram } from '../process/run-program.ts';

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
  what: string,
  args: readonly string[],
  { java, env, report, signal }: MavenOptions,
): Promise<void> {
  const home = /^(.*)\/bin\/java$/.exec(java)?.[1];
  const { end, output } = await runProgram('mvn', ['--strict-checksums', ...args], {
    signal,
    env: home === undefined ? env : { ...env, JAVA_HOME: home },
    onOutput(text) {
      const last = [...text.matchAll(/Progress \(\d+\): ([^\r\n]+)/g)].at(-1)?.[1];
      if (last !== undefined) report.now(`fetching ${what}: ${last.trim()}`);
    },
  });
  if (end === 'missing') throw new StackFault(ADVICE);
  if (end === 'done') return;
  const errors = output.split(/[\r\n]+/).filter((line) => /ERROR(?!.*\[Help)/.test(line));
  const shown = errors.slice(0, 6).map((line) => `\n  | ${line}`);
  throw new StackFault(
    `fetching ${what} failed; check the network. Maven printed:${shown.join('')}`,
  );
}

/** Puts one file of an artifact (group:artifact:version[:type[:classifier]]) into `target`. */
export async function fetchArtifact(
  artifact: string,
  target: string,
  what: string,
  options: MavenOptions,
): Promise<void> {
  const args = [`${PLUGIN}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${target}`];
  await maven(what, args, options);
}

/** Puts artifacts (group:artifact:version) and their run-time dependencies into `target`. */
export async function fetchLibraries(
  artifacts: readonly string[],
  target: string,
  what: string,
  options: MavenOptions,
): Promise<void> {
  const dependencies = artifacts
    .map((artifact) => artifact.split(':'))
    .map(
      ([group, name, version]) =>
        `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`,
    );
  const project = join(target, 'project');
  mkdirSync(project);
  const pom = join(project, 'pom.xml');
  writeFileSync(
    pom,
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>servers</artifactId><version>1</version>
<dependencies>${dependencies.join('\n')}</dependencies></project>\n`,
  );
  const scope = ['-DincludeScope=runtime', `-DoutputDirectory=${target}`];
  await maven(what, ['-f', pom, `${PLUGIN}:copy-dependencies`, ...scope], options);
  rmSync(project, { recursive: true });
}
