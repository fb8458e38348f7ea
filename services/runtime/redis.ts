/**
 * Redis carries change notifications: keys, never rows. They may be lost or doubled: no process
 * waits for one, and none is queued for later. Limits count there too (`shared-counts.ts`).
 */
import { RedisPubSub } from 'graphql-redis-subscriptions';
import { Redis, type RedisOptions } from 'ioredis';
import type { Config, REDIS_SETTINGS } from './process/config.ts';
import { messageOf } from './process/errors.ts';
import type { Logger } from './process/log.ts';
import type { Metrics } from './process/metrics.ts';
import { NO_SPAN, type Span } from './process/tracing.ts';

/** Notifications in flight; further ones are dropped. */
const PENDING_MAX = 1_000;

/**
 * A demoted primary takes a plain PUBLISH, which then reaches its own clients alone. It refuses a
 * script that does not promise to write nothing, and the connection asks for the primary again.
 */
const PUBLISH = `#!lua
return redis.call('PUBLISH', ARGV[1], ARGV[2])`;

export interface RedisSettings extends Partial<Config<typeof REDIS_SETTINGS>> {
  readonly redis_url: string;
}

export interface NotificationPublisher {
  /**
   * Never throws or waits: while Redis is away, notifications are dropped and counted. `span` is
   * ended with the outcome.
   */
  publish(channel: string, message: string, span?: Span): void;
  close(): Promise<void>;
}

export interface NotificationSubscriber {
  close(): Promise<void>;
}

export function openNotificationPublisher(
  settings: RedisSettings,
  name: string,
  log: Logger,
  metrics: Metrics,
): NotificationPublisher {
  const redis = connect(settings, name, log, false);
  const notifications = metrics.counter('redis_notifications_total', 'Notifications by outcome', [
    'outcome',
  ]);
  const inFlight = new Set<Promise<void>>();

  const send = async (channel: string, message: string, span: Span): Promise<void> => {
    const outcome = await redis.eval(PUBLISH, 0, channel, message).then(
      () => 'published',
      () => 'dropped',
    );
    notifications.inc({ outcome });
    span.set('clt.outcome', outcome);
    span.end();
  };
  return {
    publish(channel, message, span = NO_SPAN) {
      if (redis.status !== 'ready' || inFlight.size >= PENDING_MAX) {
        span.end(new Error('Redis is away'));
        return notifications.inc({ outcome: 'dropped' });
      }
      const sending = send(channel, message, span);
      inFlight.add(sending);
      void sending.finally(() => inFlight.delete(sending));
    },
    async close() {
      await Promise.all(inFlight);
      redis.disconnect();
    },
  };
}

/**
 * Calls `onNotification` for each message of the channels, and `onSubscribed` after each
 * (re)connection: notifications in between are lost, so the caller must read again.
 */
export function openNotificationSubscriber(
  settings: RedisSettings,
  name: string,
  channels: readonly string[],
  heard: {
    readonly onNotification: (channel: string, message: string) => void;
    readonly onSubscribed: () => void;
  },
  log: Logger,
): NotificationSubscriber {
  const redis = connect(settings, name, log, true);

  const receive = async (channel: string, from: AsyncIterable<string>): Promise<void> => {
    for await (const message of from) heard.onNotification(channel, message);
  };
  /** Until the connection ends. */
  const receiveAll = async (): Promise<void> => {
    // those of the connection before
    redis.removeAllListeners('message').removeAllListeners('pmessage');
    const pubsub = new RedisPubSub({ subscriber: redis, publisher: redis, deserializer: String });
    const iterators = channels.map((channel): AsyncIterableIterator<string> =>
      pubsub.asyncIterableIterator(channel),
    );
    const receiving = iterators.map((iterator, at) => receive(channels[at] ?? '', iterator));
    // RedisPubSub lets only a second subscription hear that SUBSCRIBE has failed, and sends no
    // UNSUBSCRIBE, whose failure nobody could hear, as long as there is one
    const subscribed = channels.map((channel) => pubsub.subscribe(channel, () => undefined));
    try {
      await Promise.all(subscribed);
    } catch (error) {
      log.warn({ err: error }, 'subscribing failed');
      redis.disconnect(true);
      await Promise.allSettled([...iterators.map((iterator) => iterator.return?.()), ...receiving]);
      return;
    }
    redis.once('close', () => iterators.forEach((iterator) => void iterator.return?.()));
    heard.onSubscribed();
    await Promise.all(receiving);
  };
  redis.on('ready', () => void receiveAll());
  return { close: () => Promise.resolve(redis.disconnect()) };
}

/** `meanwhile`: how the process goes on while Redis is away. */
export function connect(
  settings: RedisSettings,
  name: string,
  log: Logger,
  subscribes: boolean,
  meanwhile = 'notifications are dropped',
): Redis {
  const redis = new Redis({
    ...addressOf(settings),
    connectionName: name,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    connectTimeout: 2_000,
    keepAlive: 5_000,
    retryStrategy: retryAfter,
    // a primary that was demoted
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    // a frozen server keeps its connections open: missing replies close them
    ...(subscribes ? {} : { socketTimeout: 3_000 }),
  });
  let away = '';
  redis.on('error', (error) => {
    // ioredis retries several times a second: repeated messages are not logged
    if (messageOf(error) === away) return;
    away = messageOf(error);
    log.warn({ err: error }, `Redis is away; ${meanwhile} until it is back`);
  });
  redis.on('ready', () => {
    if (away !== '') log.info('Redis is back');
    away = '';
  });
  return redis;
}

// ioredis refuses the option by type
type Address = Omit<RedisOptions, 'replyMapping'>;

/**
 * Where the server is, the account and TLS, which are those of the sentinels too. Sentinels name
 * the primary; the host of the URL is not used then.
 */
function addressOf(settings: RedisSettings): Address {
  const { redis_url, redis_tls_ca: redisTlsCa, redis_sentinels: redisSentinels } = settings;
  const url = new URL(redis_url);
  const tls = redisTlsCa === undefined ? {} : { ca: redisTlsCa };
  const common: Address = {
    db: Number(url.pathname.slice(1)),
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    ...(url.protocol === 'rediss:'
      ? { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }
      : {}),
  };
  if (redisSentinels === undefined)
    return { ...common, host: bare(url.hostname), port: Number(url.port || 6379) };
  const { redis_sentinel_name: redisSentinelName, redis_sentinel_password: redisSentinelPassword } =
    settings;
  return {
    ...common,
    sentinels: redisSentinels.map((address) => {
      const at = address.lastIndexOf(':');
      return { host: bare(address.slice(0, at)), port: Number(address.slice(at + 1)) };
    }),
    ...(redisSentinelName === undefined ? {} : { name: redisSentinelName }),
    ...(redisSentinelPassword === undefined ? {} : { sentinelPassword: redisSentinelPassword }),
    sentinelRetryStrategy: retryAfter,
    sentinelCommandTimeout: 2_000,
  };
}

/** An IPv6 address without its brackets. */
function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/** ms */
function retryAfter(times: number): number {
  return Math.min(100 * 2 ** Math.min(times, 4), 1_000);
}
