/** The Kafka client, as every service opens it. */
import { createRequire } from 'node:module';
import { setTimeout as after } from 'node:timers/promises';
import { Kafka, logLevel, type Admin, type ISocketFactory, type LogEntry } from 'kafkajs';
import { Bug, Fault, messageOf } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import { LogLost } from './position.ts';

const MIB = 1024 * 1024;

/** Room for the largest record, 32 MiB, and its batch. */
export const FETCH_BYTES_MAX = 40 * MIB;

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly throttledUntil: number;
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

let isPatched = false;

/**
 * kafkajs 2.2.4 re-arms its check for pending requests with a negative timeout when there are none,
 * which wakes an idle process 1,800 times a second.
 */
function patchIdleTimer(): void {
  if (isPatched) return;
  isPatched = true;
  const { prototype }: { prototype: RequestQueue } = createRequire(import.meta.url)(
    'kafkajs/src/network/requestQueue',
  );
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this);
  };
}

export interface KafkaSettings {
  /** host:port of at least one broker */
  readonly kafka_brokers: readonly string[];
  readonly client_id: string;
  /** opens connections; by default to the address that a broker advertises */
  readonly socket_factory?: ISocketFactory;
}

export function openKafka(settings: KafkaSettings, log: Logger): Kafka {
  patchIdleTimer();
  return new Kafka({
    clientId: settings.client_id,
    brokers: [...settings.kafka_brokers],
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 },
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => toLog(log, entry),
    ...(settings.socket_factory === undefined ? {} : { socketFactory: settings.socket_factory }),
  });
}

/** kafkajs logs short disconnects as errors; code that retries logs the lasting ones itself. */
function toLog(
  log: Logger,
  {
    level,
    namespace,
    log: { message, logger: _logger, timestamp: _timestamp, stack: _stack, ...rest },
  }: LogEntry,
): void {
  const entry = { kafkajs: namespace, ...rest };
  if (level === logLevel.ERROR || level === logLevel.WARN) log.warn(entry, message);
  else log.debug(entry, message);
}

/** Disconnects a client, and waits at most `ms` for a broker that no longer answers. */
export async function disconnect(
  client: { disconnect(): Promise<void> },
  log: Logger,
  ms = 3_000,
): Promise<void> {
  const disconnected = client
    .disconnect()
    .catch((error: unknown) =>
      log.warn({ err: error }, 'a Kafka client was not disconnected cleanly'),
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
    await admin.connect();
    return await use(admin);
  } catch (cause) {
    throw kafkaFault('the Kafka brokers did not answer', cause);
  } finally {
    await admin.disconnect();
  }
}

/** A kafkajs error as a fault with retry. Faults, bugs and `LogLost` pass unchanged. */
export function kafkaFault(what: string, cause: unknown): Error {
  if (cause instanceof Fault || cause instanceof Bug || cause instanceof LogLost) return cause;
  return new Fault('kafka', `${what}: ${messageOf(cause)}`, { retry: true, cause });
}
