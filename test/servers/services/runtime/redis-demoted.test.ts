/** A primary that becomes a replica while clients are connected to it, as in a fail-over. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { challengeOf } from '../../../../schemas/sign-in.ts';
import { SignIns } from '../../../../services/hub-gateway/graphql/authentication.ts';
import { RateLimit } from '../../../../services/runtime/limits/rate.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import {
  openNotificationPublisher,
  openNotificationSubscriber,
} from '../../../../services/runtime/redis.ts';
import { openSharedCounts, type SharedCounts } from '../../../../services/runtime/shared-counts.ts';
import { FaultProxy } from '../../../support/fault-proxy.ts';
import { startTwoRedis, type TwoRedis } from '../../../support/own-redis.ts';
import { SECRET } from '../../../support/tokens.ts';
import { walletOf } from '../../../support/wallets.ts';

const CHANNEL = 'test';

let servers: TwoRedis;
let first: Redis;
/** the address that a provider moves to the new primary */
let proxy: FaultProxy;
let metrics: Metrics;
const lines: string[] = [];
const log = openLog({
  service: 'test',
  level: 'info',
  destination: { write: (line) => void lines.push(JSON.parse(line).msg) },
});
const closing: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  servers = await startTwoRedis();
  const [port] = servers.ports;
  first = new Redis({ port });
  proxy = await FaultProxy.open({ port });
  metrics = new Metrics('test');
  lines.length = 0;
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  first.disconnect();
  await proxy.close();
  await servers.stop();
});

function settings() {
  return { redis_url: `redis://127.0.0.1:${proxy.port}` };
}

function openCounts(): SharedCounts {
  const counts = openSharedCounts(settings(), 'test', log, metrics);
  closing.push(() => counts.close());
  return counts;
}

async function isShared(): Promise<boolean> {
  return /limits_shared\{.*\} 1\n/.test(await metrics.text());
}

/** The first server becomes a replica of the second one; its clients stay connected. */
async function demote(): Promise<void> {
  await first.replicaof('127.0.0.1', servers.ports[1]);
  await expect.poll(() => first.info('replication')).toContain('master_link_status:up');
}

test('a publisher and limits go to the new primary, and a subscriber of the old one hears', async () => {
  const publisher = openNotificationPublisher(settings(), 'test', log, metrics);
  const heard = new Set<string>();
  const subscriber = openNotificationSubscriber(
    settings(),
    'test',
    [CHANNEL],
    { onNotification: (_, message) => heard.add(message), onSubscribed: () => undefined },
    log,
  );
  closing.push(
    () => publisher.close(),
    () => subscriber.close(),
  );
  const counts = openCounts();
  const arrives = async (message: string): Promise<void> => {
    await expect
      .poll(() => {
        publisher.publish(CHANNEL, message);
        return heard.has(message);
      })
      .toBe(true);
  };
  await arrives('before');
  await expect.poll(isShared).toBe(true);

  await demote();
  proxy.upstream = servers.ports[1];
  await arrives('after');
  const second = new Redis({ port: servers.ports[1] });
  closing.push(() => Promise.resolve(second.disconnect()));
  // a publisher at the old primary reaches nobody who is connected to the new one
  const at_second = new Set<string>();
  second.on('message', (_, message) => at_second.add(message));
  await second.subscribe(CHANNEL);
  await expect
    .poll(() => {
      publisher.publish(CHANNEL, 'to both');
      return at_second.has('to both') && heard.has('to both');
    })
    .toBe(true);

  const limit = new RateLimit({ rate_per_second: 0.001, rate_burst: 5 }, { name: 'test', counts });
  await expect
    .poll(async () => {
      await limit.takeExactly(randomUUID());
      return (await first.keys('limits:test:*')).length;
    })
    .toBeGreaterThan(0);
  expect(await isShared()).toBe(true);
});

test('while no primary is found limits count in the process alone, and say so once', async () => {
  const counts = openCounts();
  await expect.poll(isShared).toBe(true);
  const wallet = walletOf('raw', randomUUID());
  const signing = {
    jwt_secret: SECRET,
    chain_id: 7777,
    jwt_expiration_hours: 6,
    auth_single_use: true,
  };
  const hub = new SignIns(signing, Date.now, counts);
  const timestamp = Math.floor(Date.now() / 1_000) + 60;
  const signature = await wallet.sign(challengeOf(7777, wallet.publicKey, timestamp));
  const signIn = async (): Promise<unknown> => {
    const signed = await hub.signIn({ publicKey: wallet.publicKey, timestamp, signature });
    return 'refused' in signed ? signed.refused : 'used';
  };

  await demote();
  expect(await signIn()).toBe('used');
  expect(await signIn()).toBe('used_before');
  const limit = new RateLimit({ rate_per_second: 0.001, rate_burst: 5 }, { name: 'test', counts });
  for (let at = 0; at < 5; at++) expect(await limit.takeExactly('a client')).toBe(0);
  expect(await limit.takeExactly('a client')).toBeGreaterThan(0);
  // it asks for the primary again and again
  const asked = proxy.counts.connections;
  await expect.poll(() => proxy.counts.connections).toBeGreaterThan(asked + 3);
  expect(await isShared()).toBe(false);
  expect(lines).toEqual(['Redis does not count; limits count in this process alone until it does']);

  proxy.upstream = servers.ports[1];
  await expect.poll(isShared).toBe(true);
  expect(lines.slice(1)).toEqual(['Redis counts again']);
});
