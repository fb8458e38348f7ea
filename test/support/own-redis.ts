/** Redis servers of one test: one beside the run's other servers, or two alone. */
import { inject } from 'vitest';
import { cacheFolder } from '../../infra/local/fetch/cache.ts';
import { findPrograms } from '../../infra/local/fetch/programs.ts';
import { Server } from '../../infra/local/process/server.ts';
import { redisServer, redisSettings } from '../../infra/local/servers/redis.ts';
import { takePort } from './free-ports.ts';
import { removeSystem } from './kept-logs.ts';
import { silentReport } from './silent-report.ts';
import { killAtExit, makeFolder, startStack, type Stack } from './stack.ts';

/** The run's servers, but for a Redis of its own: nobody else publishes there. */
export async function startOwnRedis(): Promise<Stack> {
  const { kafka_brokers, registry_url, postgres_url, postgres_reader_url } = inject('stack');
  const others = { kafka_brokers, registry_url, postgres_url, postgres_reader_url };
  return await startStack({ others });
}

/** They may be made replicas of each other. */
export interface TwoRedis {
  readonly ports: readonly [number, number];
  stop(): Promise<void>;
}

export async function startTwoRedis(): Promise<TwoRedis> {
  const folder = makeFolder();
  const forget = killAtExit(folder);
  const signal = new AbortController().signal;
  const programs = await findPrograms(cacheFolder(process.env), process.env, silentReport, signal);
  const taken = [await takePort(), await takePort()] as const;
  const servers = taken.map(({ port }, at) => {
    const own = ['--bind', '127.0.0.1', '--port', String(port), '--repl-diskless-sync-delay', '0'];
    const args = [...own, ...redisSettings];
    return new Server(redisServer(folder, programs, `redis-${at + 1}`, port, args), folder);
  });
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    forget();
    for (const { release } of taken) release();
    removeSystem(folder);
  };
  try {
    await Promise.all(servers.map((server) => server.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { ports: [taken[0].port, taken[1].port], stop };
}
