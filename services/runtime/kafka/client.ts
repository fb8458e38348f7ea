/** Clients of the brokers, as every service opens them. */
import { setTimeout as after } from 'node:timers/promises';
import type { Logger } from '../process/log.ts';
import { openKafkajs } from './kafkajs/client.ts';
import { prefixed } from './prefix.ts';
import { kafkaFault, type Admin, type Kafka, type KafkaSettings } from './port.ts';

/** `client_id`: the name that brokers log. */
export function openKafka(settings: KafkaSettings, clientId: string, log: Logger): Kafka {
  return prefixed(openKafkajs(settings, clientId, log), settings.kafka_prefix ?? '');
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
