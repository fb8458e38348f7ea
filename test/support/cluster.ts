import { rmSync } from 'node:fs';
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
import { cacheFolder } from '../../infra/local/fetch/cache.ts';
import { findPrograms } from '../../infra/local/fetch/programs.ts';
import type { Folder } from '../../infra/local/stack/folder.ts';
import { takePort } from './free-ports.ts';
import { silentReport } from './silent-report.ts';
import { KAFKA_JAVA, killAtExit, makeFolder, serverHandle, type ServerHandle } from './stack.ts';

/** The servers of a cluster; a test may kill each and start it again. */
export interface Cluster {
  readonly ports: ClusterPorts;
  readonly folder: Folder;
  readonly secrets: ClusterSecrets;
  /** Throws for a name that is not in `clusterServerNames`. */
  readonly server: (name: string) => ServerHandle;
  readonly stop: () => Promise<void>;
}

/** Starts the servers of a cluster on free ports, with certificates and passwords of its own. */
export async function startCluster(): Promise<Cluster> {
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
  const ports = [await freePorts(), await freePorts(), await freePorts()] as const;
  const { signal } = new AbortController();
  const programs = await findPrograms(cacheFolder(process.env), process.env, silentReport, signal);
  const secrets = await openSecrets(folder);
  const servers = clusterServers(folder, programs, ports, secrets, KAFKA_JAVA).flat();
  const handles = new Map(servers.map((server) => [server.name, serverHandle(server)]));
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    forget();
    for (const release of releases) release();
    for (const path of [folder.root, folder.shelter])
      rmSync(path, { recursive: true, force: true });
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
  return { ports, folder, secrets, server, stop };
}
