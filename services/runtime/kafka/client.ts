/** The Kafka client, as every service opens it. */
import { createRequire } from 'node:module';
import { setTimeout as after } from 'node:timers/promises';
import { Kafka, logLevel, type ISocketFactory, type LogEntry } from 'kafkajs';
import type { Logger } from '../process/log.ts';

const MIB = 1024 * 1024;

/** One record of 32 MiB fits with what surrounds it. */
export const FETCH_BYTES_MAX = 40 * MIB;

/** The part of kafkajs' request queue whose idle timer is kept from spinning. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly throttledUntil: number;
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

let calmed = false;

/** kafkajs 2.2.4 re-arms its check for pending requests with a negative time-out when there are none, which wakes an idle process 1,800 times a second. */
function calmIdleTimer(): void {
  if (calmed) return;
  calmed = true;
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
  /** how connections are made; the default dials the broker's advertised address */
  readonly socket_factory?: ISocketFactory;
}

export function openKafka(settings: KafkaSettings, log: Logger): Kafka {
  calmIdleTimer();
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

/** kafkajs reports every passing disconnect as an error; what matters of it reaches our own log from the code that retries. */
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

/** Disconnects a client in order; a broker that does not answer any more keeps nobody waiting for longer than `ms`. */
export async function disconnect(
  client: { disconnect(): Promise<void> },
  log: Logger,
  ms = 3_000,
): Promise<void> {
  const left = client
    .disconnect()
    .catch((error: unknown) =>
      log.warn({ err: error }, 'a Kafka client was not disconnected in order'),
    );
  await Promise.race([left, after(ms, undefined, { ref: false })]);
}
