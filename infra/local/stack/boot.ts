import { rmSync } from 'node:fs';
import { seconds, type Report } from '../cli/report.ts';
import { cacheFolder } from '../fetch/cache.ts';
import { withClassArchives } from '../fetch/class-archives.ts';
import { findPrograms } from '../fetch/programs.ts';
import { endProcesses, livingProcesses, STOP_SIGNAL } from '../process/pid-files.ts';
import type { Outcome, Outcomes, Request } from '../process/requests.ts';
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
import { settingNames } from '../../services/settings.ts';

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

/** Why a part that runs is not ready, and what to do. */
function frozenText(server: Server, why: string): string {
  return `${server.withLog(why)}; where it does not start but is frozen, npx ops restart ${server.name} starts it again`;
}

export interface Booted {
  /** Drains and stops it. */
  readonly stop: () => Promise<void>;
  /** names of the parts that were halted */
  readonly halted: readonly string[];
  /** Does what a person asks. Resolves when each part is as asked, or cannot be. */
  readonly act: (wanted: Request) => Promise<Outcomes>;
}

/**
 * Boots the stack. Resolves when each of its parts is ready or halted. Rejects when the boot fails
 * or `signal` aborts; then nothing runs.
 */
export async function boot(
  { folder, env, report, servers_only, cluster, watched }: BootOptions,
  signal: AbortSignal,
): Promise<Booted> {
  const layout = cluster ? clusterLayout(env) : plainLayout(env, watched);
  const orphans = await stopOrphans(folder);
  if (orphans.length > 0)
    report.line(`  stopped processes that a killed run had left: ${orphans.join(', ')}`);
  openFolder(folder);
  rmSync(folder.stack_file, { force: true });
  const settings = { ...(await folderSettings(env, folder)) };
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
  const supervised = new Map<Server, Supervised>();
  /** ends one part and its restarts */
  const stops = new Map<Server, AbortController>();
  /** servers that a request starts or stops now */
  const busy = new Set<Server>();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  signal.addEventListener('abort', () => failure.reject(signal.reason), { once: true });
  signal.throwIfAborted();
  let areServersReady = false;
  const write = (): void => {
    // also of one that has ended, so that it is missed
    const pids = all.flatMap(({ name, child }) =>
      child === undefined ? [] : [[name, child.pid] as const],
    );
    const stack = parts.describe(Object.fromEntries(pids));
    try {
      writeStackFile(folder, stack);
    } catch (error) {
      if (!isOutOfRoom(error)) throw error;
    }
  };
  const room = watchRoom(folder, (text, isEnough) => {
    report.line(`  ${text}`);
    // it could not be written before
    if (isEnough && areServersReady && !stopping.services.signal.aborted) write();
  });
  const sayLacks = async (server: Server): Promise<void> => {
    try {
      const lacks = await server.lacks(stopping.services.signal);
      if (lacks !== undefined) report.line(`  ${server.name}: ${lacks}`);
    } catch (error) {
      if (!stopping.services.signal.aborted) throw error;
    }
  };
  const start = (server: Server): Supervised => {
    const isService = ours.includes(server);
    const all_stop = stopping[isService ? 'services' : 'servers'].signal;
    const own = new AbortController();
    stops.set(server, own);
    const stop_signal = AbortSignal.any([all_stop, own.signal]);
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
        else {
          report.line(
            isRestart
              ? `  ${name} is ready again (process ${pid})`
              : `  ready    ${name.padEnd(24)} ${seconds(after_ms).padStart(8)}`,
          );
          if (isRestart) void sayLacks(server);
        }
      },
    });
    started.ready.catch(failure.reject);
    supervised.set(server, started);
    return started;
  };
  /** From its next start on. The stack file has the newest setting of any part. */
  const set = (server: Server, given: Readonly<Record<string, string>> = {}): void => {
    server.set(given);
    for (const name of settingNames) settings[name] = given[name] ?? settings[name];
  };
  const halt = async (server: Server): Promise<void> => {
    stops.get(server)?.abort();
    await server.stop();
    await supervised.get(server)?.ended;
  };
  /** Resolves when it is ready or halted, or cannot be started. */
  const begin = async (server: Server): Promise<Outcome> => {
    // it may wait for its next start
    await halt(server);
    try {
      await start(server).ready;
    } catch (error) {
      const text = server.withLog(error instanceof Error ? error.message : String(error));
      report.line(`  ${text}`);
      return { is_done: false, text };
    }
    if (server.halted !== undefined)
      return { is_done: false, text: server.withLog(`halted: ${server.halted}`) };
    const lacks = await server.lacks(stopping.services.signal);
    return lacks === undefined
      ? { is_done: true, text: 'ready' }
      : { is_done: false, text: `ready, but ${lacks}` };
  };
  const isHalted = async (server: Server): Promise<boolean> =>
    ours.includes(server) && (await server.isHaltedNow());
  const actOn = async (
    server: Server,
    { action, settings: given }: Pick<Request, 'action' | 'settings'>,
  ): Promise<Outcome> => {
    if (busy.has(server))
      return { is_done: false, text: 'it is being started or stopped: ask again soon' };
    busy.add(server);
    try {
      if (action === 'restart') {
        set(server, given);
        return await begin(server);
      }
      if (action === 'stop') {
        const wasRunning = server.pid !== undefined;
        await halt(server);
        return { is_done: true, text: wasRunning ? 'stopped' : 'was stopped before' };
      }
      const runs = `runs already (process ${server.pid})`;
      if (server.pid !== undefined && !(await isHalted(server))) {
        if (given !== undefined)
          return {
            is_done: false,
            text: `${runs}: npx ops restart ${server.name} with the same --set`,
          };
        const why = await server.whyNotReady();
        return why === undefined
          ? { is_done: true, text: runs }
          : { is_done: false, text: `${runs}, but is not ready: ${frozenText(server, why)}` };
      }
      set(server, given);
      return await begin(server);
    } finally {
      busy.delete(server);
      if (!stopping.services.signal.aborted) write();
    }
  };
  /** Starts each part that is down or halted, then says which others are not ready. */
  const startAll = async (): Promise<Outcomes> => {
    const outcomes: Record<string, Outcome> = {};
    const running: Server[] = [];
    const free = all.filter((server) => !busy.has(server));
    const starting = free.map(async (server) => {
      if (server.pid !== undefined && !(await isHalted(server))) {
        running.push(server);
        return;
      }
      const { is_done, text } = await actOn(server, { action: 'start' });
      const before = is_done ? 'was started again' : 'was started again, but is not ready';
      outcomes[server.name] = { is_done, text: `${before}: ${text}` };
    });
    await Promise.all(starting);
    const asking = running.map(async (server) => {
      const why = await server.whyNotReady();
      if (why === undefined) return;
      outcomes[server.name] = {
        is_done: true,
        text: `runs, but is not ready: ${frozenText(server, why)}`,
      };
    });
    await Promise.all(asking);
    return outcomes;
  };
  const act = async (request: Request): Promise<Outcomes> => {
    const { part } = request;
    if (part === undefined) return startAll();
    const server = all.find(({ name }) => name === part);
    if (server !== undefined) return { [part]: await actOn(server, request) };
    const names = all.map(({ name }) => name).join(', ');
    return { [part]: { is_done: false, text: `there is no such part: ${names}` } };
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
    await Promise.all([...supervised.values()].map((each) => each.ended));
  };

  try {
    report.now('starting the servers');
    const ready = servers.map((server) => start(server).ready);
    await Promise.race([Promise.all(ready), failure.promise]);
    areServersReady = true;
    write();
    const said = Promise.all(servers.map(sayLacks));
    said.catch(failure.reject);
    // A projector may load for hours, and the services before it are useful meanwhile.
    for (const server of ours) {
      report.now(`starting ${server.name}`);
      await Promise.race([start(server).answering, failure.promise]);
    }
    await Promise.race([said, failure.promise]);
    const each = [...supervised.values()];
    await Promise.race([Promise.all(each.map(({ ready: isReady }) => isReady)), failure.promise]);
  } catch (error) {
    await stop();
    throw error;
  }
  const halted = all.flatMap((server) => (server.halted === undefined ? [] : [server.name]));
  return { stop, halted, act };
}
