/** Two instances of every service, each with the account of its service, on secured servers. */
import {
  clusterEnvironment,
  logEnvironment,
  postgresEnvironment,
  redisEnvironment,
  tlsParameters,
  type ClusterAddresses,
} from '../../cluster/environment.ts';
import type { Passwords } from '../../cluster/principals.ts';
import { OPERATOR } from '../../kafka/acls.ts';
import { postgresUrl } from '../../postgres/databases.ts';
import { database } from '../../postgres/settings.ts';
import type { Ports } from '../../services/ports.ts';
import { services, type Addresses, type ServiceSpec } from '../../services/services.ts';
import { registry_path } from '../servers/registry.ts';
import type { Layout } from '../stack/layout.ts';
import { localAddresses, serviceServer } from '../stack/services.ts';
import { userSettings } from '../stack/settings.ts';
import { describeStack, http } from '../stack/stack-file.ts';
import { assertClusterPortsFree, readClusterPorts, type ClusterPorts } from './ports.ts';
import {
  brokerAddresses,
  clusterServers,
  HOST,
  openSecrets,
  serverPorts,
  type ClusterSecrets,
} from './servers.ts';

/** A chain and a network of TRON have one state, so there is one devnet. */
const SINGLE = 'devnet';

/** Where clients find the servers. */
export function clusterAddresses(
  ports: ClusterPorts,
  { authority }: ClusterSecrets,
): ClusterAddresses {
  const [first, second] = ports;
  return {
    brokers: brokerAddresses(ports),
    registry_url: `https://${HOST}:${first.registry}${registry_path}`,
    postgres: [`${HOST}:${first.postgres}`, `${HOST}:${second.postgres}`],
    redis: `${HOST}:${first.redis}`,
    sentinels: ports.map(({ sentinel }) => `${HOST}:${sentinel}`),
    authority,
  };
}

/** The addresses of a plain stack, as a cluster has them. */
export function serviceAddresses(
  ports: ClusterPorts,
  passwords: Passwords,
  cluster: ClusterAddresses,
): Addresses {
  const { APP_POSTGRES_URL, APP_POSTGRES_READER_URL } = postgresEnvironment(passwords, cluster);
  return {
    ...localAddresses(ports[0]),
    kafka_brokers: cluster.brokers.join(','),
    registry_url: cluster.registry_url,
    postgres_url: APP_POSTGRES_URL,
    postgres_reader_url: APP_POSTGRES_READER_URL,
    postgres_analyst_url: postgresUrl(
      passwords.postgres.analyst,
      cluster.postgres.toReversed().join(','),
      database,
      tlsParameters(cluster.authority),
    ),
  };
}

/** The instances of every service, in the order of starts: their names and ports. */
export function instances(
  ports: ClusterPorts,
): readonly { readonly name: string; readonly spec: ServiceSpec; readonly ports: Ports }[] {
  return services.flatMap((spec) => {
    const first = { name: spec.name, spec, ports: ports[0] };
    const second = { name: `${spec.name}-2`, spec, ports: ports[1] };
    return spec.name === SINGLE ? [first] : [first, second];
  });
}

function portsOf({ spec, ports }: ReturnType<typeof instances>[number]): readonly number[] {
  return spec.ports.map((name) => ports[name]);
}

/** Throws a Refusal for bad ports. */
export function clusterLayout(env: NodeJS.ProcessEnv): Layout {
  const ports = readClusterPorts(env);
  return {
    ports: ports[0],
    assertPortsFree: (servers_only) =>
      assertClusterPortsFree(ports, (each) => [
        ...serverPorts(each),
        ...(servers_only ? [] : instances(each).flatMap(portsOf)),
      ]),
    async create(folder, programs, settings) {
      const secrets = await openSecrets(folder);
      const cluster = clusterAddresses(ports, secrets);
      const atNow = (): Addresses => serviceAddresses(ports, secrets.passwords, cluster);
      const at = atNow();
      const user = userSettings(env);
      const all = instances(ports);
      const operatorNow = (): Record<string, string> => ({
        ...logEnvironment(OPERATOR, secrets.passwords, cluster),
        ...redisEnvironment(secrets.passwords, cluster),
      });
      return {
        servers: clusterServers(folder, programs, ports, secrets, {
          prefix: user['APP_KAFKA_PREFIX'] ?? '',
        }),
        services: all.map(({ name, spec, ports: own }) =>
          serviceServer(spec, settings, at, own, folder, user, {
            name,
            environment: () => clusterEnvironment(spec, secrets.passwords, cluster),
          }),
        ),
        describe: (pids) => ({
          ...describeStack(folder, ports[0], atNow(), settings, pids),
          ...Object.fromEntries(
            Object.entries(operatorNow()).map(([name, value]) => [
              name.replace(/^APP_/, '').toLowerCase(),
              value,
            ]),
          ),
          // the operator's commands trust it
          certificate_authority: secrets.authority,
          services: Object.fromEntries(
            all.flatMap(({ name, spec, ports: own }) => {
              const pid = pids[name];
              return pid === undefined ? [] : [[name, { url: http(own[spec.ops_port]), pid }]];
            }),
          ),
          ports,
        }),
      };
    },
  };
}
