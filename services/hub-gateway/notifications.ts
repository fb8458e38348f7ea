/** Notifications of the projections, through graphql-redis-subscriptions: one SUBSCRIBE a channel for the whole process, whatever its clients have subscribed to. */
import { RedisPubSub } from 'graphql-redis-subscriptions';
import type { Logger } from '../runtime/process/log.ts';
import { openNotificationConnection, type NotificationSettings } from '../runtime/redis.ts';

export interface Heard {
  /** a notification came on this channel, parsed */
  readonly onHint: (channel: string, notification: unknown) => void;
  /** the connection stands (again): what was published meanwhile is lost */
  readonly onConnected: () => void;
}

/** Begins to listen; goes on by itself whenever Redis comes back. */
export function openHints(
  settings: NotificationSettings,
  channels: readonly string[],
  { onHint, onConnected }: Heard,
  log: Logger,
): { readonly close: () => void } {
  const redis = openNotificationConnection(settings, log);
  // nothing is ever published here
  const pubsub = new RedisPubSub({ subscriber: redis, publisher: redis });
  const wanted = new Set(channels);
  const subscribe = async (channel: string): Promise<void> => {
    await pubsub.subscribe(channel, (notification: unknown) => onHint(channel, notification));
    wanted.delete(channel);
  };
  redis.on('ready', () => {
    // once subscribed, the connection subscribes again by itself
    const missing = [...wanted].map((channel) => subscribe(channel));
    Promise.all(missing).then(onConnected, (error: unknown) => {
      log.warn({ err: error }, 'subscribing failed');
      redis.disconnect(true);
    });
  });
  return { close: () => redis.disconnect() };
}
