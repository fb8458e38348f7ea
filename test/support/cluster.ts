import { removeSystem } from './kept-logs.ts';
import { join } from 'node:path';
import { clusterEnvironment, logEnvironment } from '../../infra/cluster/environment.ts';
import { OPERATOR } from '../../infra/kafka/acls.ts';
import { clusterAddresses, serviceAddresses } from '../../infra/local/cluster/layout.ts';
import {
  clusterPortNames,
  readClusterPorts,
  type ClusterPortName,
  type ClusterPorts,
  type InstancePorts,
} from '../../infra/local/cluster/ports.ts';
import {
  clusterServers,
  openSecrets,
  type ClusterSecrets,
} from '../../infra/local/cluster/servers.ts';
import { spawnChild, type Child } from '../../infra/local/process/child.ts';
import { serviceCommand } from '../../infra/local/stack/services.ts';
import { serviceEnvironment, type Addresses } from '../../infra/services/services.ts';
import { defaultSettings } from '../../infra/services/settings.ts';
import type { Folder } from '../../infra/local/stack/folder.ts';
import { FaultProxy } from './fault-proxy.ts';
import { takePort } from './free-ports.ts';
import {
  handleOf,
  end,
  KAFKA_JAVA,
  killAtExit,
  makeFolder,
  PATIENT,
  programsFor,
  serverHandle,
  specOf,
  type ServiceHandle,
} from './stack.ts';
import type { ServerHandle } from './server-handle.ts';

/** The servers of a cluster; a test may kill each and start it again. */
export interface Cluster {
  readonly ports: ClusterPorts;
  readonly folder: Folder;
  readonly secrets: ClusterSecrets;
  readonly addresses: Addresses;
  /** The variables of the operator's commands. */
  readonly operator: Readonly<Record<string, string>>;
  /** Before each broker, in the order of their ids; none unless asked for. */
  readonly proxies: readonly BrokerProxies[];
  /** Throws for a name that is not in `clusterServerNames`. */
  readonly server: (name: string) => ServerHandle;
  /**
   * Starts an instance of a service with its account, on the first ports or, while another runs
   * there, on the second.
   */
  readonly spawnService: (
    name: string,
    extra?: Readonly<Record<string, string>>,
  ) => Promise<ServiceHandle>;
  readonly stop: () => Promise<void>;
}

/** Through these a broker is reached by clients, and by the other brokers and controllers. */
export interface BrokerProxies {
  readonly clients: FaultProxy;
  readonly brokers: FaultProxy;
  readonly controllers: FaultProxy;
}

/**
 * Starts the servers of a cluster on free ports, with certificates and passwords of its own; with
 * proxies before the brokers where the test wants to cut their connections.
 */
export async function startCluster({ with_proxies = false } = {}): Promise<Cluster> {
  const folder = makeFolder();
  const forget = killAtExit(folder);
  const releases: (() => void)[] = [];
  const freePorts = async (): Promise<InstancePorts> => {
    const [defaults] = readClusterPorts({});
    const ports: Record<ClusterPortName, number> = { ...defaults };
    for (const name of clusterPortNames) {
      const { port, release } = await takePort();
      ports[name] = port;
      releases.push(release);
    }
    return ports;
  };
  const listening = [await freePorts(), await freePorts(), await freePorts()] as const;
  const proxies: BrokerProxies[] = [];
  const reached = async (own: InstancePorts): Promise<InstancePorts> => {
    if (!with_proxies) return own;
    const clients = await FaultProxy.open({ port: own.kafka });
    const others = await FaultProxy.open({ port: own.kafka_brokers });
    const controllers = await FaultProxy.open({ port: own.kafka_controller });
    proxies.push({ clients, brokers: others, controllers });
    return {
      ...own,
      kafka: clients.port,
      kafka_brokers: others.port,
      kafka_controller: controllers.port,
    };
  };
  const [first, second, third] = listening;
  const ports = [await reached(first), await reached(second), await reached(third)] as const;
  const programs = await programsFor(folder, ports[0]);
  const secrets = await openSecrets(folder);
  const brokers = { java_options: KAFKA_JAVA, listening };
  const servers = clusterServers(folder, programs, ports, secrets, brokers).flat();
  const handles = new Map(servers.map((server) => [server.name, serverHandle(server)]));
  const spawned: { readonly child: Child; readonly own: InstancePorts }[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(spawned.map(({ child }) => child.kill()));
    await Promise.all(Array.from(handles.values(), end));
    await Promise.all(proxies.flatMap((each) => Object.values(each)).map((each) => each.close()));
    forget();
    for (const release of releases) release();
    removeSystem(folder);
  };
  const { passwords } = secrets;
  const cluster = clusterAddresses(ports, secrets);
  const addresses = serviceAddresses(ports, passwords, cluster);
  const spawnService: Cluster['spawnService'] = async (name, extra = {}) => {
    const spec = specOf(name);
    const earlier = spawned.filter(({ child }) => child.name.startsWith(`${name}-`));
    const running = earlier.filter(({ child }) => child.exited === undefined);
    const own = running.some((each) => each.own === ports[0]) ? ports[1] : ports[0];
    const place = { http_host: '127.0.0.1', ports: own, data: join(folder.data, name) };
    const environment = serviceEnvironment(spec, defaultSettings, addresses, place);
    const account = clusterEnvironment(spec, passwords, cluster);
    const command = serviceCommand(spec, { ...environment, ...account, ...PATIENT, ...extra });
    const child = await spawnChild(`${name}-${earlier.length + 1}`, command, folder);
    spawned.push({ child, own });
    return handleOf(spec, child, own);
  };
  const server = (name: string): ServerHandle => {
    const handle = handles.get(name);
    if (handle === undefined) throw new Error(`a cluster has no server ${name}`);
    return handle;
  };
  try {
    await Promise.all(servers.map((each) => each.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  const operator = {
    ...logEnvironment(OPERATOR, passwords, cluster),
    NODE_EXTRA_CA_CERTS: secrets.authority,
  };
  return { ports, folder, secrets, addresses, operator, proxies, server, spawnService, stop };
}
