import {
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
} from 'testcontainers';
import {
  kafka_heap,
  kafka_image,
  kafkaPlace,
  kafkaSettings,
  kafkaVariable,
} from '../../infra/kafka/settings.ts';
import { kafkaAnswers } from '../../infra/local/servers/kafka.ts';
import type { Ports } from '../../infra/services/ports.ts';
import { postgresAnswers, settlePostgres } from '../../infra/postgres/databases.ts';
import { redis_image, redisAnswers, redisSettings } from '../../infra/local/servers/redis.ts';
import {
  registry_image,
  registryAnswers,
  registryDatabase,
  registryJava,
} from '../../infra/local/servers/registry.ts';
import type { ServerName } from '../../infra/local/servers/servers.ts';
import {
  initdbArguments,
  postgresArguments,
  postgres_image,
  superuser,
} from '../../infra/postgres/settings.ts';
import type { ServerHandle } from './server-handle.ts';
import { until } from './until.ts';

/** A server in a container on a fixed host port, behind the same handle as a local one. */
function containerServer(
  name: string,
  port: number,
  container: GenericContainer,
  answers: () => Promise<boolean>,
  settle?: () => Promise<void>,
): ServerHandle {
  let started: StartedTestContainer | undefined;
  return {
    name,
    port,
    pid: undefined,
    async start() {
      if (started === undefined) started = await container.start();
      else await (await getContainerRuntimeClient()).container.getById(started.getId()).start();
      await until(answers, `the container of ${name} to answer`);
      await settle?.();
    },
    async kill(signal = 'SIGKILL') {
      if (started === undefined) return;
      const running = (await getContainerRuntimeClient()).container.getById(started.getId());
      await running.kill({ signal });
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await running.wait();
    },
    async stop() {
      await started?.stop();
      started = undefined;
    },
  };
}

/**
 * The four servers as containers of the images and settings of docker-compose.yml; none is started
 * yet.
 */
export function containerServers(ports: Ports): Readonly<Record<ServerName, ServerHandle>> {
  const place = kafkaPlace({
    listeners: 'PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093',
    advertised_listeners: `PLAINTEXT://127.0.0.1:${ports.kafka}`,
    protocols: 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    controller: '127.0.0.1:9093',
    data: '/var/lib/kafka/data',
  });
  const kafka_variables = Object.entries({ ...kafkaSettings, ...place }).map(
    ([setting, value]) => [kafkaVariable(setting), value] as const,
  );
  const kafka = new GenericContainer(kafka_image)
    .withEnvironment({ ...Object.fromEntries(kafka_variables), KAFKA_HEAP_OPTS: kafka_heap })
    .withExposedPorts({ container: 9092, host: ports.kafka });
  const registry = new GenericContainer(registry_image)
    .withEnvironment({
      REGISTRY_DATASOURCE_URL: registryDatabase('/tmp/registry'),
      JAVA_OPTS_APPEND: registryJava.join(' '),
    })
    .withExposedPorts({ container: 8080, host: ports.registry });
  const postgres = new GenericContainer(postgres_image)
    .withEnvironment({
      POSTGRES_PASSWORD: superuser.password,
      POSTGRES_INITDB_ARGS: initdbArguments.join(' '),
    })
    .withCommand(['postgres', ...postgresArguments()])
    .withSharedMemorySize(256 * 1024 * 1024)
    .withExposedPorts({ container: 5432, host: ports.postgres });
  const redis = new GenericContainer(redis_image)
    .withCommand(['redis-server', ...redisSettings])
    .withExposedPorts({ container: 6379, host: ports.redis });
  const host = `127.0.0.1:${ports.postgres}`;
  return {
    kafka: containerServer('kafka', ports.kafka, kafka, () => kafkaAnswers(ports.kafka)),
    postgres: containerServer(
      'postgres',
      ports.postgres,
      postgres,
      () => postgresAnswers(host),
      () => settlePostgres(host),
    ),
    registry: containerServer('registry', ports.registry, registry, () =>
      registryAnswers(ports.registry),
    ),
    redis: containerServer('redis', ports.redis, redis, () => redisAnswers(ports.redis)),
  };
}
