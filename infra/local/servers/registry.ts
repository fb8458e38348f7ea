import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Programs } from '../fetch/programs.ts';
import { registry_version } from '../fetch/versions.ts';
import { plainEnvironment, runProgram } from '../process/run-program.ts';
import type { ServerSpec } from '../process/server.ts';
import { checkout, type Folder } from '../stack/folder.ts';

/** The image runs the same program: this version's H2 database, with a file in place of memory. */
export const registry_image = `apicurio/apicurio-registry-mem:${registry_version}`;
/** A registry has few requests, so a quick start matters more than speed. */
export const registryJava: readonly string[] = [
  '-Xmx256m',
  '-XX:TieredStopAtLevel=1',
  // a slow machine opens the database in more than the default of 5 s, and the registry ends
  '-Dquarkus.datasource.jdbc.acquisition-timeout=600',
];
/** For comparing its schemas with the log, in seconds. */
const COMPARE_S = '60';
export const registry_path = '/apis/ccompat/v7';

/** The file of the registry's database. */
export function registryFile(data: string): string {
  return join(data, 'registry', 'registry.mv.db');
}

/** Without WRITE_DELAY=0 a kill loses schema ids, which are then assigned again. */
export function registryDatabase(file: string): string {
  return `jdbc:h2:file:${file};WRITE_DELAY=0`;
}

/** Whether a registry on this port of 127.0.0.1 lists its subjects. */
export async function registryAnswers(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}${registry_path}/subjects`, {
    signal: AbortSignal.timeout(2_000),
  });
  await response.arrayBuffer();
  return response.status === 200;
}

/** The schema registry: Apicurio, with Confluent's API. */
export function registryServer(folder: Folder, programs: Programs, port: number): ServerSpec {
  const data = join(folder.data, 'registry');
  const args = [
    ...registryJava,
    ...programs.classArchive('registry'),
    '-XX:-UsePerfData',
    `-Djava.io.tmpdir=${folder.scratch}`,
    `-Dquarkus.http.port=${port}`,
    '-Dquarkus.http.host=127.0.0.1',
    '-jar',
    programs.registry_jar,
  ];
  const env = { REGISTRY_DATASOURCE_URL: registryDatabase(join(data, 'registry')) };
  return {
    name: 'registry',
    ports: [port],
    prepare() {
      mkdirSync(data, { recursive: true });
      return Promise.resolve({ file: programs.java, args, env: plainEnvironment(env), cwd: data });
    },
    isReady: () => registryAnswers(port),
    lacks: (signal) => lostSchemas(folder, signal),
  };
}

/** Asks the operator's command whether the registry has the schemas of the log. */
async function lostSchemas(folder: Folder, signal: AbortSignal): Promise<string | undefined> {
  const ops = join(checkout, 'services/ops/ops');
  const words = ['registry', 'check', '--stack', folder.stack_file, '--timeout', COMPARE_S];
  const { end, output } = await runProgram(ops, words, { signal, env: plainEnvironment() });
  return end === 'done' ? undefined : output.trimEnd().split('\n').at(-1);
}
