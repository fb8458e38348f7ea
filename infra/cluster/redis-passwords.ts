/**
 * Gives running servers of Redis and their sentinels a password, by which they know each other too.
 * Connections that are open stay. Sources: https://redis.io/docs/latest/operate/oss_and_stack/
 * (ACL, Sentinel: "Reconfiguring Sentinel at Runtime").
 */
import { Redis, ReplyError } from 'ioredis';
import { REDIS_NAME } from './redis.ts';

export interface RedisPasswords {
  readonly password: string;
  /** The password before, which is taken too; undefined: it is refused from now on. */
  readonly before: string | undefined;
}

interface Place {
  readonly host: string;
  readonly port: number;
  /** PEM of the authority */
  readonly ca: string;
}

export async function settleRedis(
  servers: readonly Place[],
  sentinels: readonly Place[],
  passwords: RedisPasswords,
): Promise<void> {
  const { password, before } = passwords;
  const taken = [password, ...(before === undefined ? [] : [before])].map((each) => `>${each}`);
  // each takes the new one before another one uses it
  for (const place of [...servers, ...sentinels])
    await asDefault(place, passwords, (redis) =>
      redis.call('ACL', 'SETUSER', 'default', 'resetpass', ...taken),
    );
  for (const place of servers)
    await asDefault(place, passwords, async (redis) => {
      await redis.call('CONFIG', 'SET', 'masterauth', password);
      await redis.call('CONFIG', 'REWRITE');
    });
  for (const place of sentinels)
    await asDefault(place, passwords, async (redis) => {
      await redis.call('SENTINEL', 'SET', REDIS_NAME, 'auth-pass', password);
      await redis.call('SENTINEL', 'CONFIG', 'SET', 'sentinel-pass', password);
      await redis.call('SENTINEL', 'FLUSHCONFIG');
    });
}

/** By the password of now, or else by the one before. */
export async function asDefault<T>(
  place: Place,
  { password, before }: RedisPasswords,
  work: (redis: Redis) => Promise<T>,
): Promise<T> {
  const redis = await connected(place, password).catch((error: unknown) => {
    if (before === undefined || !(error instanceof ReplyError)) throw error;
    return connected(place, before);
  });
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Throws a ReplyError for a wrong password. */
async function connected({ host, port, ca }: Place, password: string): Promise<Redis> {
  const redis = new Redis({
    host,
    port,
    password,
    tls: { ca },
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // a refused password is told by an event alone
  let refused: Error | undefined;
  redis.on('error', (error) => (refused = error));
  const outcome = await redis.connect().catch((error: unknown) => error);
  if (refused === undefined && outcome === undefined) return redis;
  redis.disconnect();
  throw refused ?? outcome;
}
