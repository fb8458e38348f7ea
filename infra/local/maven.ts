import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StackFault } from './fault.ts';
import type { Report } from './report.ts';
import { run } from './subprocess.ts';

const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:2.8';

const advice = [
  'Maven fetches the servers once, and there is no mvn on the PATH. One of these helps:',
  '  Debian, Ubuntu:  apt-get install maven',
  '  macOS:           brew install maven',
].join('\n');

/** What a fetch by Maven needs. */
export interface MavenRun {
  readonly java: string;
  readonly env: NodeJS.ProcessEnv;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** Runs Maven and shows its progress. Throws a StackFault with Maven's own errors. */
async function maven(
  what: string,
  args: readonly string[],
  { java, env, report, signal }: MavenRun,
): Promise<void> {
  const home = /^(.*)\/bin\/java$/.exec(java)?.[1];
  const watch = (text: string): void => {
    const last = [...text.matchAll(/Progress \(\d+\): ([^\r\n]+)/g)].at(-1)?.[1];
    if (last !== undefined) report.now(`fetching ${what}: ${last.trim()}`);
  };
  const outcome = await run('mvn', ['--strict-checksums', ...args], {
    signal,
    env: home === undefined ? env : { ...env, JAVA_HOME: home },
    watch,
  });
  if (outcome.missing) throw new StackFault(advice);
  if (outcome.code === 0) return;
  const errors = outcome.output
    .split(/[\r\n]+/)
    .filter((line) => line.includes('ERROR') && !line.includes('[Help'));
  const lines = errors.slice(0, 6).map((line) => `  | ${line}`);
  throw new StackFault(
    [`fetching ${what} failed; is the network there? Maven says:`, ...lines].join('\n'),
  );
}

/** One file of an artifact (group:artifact:version[:type[:classifier]]), without what it depends on, into `target`. */
export async function fetchArtifact(
  artifact: string,
  target: string,
  what: string,
  by: MavenRun,
): Promise<void> {
  await maven(
    what,
    [`${PLUGIN}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${target}`],
    by,
  );
}

/** Artifacts (group:artifact:version) and all that they need at run time, into `target`. */
export async function fetchLibraries(
  artifacts: readonly string[],
  target: string,
  what: string,
  by: MavenRun,
): Promise<void> {
  const dependencies = artifacts.map((artifact) => {
    const [group, name, version] = artifact.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`;
  });
  const project = join(target, 'project');
  mkdirSync(project);
  const pom = join(project, 'pom.xml');
  writeFileSync(
    pom,
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>servers</artifactId><version>1</version>
<dependencies>${dependencies.join('\n')}</dependencies></project>\n`,
  );
  await maven(
    what,
    [
      '-f',
      pom,
      `${PLUGIN}:copy-dependencies`,
      '-DincludeScope=runtime',
      `-DoutputDirectory=${target}`,
    ],
    by,
  );
  rmSync(project, { recursive: true });
}
