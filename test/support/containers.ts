import {
  GenericContainer,
  getContainerRuntimeClient,
  type ContainerRuntimeClient,
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
import { propertyOf } from '../../services/runtime/process/errors.ts';
import type { Ports } from '../../infra/services/ports.ts';
import { postgresAnswers, settlePostgres } from '../../infra/postgres/databases.ts';
import { redis_image, redisAnswers, redisSettings } from '../../infra/local/servers/redis.ts';
import {
  registry_image,
  registryAnswers,
  registryDatabase,
  registryJava,
} from '../../infra/local/servers/registry.ts';
import {
  initdbArguments,
  postgresArguments,
  postgres_image,
  postgresSettings,
  superuser,
} from '../../infra/postgres/settings.ts';
import { HANG_MS } from './limits.ts';
import type { ServerHandle, ServersOfStack } from './server-handle.ts';
import { until } from './until.ts';

// a run removes what a killed one has left, so no container with the engine's socket has to
process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
// else it looks for the default network of the engine, which may have none
process.env['TESTCONTAINERS_HOST_OVERRIDE'] = '127.0.0.1';
/** A label with the pid of the process whose network it is. */
const OWNER = 'clt.test.pid';

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // it is of another account
    return propertyOf(error, 'code') === 'EPERM';
  }
}

/** Removes a network with its containers. */
async function removeNetwork(name: string): Promise<void> {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const found = await dockerode.listContainers({ all: true, filters: { network: [name] } });
  for (const { Id } of found) await dockerode.getContainer(Id).remove({ force: true, v: true });
  await dockerode.getNetwork(name).remove();
}

/** Removes the containers and networks of processes that were killed. */
export async function removeAbandoned(): Promise<void> {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  for (const { Name, Labels } of await dockerode.listNetworks({ filters: { label: [OWNER] } }))
    if (!isAlive(Number(Labels?.[OWNER]))) await removeNetwork(Name);
}

/** Without its digest where the engine has a stand-in, which has none of an official image. */
async function imageAt({ container }: ContainerRuntimeClient, image: string): Promise<string> {
  const name = image.replace(/@.*/, '');
  const found = await container.dockerode
    .getImage(name)
    .inspect()
    .catch(() => undefined);
  return found?.Config.Labels?.['clt.stand-in'] === name ? name : image;
}

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
 * yet. Their network publishes ports on 127.0.0.1 alone.
 */
export async function containerServers(
  ports: Ports,
  kafka_settings: Readonly<Record<string, string>>,
  postgres_settings: Readonly<Record<string, string>>,
): Promise<ServersOfStack> {
  const client = await getContainerRuntimeClient();
  const network_name = `clt-test-${ports.kafka}`;
  await client.network.create({
    Name: network_name,
    Labels: { [OWNER]: String(process.pid) },
    Options: { 'com.docker.network.bridge.host_binding_ipv4': '127.0.0.1' },
  });
  const containerOf = async (image: string): Promise<GenericContainer> =>
    new GenericContainer(await imageAt(client, image))
      .withNetworkMode(network_name)
      .withStartupTimeout(HANG_MS);
  // the broker asks itself too, about transactions, and the port of this machine is not its own
  const place = kafkaPlace({
    listeners: 'CLIENTS://0.0.0.0:9092,PLAINTEXT://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093',
    advertised_listeners: `CLIENTS://127.0.0.1:${ports.kafka},PLAINTEXT://127.0.0.1:9094`,
    protocols: 'CLIENTS:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    controller: '127.0.0.1:9093',
    data: '/var/lib/kafka/data',
  });
  const kafka_variables = Object.entries({ ...kafkaSettings, ...place, ...kafka_settings }).map(
    ([setting, value]) => [kafkaVariable(setting), value] as const,
  );
  const kafka = (await containerOf(kafka_image))
    .withEnvironment({ ...Object.fromEntries(kafka_variables), KAFKA_HEAP_OPTS: kafka_heap })
    .withExposedPorts({ container: 9092, host: ports.kafka });
  const registry = (await containerOf(registry_image))
    .withEnvironment({
      REGISTRY_DATASOURCE_URL: registryDatabase('/tmp/registry'),
      JAVA_OPTS_APPEND: registryJava.join(' '),
    })
    .withExposedPorts({ container: 8080, host: ports.registry });
  const postgres = (await containerOf(postgres_image))
    .withEnvironment({
      POSTGRES_PASSWORD: superuser.password,
      POSTGRES_INITDB_ARGS: initdbArguments.join(' '),
    })
    .withUser('999:999')
    .withCommand(['postgres', ...postgresArguments({ ...postgresSettings, ...postgres_settings })])
    .withSharedMemorySize(256 * 1024 * 1024)
    .withExposedPorts({ container: 5432, host: ports.postgres });
  const redis = (await containerOf(redis_image))
    .withCommand(['redis-server', ...redisSettings, '--protected-mode', 'no'])
    .withExposedPorts({ container: 6379, host: ports.redis });
  const host = `127.0.0.1:${ports.postgres}`;
  const servers = {
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
  return { servers, release: () => removeNetwork(network_name) };
}
