import { join } from 'node:path';
import { postgresUrl } from '../../postgres/databases.ts';
import { analyst, database, reader, writer } from '../../postgres/settings.ts';
import { portNames, type Ports } from '../../services/ports.ts';
import {
  serviceEnvironment,
  type Addresses,
  type Environment,
  type ServiceSpec,
} from '../../services/services.ts';
import type { StackSettings } from '../../services/settings.ts';
import type { Command } from '../process/child.ts';
import { plainEnvironment } from '../process/run-program.ts';
import { Halted, Server, Working } from '../process/server.ts';
import { registry_path } from '../servers/registry.ts';
import { checkout, type Folder } from './folder.ts';
import { http } from './stack-file.ts';

/** Node's compile cache halves the start time of a service. */
const COMPILE_CACHE = join(checkout, 'node_modules', '.cache', 'node');
const READY_MS = 600_000;
/** for ending after the drain */
const GRACE_MS = 5_000;

/** The addresses of a stack on this machine. */
export function localAddresses(ports: Ports): Addresses {
  const postgres = `127.0.0.1:${ports.postgres}`;
  return {
    kafka_brokers: `127.0.0.1:${ports.kafka}`,
    registry_url: `http://127.0.0.1:${ports.registry}${registry_path}`,
    postgres_url: postgresUrl(writer, postgres, database),
    postgres_reader_url: postgresUrl(reader, postgres, database),
    postgres_analyst_url: postgresUrl(analyst, postgres, database),
    redis_url: `redis://127.0.0.1:${ports.redis}`,
    node_url: http(ports.node),
    tron_url: http(ports.tron),
    treasury_url: http(ports.treasury),
  };
}

/** The command that runs a service in this environment; `isWatched`: anew after each change. */
export function serviceCommand(
  spec: ServiceSpec,
  environment: Environment,
  isWatched = false,
): Command {
  return {
    file: process.execPath,
    // kafkajs sets timers with a negative time, and Node warns of each.
    args: [
      '--disable-warning=TimeoutNegativeWarning',
      ...(isWatched ? ['--watch', '--watch-preserve-output', '--inspect=127.0.0.1:9229'] : []),
      join(checkout, spec.entry),
      ...spec.args,
    ],
    // as in the image: graphql-js checks less in production
    env: plainEnvironment({
      NODE_ENV: 'production',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...environment,
    }),
    cwd: checkout,
  };
}

/** The body of `GET /status`. */
interface Status {
  readonly status: 'starting' | 'working' | 'waiting' | 'ready' | 'halted';
  readonly phase: string;
  readonly waits_for: string | null;
  readonly eta_s: number | null;
  readonly message: string | null;
}

async function readStatus(url: string): Promise<Status> {
  const response = await fetch(`${url}/status`, { signal: AbortSignal.timeout(2_000) });
  const status: Status = JSON.parse(await response.text());
  return status;
}

/** Whether a service is ready. Waiting for a projection is work while its projector works. */
export async function serviceIsReady(url: string, ports: Ports): Promise<boolean> {
  const own = await readStatus(url);
  const { status, phase, waits_for, eta_s, message } = own;
  if (status === 'ready') return true;
  const activity = waits_for === null ? phase.replaceAll('_', ' ') : `waiting for ${waits_for}`;
  const text = eta_s === null ? activity : `${activity}, about ${eta_s} s left`;
  const projector = portNames.find(
    (name) => name === waits_for?.replace('projection:', 'projector_'),
  );
  const worker =
    projector === undefined ? own : await readStatus(http(ports[projector])).catch(() => own);
  if (worker.status === 'working')
    throw new Working(text, JSON.stringify([worker.phase, worker.eta_s, worker.message]));
  if (worker.status === 'halted') throw new Halted(worker.message ?? text);
  throw new Error(message ?? text);
}

async function serviceIsHalted(url: string): Promise<boolean> {
  // one that does not answer is not known to be halted
  const { status } = await readStatus(url).catch(() => ({ status: undefined }));
  return status === 'halted';
}

/** A service of the table as a server that can be started, stopped and started again. */
export function serviceServer(
  spec: ServiceSpec,
  settings: StackSettings,
  at: Addresses,
  ports: Ports,
  folder: Folder,
  user: Environment,
  instance: {
    readonly name: string;
    /** as of its next start, since passwords change */
    readonly environment: () => Environment;
    readonly is_watched?: boolean;
  } = { name: spec.name, environment: () => ({}) },
): Server {
  const [first, ...others] = spec.ports;
  const place = { http_host: '127.0.0.1', ports, data: join(folder.data, spec.name) };
  const environment = serviceEnvironment(spec, settings, at, place, user);
  return new Server(
    {
      name: instance.name,
      ports: [ports[first], ...others.map((name) => ports[name])],
      ready_ms: READY_MS,
      stop_ms: Number(settings.APP_DRAIN_MS) + GRACE_MS,
      prepare: (_signal, set) =>
        Promise.resolve(
          serviceCommand(
            spec,
            { ...environment, ...instance.environment(), ...set },
            instance.is_watched,
          ),
        ),
      isReady: () => serviceIsReady(http(ports[spec.ops_port]), ports),
      isHalted: () => serviceIsHalted(http(ports[spec.ops_port])),
    },
    folder,
  );
}
