import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import {
  openNotificationPublisher,
  openNotificationSubscriber,
  type NotificationPublisher,
  type NotificationSubscriber,
} from '../../../../services/runtime/redis.ts';
import { FaultProxy } from '../../../support/fault-proxy.ts';

let proxy: FaultProxy;
let url: string;
let channel: string;
const closing: { close(): Promise<void> }[] = [];
const logged: string[] = [];
const log = openLog({
  service: 'test',
  level: 'info',
  destination: { write: (line) => void logged.push(line) },
});
let channels = 0;

beforeEach(async () => {
  const direct = inject('stack').redis_url;
  proxy = await FaultProxy.open({ port: Number(new URL(direct).port) });
  url = proxy.url(direct);
  channel = `test:${process.pid}:${++channels}`;
  logged.length = 0;
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((each) => each.close()));
  await proxy.close();
});

function publisher(metrics = new Metrics('test')): NotificationPublisher {
  const opened = openNotificationPublisher({ redis_url: url }, 'test-publisher', log, metrics);
  closing.push(opened);
  return opened;
}

interface Heard {
  readonly notifications: string[];
  subscribed: number;
}

function subscriber(): Heard {
  const heard: Heard = { notifications: [], subscribed: 0 };
  const opened: NotificationSubscriber = openNotificationSubscriber(
    { redis_url: url },
    'test-subscriber',
    [channel, `${channel}:other`],
    {
      onNotification: (from, message) =>
        heard.notifications.push(`${from.slice(channel.length)}=${message}`),
      onSubscribed: () => heard.subscribed++,
    },
    log,
  );
  closing.push(opened);
  return heard;
}

/** Publishes `message` until it is received: notifications before the connection are dropped. */
async function arrives(
  notifications: NotificationPublisher,
  heard: Heard,
  message: string,
): Promise<void> {
  await expect
    .poll(() => {
      notifications.publish(channel, message);
      return heard.notifications;
    })
    .toContain(`=${message}`);
}

async function counted(metrics: Metrics, outcome: string): Promise<number> {
  return Number(
    new RegExp(`redis_notifications_total\\{outcome="${outcome}",service="test"\\} (\\d+)`).exec(
      await metrics.text(),
    )?.[1] ?? 0,
  );
}

test('a notification reaches the subscribers of its channel, and is counted', async () => {
  const metrics = new Metrics('test');
  const [notifications, heard] = [publisher(metrics), subscriber()];
  await expect.poll(() => heard.subscribed).toBe(1);
  await arrives(notifications, heard, 'first');
  notifications.publish(`${channel}:nobody`, 'lost');
  notifications.publish(`${channel}:other`, 'second');
  await expect.poll(() => heard.notifications.at(-1)).toBe(':other=second');
  expect(await counted(metrics, 'published')).toBeGreaterThanOrEqual(3);
});

test('while Redis is away notifications are dropped and counted, and both sides reconnect', async () => {
  const metrics = new Metrics('test');
  const [notifications, heard] = [publisher(metrics), subscriber()];
  await arrives(notifications, heard, 'before');
  const droppedBefore = await counted(metrics, 'dropped');

  proxy.mode = 'reset_before';
  proxy.cut();
  await expect.poll(() => logged.join()).toContain('Redis is away');
  await expect
    .poll(async () => {
      notifications.publish(channel, 'during');
      return await counted(metrics, 'dropped');
    })
    .toBeGreaterThan(droppedBefore + 10);

  proxy.mode = 'pass';
  await expect.poll(() => heard.subscribed).toBe(2);
  await arrives(notifications, heard, 'after');
  expect(heard.notifications).not.toContain('=during');
  expect(logged.filter((line) => line.includes('Redis is back')).length).toBeGreaterThan(0);
});

test('with a Redis that never answers a bounded number of notifications is held', async () => {
  const metrics = new Metrics('test');
  const [notifications, heard] = [publisher(metrics), subscriber()];
  await arrives(notifications, heard, 'before');
  const droppedBefore = await counted(metrics, 'dropped');
  proxy.mode = 'black_hole';
  for (let at = 0; at < 5_000; at++) notifications.publish(channel, 'into the hole');
  expect(await counted(metrics, 'dropped')).toBeGreaterThanOrEqual(droppedBefore + 4_000);
  await expect.poll(() => proxy.counts.black_hole).toBeGreaterThan(0);
  proxy.mode = 'pass';
  await arrives(notifications, heard, 'after');
  expect(await counted(metrics, 'dropped')).toBeGreaterThanOrEqual(droppedBefore + 5_000);
});

test('a publisher can be closed while Redis is away', async () => {
  proxy.mode = 'reset_before';
  const [notifications, heard] = [publisher(), subscriber()];
  await expect.poll(() => logged.join()).toContain('Redis is away');
  notifications.publish(channel, 'nowhere');
  await Promise.all(closing.splice(0).map((each) => each.close()));
  expect(heard).toEqual({ notifications: [], subscribed: 0 });
});
