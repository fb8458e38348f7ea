import type { Programs } from '../fetch/programs.ts';
import { Server } from '../process/server.ts';
import type { Folder } from '../stack/folder.ts';
import type { Ports } from '../../services/ports.ts';
import { kafkaAnswers, kafkaProperties, kafkaServer, type KafkaNode } from './kafka.ts';
import { memorySettings, postgresServer } from './postgres.ts';
import { redisServer, redisSettings } from './redis.ts';
import { registryServer } from './registry.ts';

/** In the order of the data flow; they are stopped in the opposite one. */
export const serverNames = ['kafka', 'postgres', 'registry', 'redis'] as const;
export type ServerName = (typeof serverNames)[number];
export type Servers = Readonly<Record<ServerName, Server>>;

/** How the servers of a test differ from those of a user. */
export interface ServerOptions {
  /** further options of Kafka's Java */
  readonly kafka_java?: readonly string[];
  /** settings of Kafka, by name */
  readonly kafka_settings?: Readonly<Record<string, string>>;
  /** settings of Postgres, by name */
  readonly postgres_settings?: Readonly<Record<string, string>>;
}

/** The four servers of a stack, not started. */
export function createServers(
  folder: Folder,
  programs: Programs,
  ports: Ports,
  { kafka_java = [], kafka_settings = {}, postgres_settings = {} }: ServerOptions = {},
): Servers {
  const { kafka, kafka_controller, postgres, registry, redis } = ports;
  const node: KafkaNode = {
    name: 'kafka',
    ports: [kafka, kafka_controller],
    settings: (data) => ({ ...kafkaProperties(kafka, kafka_controller, data), ...kafka_settings }),
    java_options: kafka_java,
    isReady: () => kafkaAnswers(kafka),
  };
  // two fifths of the memory for the buffer cache
  const settings = { ...memorySettings(0.4), ...postgres_settings };
  const redis_args = ['--bind', '127.0.0.1', '--port', String(redis), ...redisSettings];
  return {
    kafka: new Server(kafkaServer(folder, programs, node), folder),
    postgres: new Server(
      postgresServer(folder, programs, 'postgres', postgres, () => ({ settings })),
      folder,
    ),
    registry: new Server(registryServer(folder, programs, registry), folder),
    redis: new Server(redisServer(folder, programs, 'redis', redis, redis_args), folder),
  };
}
