import { rmSync } from 'node:fs';
import { portNames } from '../../services/ports.ts';
import { services } from '../../services/services.ts';
import { seconds, type Report } from '../cli/report.ts';
import { cacheFolder } from '../fetch/cache.ts';
import { withClassArchives } from '../fetch/class-archives.ts';
import { findPrograms } from '../fetch/programs.ts';
import { endProcesses, livingProcesses, STOP_SIGNAL } from '../process/pid-files.ts';
import { isOutOfRoom } from '../process/run-program.ts';
import type { Server } from '../process/server.ts';
import { supervise, type Supervised } from '../process/supervise.ts';
import { createServers, serverNames } from '../servers/servers.ts';
import { openFolder, type Folder } from './folder.ts';
import { assertPortsFree, readPorts } from './ports.ts';
import { localAddresses, serviceServer } from './services.ts';
import { folderSettings, userSettings } from './settings.ts';
import { watchRoom } from './room.ts';
import { describeStack, writeStackFile } from './stack-file.ts';

/** Postgres may have much memory to write to disk. */
const ORPHANS_STOP_MS = 120_000;

export interface BootOptions {
  readonly folder: Folder;
  readonly env: NodeJS.ProcessEnv;
  readonly report: Report;
  /** Without devnet and services. */
  readonly servers_only: boolean;
}

/** Ends what a killed supervisor left running, services before servers, and returns the names. */
export async function stopOrphans(folder: Folder, timeout_ms = ORPHANS_STOP_MS): Promise<string[]> {
  const services_left = livingProcesses(folder.pids);
  const orphans = [...services_left.keys()];
  const servers_left = serverNames.flatMap((name) => services_left.get(name) ?? []);
  for (const name of serverNames) services_left.delete(name);
  await endProcesses([...services_left.values()], STOP_SIGNAL, timeout_ms);
  await endProcesses(servers_left, STOP_SIGNAL, timeout_ms);
  rmSync(folder.pids, { recursive: true, force: true });
  return orphans;
}

/**
 * Boots the stack. Resolves when each of its parts is ready or halted, to the names of those halted
 * and the function that drains and stops it. Rejects when the boot fails or `signal` aborts; then
 * nothing runs.
 */
export async function boot(
  { folder, env, report, servers_only }: BootOptions,
  signal: AbortSignal,
): Promise<{ readonly stop: () => Promise<void>; readonly halted: readonly string[] }> {
  const ports = readPorts(env);
  const orphans = await stopOrphans(folder);
  if (orphans.length > 0)
    report.line(`  stopped processes that a killed run had left: ${orphans.join(', ')}`);
  openFolder(folder);
  rmSync(folder.stack_file, { force: true });
  const settings = await folderSettings(env, folder);
  const addresses = localAddresses(ports);
  const needed = ['kafka', 'kafka_controller', 'registry', 'postgres', 'redis'] as const;
  await assertPortsFree(ports, servers_only ? needed : portNames);
  const cache = cacheFolder(env);
  const found = await findPrograms(cache, env, report, signal);
  const programs = await withClassArchives(cache, found, { ports, folder }, report, signal);

  const servers = Object.values(createServers(folder, programs, ports));
  const specs = servers_only ? [] : services;
  const user = userSettings(env);
  const ours = specs.map((spec) => serviceServer(spec, settings, addresses, ports, folder, user));
  const all = [...servers, ...ours];
  const stopping = { services: new AbortController(), servers: new AbortController() };
  const supervised: Supervised[] = [];
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  signal.addEventListener('abort', () => failure.reject(signal.reason), { once: true });
  signal.throwIfAborted();
  let areServersReady = false;
  const write = (): void => {
    const pids = all.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid] as const]));
    const running = Object.fromEntries(pids);
    try {
      writeStackFile(folder, describeStack(folder, ports, addresses, settings, running));
    } catch (error) {
      if (!isOutOfRoom(error)) throw error;
    }
  };
  const room = watchRoom(folder, (text, isEnough) => {
    report.line(`  ${text}`);
    // it could not be written before
    if (isEnough && areServersReady && !stopping.services.signal.aborted) write();
  });
  const start = (server: Server): Supervised => {
    const isService = ours.includes(server);
    const stop_signal = stopping[isService ? 'services' : 'servers'].signal;
    const started = supervise(server, isService, stop_signal, {
      line(text) {
        report.line(`  ${text}`);
        room.check();
      },
      working: (text) => report.now(`${server.name}: ${text}`),
      ready(after_ms, isRestart) {
        const { name, pid } = server;
        if (areServersReady && !stopping.services.signal.aborted) write();
        if (server.halted !== undefined)
          report.line(`  halted   ${name.padEnd(24)} ${server.halted}`);
        else
          report.line(
            isRestart
              ? `  ${name} is ready again (process ${pid})`
              : `  ready    ${name.padEnd(24)} ${seconds(after_ms).padStart(8)}`,
          );
      },
    });
    started.ready.catch(failure.reject);
    supervised.push(started);
    return started;
  };
  const stop = async (): Promise<void> => {
    stopping.services.abort();
    room.close();
    rmSync(folder.stack_file, { force: true });
    for (const server of all.toReversed()) {
      if (server === servers.at(-1)) stopping.servers.abort();
      if (server.pid !== undefined) report.now(`stopping ${server.name}`);
      await server.stop();
    }
    await Promise.all(supervised.map(({ ended }) => ended));
  };

  try {
    report.now('starting the servers');
    const ready = servers.map((server) => start(server).ready);
    await Promise.race([Promise.all(ready), failure.promise]);
    areServersReady = true;
    write();
    // A projector may load for hours, and the services before it are useful meanwhile.
    for (const server of ours) {
      report.now(`starting ${server.name}`);
      await Promise.race([start(server).answering, failure.promise]);
    }
    await Promise.race([Promise.all(supervised.map((each) => each.ready)), failure.promise]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, halted: all.flatMap(({ name, halted }) => (halted === undefined ? [] : [name])) };
}
