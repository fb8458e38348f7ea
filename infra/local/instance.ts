import { localAddresses } from './addresses.ts';
import { archiveClasses } from './archive-classes.ts';
import { cacheOf } from './cache.ts';
import { commonOf, ownSettings } from './choices.ts';
import { openFolder, type Folder } from './folder.ts';
import { keep } from './keeper.ts';
import { stopLeftovers } from './leftovers.ts';
import { assertPortsFree, portNames, readPorts, type PortName } from './ports.ts';
import { findPrograms } from './programs.ts';
import { seconds, type Report } from './report.ts';
import type { Server } from './server.ts';
import { createServers, serverNames, startServers } from './servers.ts';
import { serviceServer } from './service-server.ts';
import { services } from './services.ts';
import { startInOrder } from './start-in-order.ts';
import { describeStack, removeStackFile, writeStackFile } from './stack-file.ts';

/** What to boot, and who is told. */
export interface BootOptions {
  readonly folder: Folder;
  readonly env: NodeJS.ProcessEnv;
  readonly report: Report;
  /** Without devnet and services. */
  readonly servers_only: boolean;
}

/** A whole stack that runs: its processes are started again when they fall. */
export interface Instance {
  /** Ends everything in order, the services first, each after it has drained. */
  stop(): Promise<void>;
}

const serverPorts: readonly PortName[] = [
  'kafka',
  'kafka_controller',
  'registry',
  'postgres',
  'redis',
];

async function stopInOrder(started: readonly Server[], report: Report): Promise<void> {
  for (const server of started.toReversed()) {
    if (server.pid === undefined) continue;
    report.now(`stopping ${server.name}`);
    await server.stop();
  }
}

/** Boots everything and resolves when all of it is ready. Rejects when something fails or `signal` aborts; then nothing is left running. */
export async function boot(
  { folder, env, report, servers_only }: BootOptions,
  signal: AbortSignal,
): Promise<Instance> {
  const ports = readPorts(env);
  const own = ownSettings(env);
  const addresses = localAddresses(ports);
  const wanted = servers_only ? [] : services;

  const left = await stopLeftovers(folder);
  if (left.length > 0)
    report.line(`  ended what an interrupted run had left behind: ${left.join(', ')}`);
  openFolder(folder);
  const common = await commonOf(env, folder);
  removeStackFile(folder);
  await assertPortsFree(ports, servers_only ? serverPorts : portNames);
  const cache = cacheOf(env);
  const programs = await findPrograms(cache, env, report, signal);
  await archiveClasses(cache, folder, programs, ports, report, signal);

  const servers = createServers(folder, programs, ports);
  const ours = wanted.map((spec) => serviceServer(spec, common, addresses, ports, folder, own));
  const all = [...serverNames.map((name) => servers[name]), ...ours];
  const stopping = new AbortController();
  const kept: Promise<void>[] = [];
  const write = (): void => {
    const pids = all.flatMap((server) =>
      server.pid === undefined ? [] : [[server.name, server.pid] as const],
    );
    writeStackFile(
      folder,
      describeStack(folder, ports, addresses, common, Object.fromEntries(pids)),
    );
  };
  const ready = (server: Server, after_ms: number): void =>
    report.line(
      `  ready    ${server.name.padEnd(20)} ${server.version.padEnd(14)} ${seconds(after_ms).padStart(7)}`,
    );
  const keepUp = (server: Server): void => {
    kept.push(
      keep(
        server,
        ours.includes(server),
        stopping.signal,
        (line) => report.line(`  ${line}`),
        write,
      ),
    );
    write();
  };
  const stop = async (): Promise<void> => {
    stopping.abort();
    removeStackFile(folder);
    await stopInOrder(all, report);
    await Promise.all(kept);
  };

  try {
    report.now('starting the servers');
    await startServers(servers, signal, ready);
    for (const name of serverNames) keepUp(servers[name]);
    await startInOrder(ours, signal, report, (server, after_ms) => {
      ready(server, after_ms);
      // others may have hours of work before they are ready
      keepUp(server);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}
