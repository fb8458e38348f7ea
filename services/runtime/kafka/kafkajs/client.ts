/** kafkajs 2.2.4 behind the port. */
import { createRequire } from 'node:module';
import kafkajs, { type ISocketFactory, type LogEntry as KafkajsEntry } from 'kafkajs';
import type { Logger } from '../../process/log.ts';
import type { KafkaSettings } from '../port.ts';
import type { Kafka } from '../port.ts';
import { KafkajsAdmin } from './admin.ts';
import { KafkajsAppender } from './appender.ts';
import { Connections } from './connections.ts';
import { FirstBroker } from './first-broker.ts';
import { KafkajsFetcher } from './fetcher.ts';
import { securityOf } from './security.ts';
import { KafkajsShare } from './share.ts';

const require = createRequire(import.meta.url);
const plainSocketFactory: () => ISocketFactory = require('kafkajs/src/network/socketFactory');

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly throttledUntil: number;
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

interface Connection {
  readonly connectionStatus: string;
  readonly broker: string;
  failIfNotConnected: (this: Connection) => void;
}

interface ConsumerGroup {
  /** of the newest heartbeat, Unix ms */
  lastRequest: number;
  heartbeat: (this: ConsumerGroup, options: { readonly interval: number }) => Promise<void>;
}

/** How long a coordinator may wait for the other members of a group, beyond a session. */
const JOIN_MS = 3_000;

let isPatched = false;

function patchKafkajs(): void {
  if (isPatched) return;
  isPatched = true;
  patchIdleTimer();
  patchClosingConnection();
  patchHeartbeat();
}

/**
 * kafkajs 2.2.4 re-arms its check for pending requests with a negative timeout when there are none,
 * which wakes an idle process 1,800 times a second.
 */
function patchIdleTimer(): void {
  const { prototype }: { prototype: RequestQueue } = require('kafkajs/src/network/requestQueue');
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this);
  };
}

/**
 * kafkajs 2.2.4 takes requests on a connection that is closing. A request that comes after the last
 * one was answered is never sent and never times out: its caller would wait for ever.
 */
function patchClosingConnection(): void {
  const { prototype }: { prototype: Connection } = require('kafkajs/src/network/connection');
  const failIfNotConnected = prototype.failIfNotConnected;
  prototype.failIfNotConnected = function (this: Connection): void {
    if (this.connectionStatus === 'disconnecting')
      throw new kafkajs.KafkaJSConnectionError('the connection is closing', {
        broker: this.broker,
      });
    failIfNotConnected.call(this);
  };
}

/**
 * kafkajs 2.2.4 sends the next heartbeat when the clock of the machine is an interval further. Once
 * that clock is set back, a member would be silent until it is where it was, and lose its lease.
 */
function patchHeartbeat(): void {
  const { prototype }: { prototype: ConsumerGroup } = require('kafkajs/src/consumer/consumerGroup');
  const heartbeat = prototype.heartbeat;
  prototype.heartbeat = function (this: ConsumerGroup, options): Promise<void> {
    this.lastRequest = Math.min(this.lastRequest, Date.now());
    return heartbeat.call(this, options);
  };
}

export function openKafkajs(settings: KafkaSettings, clientId: string, log: Logger): Kafka {
  patchKafkajs();
  const { socket_factory: openSocket } = settings;
  const first = new FirstBroker(settings.kafka_brokers);
  const socketFactory = first.watching(openSocket ?? plainSocketFactory());
  const requestMs = settings.kafka_request_ms ?? 10_000;
  const open = (requestTimeout: number, opening = socketFactory): kafkajs.Kafka =>
    new kafkajs.Kafka({
      clientId,
      brokers: () => [first.next()],
      ...securityOf(settings),
      connectionTimeout: settings.kafka_connect_ms ?? 3_000,
      requestTimeout,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: settings.retries ?? 5 },
      logLevel: kafkajs.logLevel.INFO,
      logCreator: () => (entry) => toLog(log, entry),
      socketFactory: opening,
    });
  const client = open(requestMs);
  return {
    replication_min: settings.kafka_replication_min ?? 1,
    prefix: '',
    admin: () => new KafkajsAdmin(() => client.admin()),
    appender: () => new KafkajsAppender(client, requestMs, settings.compressed_bytes_min),
    fetcher: () => new KafkajsFetcher(client, settings.kafka_rack),
    // a frozen coordinator is given up soon; a sound one waits for other members
    share(options) {
      const connections = new Connections();
      const answerMs = Math.min(requestMs, options.session_ms + JOIN_MS);
      const own = open(answerMs, connections.through(socketFactory));
      return new KafkajsShare(own, connections, options);
    },
  };
}

/** kafkajs logs short disconnects as errors; code that retries logs the lasting ones itself. */
function toLog(
  log: Logger,
  {
    level,
    namespace,
    log: { message, logger: _logger, timestamp: _timestamp, stack: _stack, ...rest },
  }: KafkajsEntry,
): void {
  const entry = { kafkajs: namespace, ...rest };
  const { ERROR, WARN } = kafkajs.logLevel;
  if (level === ERROR || level === WARN) log.warn(entry, message);
  else log.debug(entry, message);
}
