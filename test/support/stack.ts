import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { cacheFolder } from '../../infra/local/fetch/cache.ts';
import { withClassArchives } from '../../infra/local/fetch/class-archives.ts';
import { findPrograms, type Programs } from '../../infra/local/fetch/programs.ts';
import { silentReport } from './silent-report.ts';
import { childFault, spawnChild, type Child, type Exit } from '../../infra/local/process/child.ts';
import {
  livingProcesses,
  signalProcess,
  writePidFile,
} from '../../infra/local/process/pid-files.ts';
import { acquirePidFile } from '../../infra/local/process/pid-lock.ts';
import { waitUntilReady, type Server } from '../../infra/local/process/server.ts';
import {
  createServers,
  serverNames,
  type ServerName,
  type ServerOptions,
} from '../../infra/local/servers/servers.ts';
import { localAddresses } from '../../infra/local/stack/services.ts';
import type { Addresses } from '../../infra/services/services.ts';
import { stopOrphans } from '../../infra/local/stack/boot.ts';
import { folderAt, openFolder, type Folder } from '../../infra/local/stack/folder.ts';
import { defaultPorts, portNames, type PortName, type Ports } from '../../infra/services/ports.ts';
import { serviceCommand, serviceIsReady } from '../../infra/local/stack/services.ts';
import { serviceEnvironment, services, type ServiceSpec } from '../../infra/services/services.ts';
import { defaultSettings } from '../../infra/services/settings.ts';
import { serversPlace } from './docker-engine.ts';
import { takePort } from './free-ports.ts';
import { removeSystem } from './kept-logs.ts';
import { HANG_MS } from './limits.ts';
import type { ServerHandle, ServersOfStack } from './server-handle.ts';
import { until } from './until.ts';

/** A service that a test has spawned. */
export interface ServiceHandle {
  readonly name: string;
  readonly pid: number;
  /** Its HTTP address, without a path. */
  readonly url: string;
  /** The same of `/status` and `/metrics`. */
  readonly ops_url: string;
  /** Everything it has printed so far. */
  log(): string;
  /** Resolves when its status is ready; rejects with its last log lines when it ends before. */
  ready(): Promise<void>;
  /** As of a server. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  waitExit(): Promise<Exit>;
  /** Resolves when it has ended, however long it runs. */
  readonly exit: Promise<Exit>;
}

export interface Stack {
  readonly addresses: Addresses;
  readonly ports: Ports;
  /** Where this stack keeps its data and logs; removed by `stop`. */
  readonly folder: Folder;
  readonly servers: Readonly<Record<ServerName, ServerHandle>>;
  /** Starts a service of the table; a second one of the same name gets a port of its own. */
  spawnService(name: string, extra?: Readonly<Record<string, string>>): Promise<ServiceHandle>;
  stop(): Promise<void>;
}

/** The address by which services find a server. */
const ADDRESS = {
  kafka: 'kafka_brokers',
  postgres: 'postgres_url',
  registry: 'registry_url',
  redis: 'redis_url',
} as const satisfies Record<ServerName, keyof Addresses>;
const PREFIX = 'clt-test-stack-';
/** A broker of a test does not live long enough for the second compiler; one of a bench does. */
export const KAFKA_JAVA = process.env['VITEST'] === undefined ? [] : ['-XX:TieredStopAtLevel=1'];
/** Nothing of a test outlives the machine. A bench has the settings of users. */
export const SERVER_OPTIONS: ServerOptions =
  process.env['VITEST'] === undefined
    ? {}
    : {
        kafka_java: KAFKA_JAVA,
        postgres_settings: {
          fsync: 'off',
          full_page_writes: 'off',
          // it would look through hundreds of databases in turn
          autovacuum: 'off',
          // to create, truncate or drop a table takes time with the size of this memory
          shared_buffers: '128MB',
        },
      };
/** A service drains for as long as it takes. */
export const PATIENT = { APP_DRAIN_MS: '600000' };

/** Gateways that end no read because the machine is slow. */
export const PATIENT_READS = {
  // no limit: the most that may be set
  APP_STATEMENT_TIMEOUT_MS: '60000',
  APP_POSTGRES_CONNECT_MS: '600000',
};
const never = new AbortController().signal;

/** Ends the stacks of killed test runs and workers; their logs are those of this run now. */
export async function stopAbandoned(): Promise<void> {
  if ((await serversPlace()) === 'containers')
    await (await import('./containers.ts')).removeAbandoned();
  for (const entry of readdirSync(tmpdir())) {
    if (!entry.startsWith(PREFIX)) continue;
    const folder = folderAt(join(tmpdir(), entry));
    if ((await acquirePidFile(folder.supervisor_file)) !== undefined) continue;
    await stopOrphans(folder, 2_000);
    removeSystem(folder);
  }
}

export function specOf(name: string): ServiceSpec {
  const spec = services.find((each) => each.name === name);
  if (spec === undefined)
    throw new Error(
      `no service is called ${name}; there are ${services.map((each) => each.name).join(', ')}`,
    );
  return spec;
}

/** Resolves when the system has stopped a process, which is some time after SIGSTOP was sent. */
export async function untilStopped(pid: number): Promise<void> {
  const state = (): string =>
    spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
  await until(
    () => state(),
    `process ${pid} to be stopped`,
    (seen) => seen.startsWith('T'),
  );
}

async function signalled(child: Child, signal?: NodeJS.Signals): Promise<void> {
  await child.kill(signal);
  if (signal === 'SIGSTOP') await untilStopped(child.pid);
}

export function handleOf(spec: ServiceSpec, child: Child, ports: Ports): ServiceHandle {
  const url = `http://127.0.0.1:${ports[spec.ports[0]]}`;
  const ops_url = `http://127.0.0.1:${ports[spec.ops_port]}`;
  return {
    name: spec.name,
    pid: child.pid,
    url,
    ops_url,
    log: () => readFileSync(child.log_file, 'utf8'),
    ready: () => waitUntilReady(child, () => serviceIsReady(ops_url, ports), HANG_MS),
    kill: (signal) => signalled(child, signal),
    exit: child.exit,
    async waitExit() {
      const state = (): string => childFault(child, 'runs');
      await until(state, `${child.name} to end`, () => child.exited !== undefined);
      return await child.exit;
    },
  };
}

export function serverHandle(server: Server): ServerHandle {
  return {
    name: server.name,
    port: server.port,
    get pid() {
      return server.pid;
    },
    start: () => server.start(),
    async kill(signal) {
      if (server.child !== undefined) await signalled(server.child, signal);
    },
    stop: () => server.stop(),
  };
}

/** Ends a server whose data are to be removed, so that it need not write its memory to disk. */
export async function end(server: ServerHandle): Promise<void> {
  const isPostgres = server.name.startsWith('postgres');
  // on SIGQUIT Postgres ends at once, and frees the memory that its processes share
  if (server.pid !== undefined) await server.kill(isPostgres ? 'SIGQUIT' : 'SIGKILL');
  await server.stop();
}

/** Creates a folder that belongs to this process from the moment that it has its name. */
export function makeFolder(): Folder {
  const unnamed = mkdtempSync(join(tmpdir(), 'clt-test-new-'));
  // Root's Postgres runs as another user, who has to enter this folder.
  chmodSync(unnamed, 0o755);
  writePidFile(folderAt(unnamed).supervisor_file, process.pid);
  const named = folderAt(join(tmpdir(), `${PREFIX}${basename(unnamed).slice(-6)}`));
  renameSync(unnamed, named.root);
  openFolder(named);
  return named;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Kills the stack when this process ends without having stopped it. Returns the function that
 * undoes this.
 */
export function killAtExit(folder: Folder): () => void {
  const killAll = (): void => {
    for (const identity of livingProcesses(folder.pids).values())
      signalProcess(identity, 'SIGKILL');
    removeSystem(folder);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    killAll();
    process.kill(process.pid, signal);
  };
  process.once('exit', killAll);
  for (const signal of SIGNALS) process.once(signal, onSignal);
  return () => {
    process.off('exit', killAll);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

/** The servers' programs; their class archives are made on these ports when there are none. */
export async function programsFor(folder: Folder, ports: Ports): Promise<Programs> {
  const cache = cacheFolder(process.env);
  const found = await findPrograms(cache, process.env, silentReport, never);
  return await withClassArchives(cache, found, { ports, folder }, silentReport, never);
}

/** The servers of a stack, on this machine or in containers. */
async function stackServers(
  folder: Folder,
  ports: Ports,
  { kafka_settings = {}, postgres_settings = {} }: StackOptions,
): Promise<ServersOfStack> {
  const postgres = { ...SERVER_OPTIONS.postgres_settings, ...postgres_settings };
  if ((await serversPlace()) === 'containers')
    return await (
      await import('./containers.ts')
    ).containerServers(ports, kafka_settings, postgres);
  const programs = await programsFor(folder, ports);
  const servers = createServers(folder, programs, ports, {
    ...SERVER_OPTIONS,
    kafka_settings,
    postgres_settings: postgres,
  });
  return {
    servers: {
      kafka: serverHandle(servers.kafka),
      postgres: serverHandle(servers.postgres),
      registry: serverHandle(servers.registry),
      redis: serverHandle(servers.redis),
    },
    release: () => Promise.resolve(),
  };
}

interface StackOptions {
  /** Services to start as well; true: all of them. */
  readonly services?: boolean | readonly string[];
  readonly others?: Partial<Addresses>;
  readonly kafka_settings?: Readonly<Record<string, string>>;
  readonly postgres_settings?: Readonly<Record<string, string>>;
}

/** A stack that starts: its addresses stand before it answers. */
export interface StartingStack {
  readonly addresses: Addresses;
  readonly folder: Folder;
  /** Rejects when a part does not start; then nothing runs. */
  readonly started: Promise<Stack>;
}

/**
 * Starts a stack on free ports with its own data. It is independent of any other, but for the
 * servers at the addresses of `others`.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  return await (
    await beginStack(options)
  ).started;
}

/** As `startStack`, and resolves when its ports are taken. */
export async function beginStack(options: StackOptions = {}): Promise<StartingStack> {
  const folder = makeFolder();
  const forget = killAtExit(folder);
  const taken: Awaited<ReturnType<typeof takePort>>[] = [];
  const nextPort = async (): Promise<number> => {
    const one = await takePort();
    taken.push(one);
    return one.port;
  };
  const ports: Record<PortName, number> = { ...defaultPorts };
  for (const name of portNames) ports[name] = await nextPort();
  const addresses = { ...localAddresses(ports), ...options.others };
  const started = startServers({ folder, ports, addresses, nextPort }, options, () => {
    forget();
    for (const one of taken) one.release();
    removeSystem(folder);
  });
  return { addresses, folder, started };
}

async function startServers(
  place: {
    readonly folder: Folder;
    readonly ports: Ports;
    readonly addresses: Addresses;
    readonly nextPort: () => Promise<number>;
  },
  options: StackOptions,
  leave: () => void,
): Promise<Stack> {
  const { folder, ports, addresses, nextPort } = place;
  const spawned: Child[] = [];
  const { servers, release } = await stackServers(folder, ports, options).catch(
    (error: unknown) => {
      leave();
      throw error;
    },
  );

  const stop = async (): Promise<void> => {
    await Promise.all(spawned.map((child) => child.kill()));
    await Promise.all(Object.values(servers).map(end));
    await release();
    leave();
  };

  const spawnService: Stack['spawnService'] = async (name, extra = {}) => {
    const spec = specOf(name);
    const earlier = spawned.filter((child) => child.name.startsWith(`${name}-`));
    const doubled = earlier.some((child) => child.exited === undefined);
    const own: Record<PortName, number> = { ...ports };
    if (doubled) for (const port of spec.ports) own[port] = await nextPort();
    const where = { http_host: '127.0.0.1', ports: own, data: join(folder.data, name) };
    const environment = serviceEnvironment(spec, defaultSettings, addresses, where);
    const command = serviceCommand(spec, { ...environment, ...PATIENT, ...extra });
    const child = await spawnChild(`${name}-${earlier.length + 1}`, command, folder);
    spawned.push(child);
    return handleOf(spec, child, own);
  };

  try {
    await Promise.all(
      serverNames
        .filter((name) => options.others?.[ADDRESS[name]] === undefined)
        .map((name) => servers[name].start()),
    );
    const wanted = services.filter(
      ({ name }) =>
        options.services === true ||
        (Array.isArray(options.services) && options.services.includes(name)),
    );
    for (const spec of wanted) await (await spawnService(spec.name)).ready();
  } catch (error) {
    await stop();
    throw error;
  }
  return { addresses, ports, folder, servers, spawnService, stop };
}
