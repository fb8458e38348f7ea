import type { Folder } from './folder.ts';
import { kafkaServer } from './kafka.ts';
import type { Ports } from './ports.ts';
import { postgresServer } from './postgres.ts';
import type { Programs } from './programs.ts';
import { redisServer } from './redis.ts';
import { registryServer } from './registry.ts';
import { Server } from './server.ts';

export const serverNames = ['kafka', 'postgres', 'registry', 'redis'] as const;
export type ServerName = (typeof serverNames)[number];
export type Servers = Readonly<Record<ServerName, Server>>;

/** Killed in a load it redoes gigabytes of its log before it answers; stopped, it first writes out what is in memory alone. */
export const POSTGRES_LIMITS = { ready_ms: 300_000, stop_ms: 120_000 };

/** The four servers of one stack; none is started yet. */
export function createServers(
  folder: Folder,
  programs: Programs,
  ports: Ports,
  kafka_java: readonly string[] = [],
): Servers {
  return {
    kafka: new Server(
      kafkaServer(folder, programs, ports.kafka, ports.kafka_controller, kafka_java),
      folder,
    ),
    postgres: new Server(postgresServer(folder, programs, ports.postgres), folder, POSTGRES_LIMITS),
    registry: new Server(registryServer(folder, programs, ports.registry), folder),
    redis: new Server(redisServer(folder, programs, ports.redis), folder),
  };
}

/** Starts them all at once and resolves when each answers. When one fails, or `signal` aborts, none is left running. */
export async function startServers(
  servers: Servers,
  signal: AbortSignal,
  started: (server: Server, after_ms: number) => void = () => undefined,
): Promise<void> {
  const others = new AbortController();
  const either = AbortSignal.any([signal, others.signal]);
  const begun = performance.now();
  const faults: unknown[] = [];
  await Promise.all(
    serverNames.map(async (name) => {
      try {
        await servers[name].start(either);
        started(servers[name], performance.now() - begun);
      } catch (error) {
        faults.push(error);
        others.abort();
      }
    }),
  );
  if (faults.length === 0) return;
  await stopServers(servers);
  signal.throwIfAborted();
  throw faults[0];
}

/** Ends them one after the other, the log last: whoever still writes to it may finish. */
export async function stopServers(servers: Servers): Promise<void> {
  for (const name of serverNames.toReversed()) await servers[name].stop();
}
