import { rmSync } from 'node:fs';
import { seconds, type Report } from '../cli/report.ts';
import { cacheFolder } from '../fetch/cache.ts';
import { withClassArchives } from '../fetch/class-archives.ts';
import { findPrograms } from '../fetch/programs.ts';
import { endProcesses, livingProcesses, STOP_SIGNAL } from '../process/pid-files.ts';
import { isOutOfRoom } from '../process/run-program.ts';
import type { Server } from '../process/server.ts';
import { supervise, type Supervised } from '../process/supervise.ts';
import { clusterLayout } from '../cluster/layout.ts';
import { clusterServerNames } from '../cluster/servers.ts';
import { serverNames } from '../servers/servers.ts';
import { buildConsole } from './console.ts';
import { openFolder, type Folder } from './folder.ts';
import { plainLayout } from './layout.ts';
import { folderSettings } from './settings.ts';
import { watchRoom } from './room.ts';
import { writeStackFile } from './stack-file.ts';

/** Postgres may have much memory to write to disk. */
const ORPHANS_STOP_MS = 120_000;

export interface BootOptions {
  readonly folder: Folder;
  readonly env: NodeJS.ProcessEnv;
  readonly report: Report;
  /** Without devnet and services. */
  readonly servers_only: boolean;
  /** Secured servers with replicas, and two instances of every service. */
  readonly cluster: boolean;
  /** The service that restarts when its code changes. */
  readonly watched?: string;
}

/** Ends what a killed supervisor left running, services before servers, and returns the names. */
export async function stopOrphans(folder: Folder, timeout_ms = ORPHANS_STOP_MS): Promise<string[]> {
  const services_left = livingProcesses(folder.pids);
  const orphans = [...services_left.keys()];
  const names = new Set([...serverNames, ...clusterServerNames]);
  const servers_left = [...names].flatMap((name) => services_left.get(name) ?? []);
  for (const name of names) services_left.delete(name);
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
  { folder, env, report, servers_only, cluster, watched }: BootOptions,
  signal: AbortSignal,
): Promise<{ readonly stop: () => Promise<void>; readonly halted: readonly string[] }> {
  const layout = cluster ? clusterLayout(env) : plainLayout(env, watched);
  const orphans = await stopOrphans(folder);
  if (orphans.length > 0)
    report.line(`  stopped processes that a killed run had left: ${orphans.join(', ')}`);
  openFolder(folder);
  rmSync(folder.stack_file, { force: true });
  const settings = await folderSettings(env, folder);
  await layout.assertPortsFree(servers_only);
  const cache = cacheFolder(env);
  const found = await findPrograms(cache, env, report, signal);
  const programs = await withClassArchives(cache, found, { ...layout, folder }, report, signal);

  if (!servers_only) await buildConsole();
  const parts = await layout.create(folder, programs, settings);
  const servers = parts.servers.flat();
  const ours = servers_only ? [] : parts.services;
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
      writeStackFile(folder, parts.describe(running));
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
    for (const server of ours.toReversed()) {
      if (server.pid !== undefined) report.now(`stopping ${server.name}`);
      await server.stop();
    }
    stopping.servers.abort();
    for (const group of parts.servers.toReversed()) {
      report.now(`stopping ${group.map(({ name }) => name).join(', ')}`);
      await Promise.all(group.map((server) => server.stop()));
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
