import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { plainEnvironment } from './child.ts';
import { archiveOption } from './class-archives.ts';
import type { Folder } from './folder.ts';
import type { Programs } from './programs.ts';
import type { ServerSpec } from './server.ts';
import { registry_version } from './versions.ts';

/** A registry is asked seldom: quick to start matters more than fast. */
export const registryJava: readonly string[] = ['-Xmx256m', '-XX:TieredStopAtLevel=1'];
export const registry_path = '/apis/ccompat/v7';

/** The registry's database: a file. Without WRITE_DELAY=0 schema ids are lost, and given out again, after a kill. */
export function registryDatabase(file: string): string {
  return `jdbc:h2:file:${file};WRITE_DELAY=0`;
}

/** Whether a registry on this port of 127.0.0.1 answers a question about its schemas. */
export async function registryAnswers(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}${registry_path}/subjects`, {
    signal: AbortSignal.timeout(2_000),
  });
  await answer.arrayBuffer();
  return answer.status === 200;
}

/** The schema registry (Apicurio, which speaks Confluent's API). `java_options` besides those that every registry has. */
export function registryServer(
  folder: Folder,
  programs: Programs,
  port: number,
  java_options: readonly string[] = [],
): ServerSpec {
  const data = join(folder.data, 'registry');
  return {
    name: 'registry',
    version: registry_version,
    ports: [port],
    stop_signal: 'SIGTERM',
    prepare() {
      mkdirSync(data, { recursive: true });
      return Promise.resolve({
        file: programs.java,
        args: [
          ...registryJava,
          ...archiveOption(programs.class_archives, 'registry'),
          ...java_options,
          '-XX:-UsePerfData',
          `-Djava.io.tmpdir=${folder.scratch}`,
          `-Dquarkus.http.port=${port}`,
          '-Dquarkus.http.host=127.0.0.1',
          '-jar',
          programs.registry_jar,
        ],
        env: plainEnvironment({
          REGISTRY_DATASOURCE_URL: registryDatabase(join(data, 'registry')),
        }),
        cwd: data,
      });
    },
    answers: () => registryAnswers(port),
  };
}
