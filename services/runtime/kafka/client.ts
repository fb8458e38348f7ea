/** Clients of the brokers, as every service opens them. */
import { setTimeout as after } from 'node:timers/promises';
import type { KafkaOptions } from '../process/kafka-settings.ts';
import type { Logger } from '../process/log.ts';
import { openKafkajs } from './kafkajs/client.ts';
import { prefixed } from './prefix.ts';
import { kafkaFault, type Admin, type Kafka, type SocketFactory } from './port.ts';

export interface KafkaSettings extends KafkaOptions {
  /** host:port of at least one broker */
  readonly kafka_brokers: readonly string[];
  readonly client_id: string;
  /** smaller batches are not compressed */
  readonly compressed_bytes_min?: number | undefined;
  /** opens connections; by default to the address that a broker advertises */
  readonly socket_factory?: SocketFactory;
}

export function openKafka(settings: KafkaSettings, log: Logger): Kafka {
  return prefixed(openKafkajs(settings, log), settings.kafka_prefix ?? '');
}

const DISCONNECT_MS = 3_000;

/** Disconnects a client, and waits at most `ms` for a broker that no longer answers. */
export async function disconnect(
  client: { disconnect(): Promise<void> },
  log?: Logger,
  ms = DISCONNECT_MS,
): Promise<void> {
  const disconnected = client
    .disconnect()
    .catch((error: unknown) =>
      log?.warn({ err: error }, 'a Kafka client was not disconnected cleanly'),
    );
  await Promise.race([disconnected, after(ms, undefined, { ref: false })]);
}

/** Runs with its own admin client. Throws a fault with retry when the brokers do not answer. */
export async function withAdmin<Result>(
  kafka: Kafka,
  use: (admin: Admin) => Promise<Result>,
): Promise<Result> {
  const admin = kafka.admin();
  try {
    return await use(admin);
  } catch (cause) {
    throw kafkaFault('the Kafka brokers did not answer', cause);
  } finally {
    await disconnect(admin);
  }
}
