import type { Programs } from '../fetch/programs.ts';
import { Server } from '../process/server.ts';
import type { Folder } from '../stack/folder.ts';
import type { Ports } from '../../services/ports.ts';
import { kafkaServer } from './kafka.ts';
import { postgresServer } from './postgres.ts';
import { redisServer } from './redis.ts';
import { registryServer } from './registry.ts';

/** In the order of the data flow; they are stopped in the opposite one. */
export const serverNames = ['kafka', 'postgres', 'registry', 'redis'] as const;
export type ServerName = (typeof serverNames)[number];
export type Servers = Readonly<Record<ServerName, Server>>;

/** The four servers of a stack, not started. `kafka_java`: further options of Kafka's Java. */
export function createServers(
  folder: Folder,
  programs: Programs,
  ports: Ports,
  kafka_java: readonly string[] = [],
): Servers {
  const { kafka, kafka_controller, postgres, registry, redis } = ports;
  return {
    kafka: new Server(kafkaServer(folder, programs, kafka, kafka_controller, kafka_java), folder),
    postgres: new Server(postgresServer(folder, programs, postgres), folder),
    registry: new Server(registryServer(folder, programs, registry), folder),
    redis: new Server(redisServer(folder, programs, redis), folder),
  };
}
