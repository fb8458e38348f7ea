import { chmodSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { removeShelter } from '../../infra/local/account.ts';
import { archiveClasses } from '../../infra/local/archive-classes.ts';
import { localAddresses, type Addresses } from '../../infra/local/addresses.ts';
import { cacheOf } from '../../infra/local/cache.ts';
import { spawnChild, type Child, type Exit } from '../../infra/local/child.ts';
import { defaultCommon } from '../../infra/local/choices.ts';
import { claim } from '../../infra/local/claim.ts';
import { folderAt, openFolder, type Folder } from '../../infra/local/folder.ts';
import { leftoversIn, stopLeftovers } from '../../infra/local/leftovers.ts';
import { defaultPorts, portNames, type PortName, type Ports } from '../../infra/local/ports.ts';
import { findPrograms } from '../../infra/local/programs.ts';
import { silentReport } from '../../infra/local/report.ts';
import { waitUntilReady } from '../../infra/local/server.ts';
import {
  createServers,
  startServers,
  stopServers,
  type ServerName,
  type Servers,
} from '../../infra/local/servers.ts';
import { readyAnswers } from '../../infra/local/service-server.ts';
import { serviceCommand, services, type ServiceSpec } from '../../infra/local/services.ts';
import { engineSocket } from './docker-engine.ts';
import { takePort } from './free-ports.ts';

/** A server that a test may kill and start again on the same port and data. */
export interface ServerHandle {
  readonly name: string;
  readonly port: number;
  readonly pid: number | undefined;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** SIGKILL unless told otherwise; resolves when it has ended (at once for SIGSTOP and SIGCONT). */
  kill(signal?: NodeJS.Signals): Promise<Exit | undefined>;
  stop(): Promise<void>;
}

/** A service that a test has spawned. */
export interface ServiceHandle {
  readonly name: string;
  readonly pid: number;
  /** Its HTTP address, without a path. */
  readonly url: string;
  /** Everything it has printed so far. */
  log(): string;
  /** Resolves when `/ready` answers 200; rejects with its last lines when it ends before. */
  ready(patience_ms?: number): Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
  waitExit(): Promise<Exit>;
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

const PREFIX = 'clt-test-stack-';
/** A broker that lives as long as a test is not worth the second compiler's time; one that is measured is. */
const KAFKA_JAVA = process.env['VITEST'] === undefined ? [] : ['-XX:TieredStopAtLevel=1'];
const never = new AbortController().signal;

/** Ends and removes what killed test runs left behind. */
export async function removeAbandoned(): Promise<void> {
  for (const entry of readdirSync(tmpdir())) {
    if (!entry.startsWith(PREFIX)) continue;
    const folder = folderAt(join(tmpdir(), entry));
    const taken = claim(folder.claim_file);
    if (!taken.held) continue;
    await stopLeftovers(folder, 2_000);
    removeShelter(folder);
    rmSync(folder.root, { recursive: true, force: true });
  }
}

function specOf(name: string): ServiceSpec {
  const spec = services.find((each) => each.name === name);
  if (spec === undefined)
    throw new Error(
      `no service is called ${name}; there are ${services.map((each) => each.name).join(', ')}`,
    );
  return spec;
}

function handleOf(spec: ServiceSpec, child: Child, ports: readonly number[]): ServiceHandle {
  const url = `http://127.0.0.1:${ports[0]}`;
  return {
    name: spec.name,
    pid: child.pid,
    url,
    log: () => readFileSync(child.log_file, 'utf8'),
    ready: (patience_ms = 45_000) =>
      waitUntilReady(child, ports, () => readyAnswers(url), patience_ms, never),
    kill: async (signal = 'SIGKILL') => {
      if (child.exited !== undefined) return;
      child.signal(signal);
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await child.exit;
    },
    waitExit: () => child.exit,
  };
}

/** A folder that this process holds from the moment that it has its name. */
function makeFolder(): Folder {
  const unnamed = mkdtempSync(join(tmpdir(), 'clt-test-new-'));
  claim(folderAt(unnamed).claim_file);
  const named = folderAt(join(tmpdir(), `${PREFIX}${basename(unnamed).slice(-6)}`));
  renameSync(unnamed, named.root);
  // Postgres runs under another account when this one is root, and must reach its data.
  chmodSync(named.root, 0o711);
  openFolder(named);
  return named;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The last resort: when this process ends without having stopped its stack, the stack is killed. Gives what undoes this. */
function killAtExit(folder: Folder): () => void {
  const killAll = (): void => {
    for (const { identity } of leftoversIn(folder)) process.kill(identity.pid, 'SIGKILL');
    removeShelter(folder);
    rmSync(folder.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
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

async function localServers(folder: Folder, ports: Ports): Promise<Servers> {
  const cache = cacheOf(process.env);
  const programs = await findPrograms(cache, process.env, silentReport, never);
  await archiveClasses(cache, folder, programs, ports, silentReport, never);
  return createServers(folder, programs, ports, KAFKA_JAVA);
}

/** Starts a stack of its own on free ports, beside any other, with its own data; `services` names what else to start (true: all of them). */
export async function startStack(
  options: { readonly services?: boolean | readonly string[] } = {},
): Promise<Stack> {
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
  const addresses = localAddresses(ports);
  const spawned: Child[] = [];

  const socket = await engineSocket();
  const local = socket === undefined ? await localServers(folder, ports) : undefined;
  const servers: Stack['servers'] =
    local ?? (await import('./containers.ts')).containerServers(ports);

  const stop = async (): Promise<void> => {
    await Promise.all(spawned.map((child) => child.stop('SIGKILL', 0)));
    if (local === undefined)
      await Promise.all(Object.values(servers).map((server) => server.stop()));
    else await stopServers(local);
    forget();
    for (const one of taken) one.release();
    removeShelter(folder);
    rmSync(folder.root, { recursive: true, force: true });
  };

  const spawnService: Stack['spawnService'] = async (name, extra = {}) => {
    const spec = specOf(name);
    const earlier = spawned.filter((child) => child.name.startsWith(`${name}-`));
    const doubled = earlier.some((child) => child.exited === undefined);
    const own: Record<PortName, number> = { ...ports };
    if (doubled) for (const port of spec.ports) own[port] = await nextPort();
    const place = { http_host: '127.0.0.1', ports: own, data: join(folder.data, name) };
    const command = serviceCommand(spec, defaultCommon, addresses, place, {}, extra);
    const child = await spawnChild(`${name}-${earlier.length + 1}`, command, folder);
    spawned.push(child);
    return handleOf(
      spec,
      child,
      spec.ports.map((port) => own[port]),
    );
  };

  try {
    if (local === undefined)
      await Promise.all(Object.values(servers).map((server) => server.start()));
    else await startServers(local, never);
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
