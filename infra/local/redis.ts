import { createConnection } from 'node:net';
import { plainEnvironment } from './child.ts';
import type { Folder } from './folder.ts';
import type { Programs } from './programs.ts';
import type { ServerSpec } from './server.ts';
import { redis_version } from './versions.ts';

/** Redis carries notifications only: nothing of it is kept. */
export const redisSettings: readonly string[] = ['--save', '', '--appendonly', 'no'];

/** Whether a Redis on this port of 127.0.0.1 answers a PING. */
export async function redisAnswers(port: number): Promise<boolean> {
  return await new Promise<boolean>((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1', timeout: 1_000 });
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (answer: Buffer) => {
      resolve(answer.toString().startsWith('+PONG'));
      socket.destroy();
    });
    socket.once('timeout', () => socket.destroy(new Error('no answer within 1000 ms')));
    socket.once('error', reject);
    socket.once('close', () => resolve(false));
  });
}

export function redisServer(folder: Folder, programs: Programs, port: number): ServerSpec {
  return {
    name: 'redis',
    version: redis_version,
    ports: [port],
    stop_signal: 'SIGTERM',
    prepare: () =>
      Promise.resolve({
        file: programs.redis_server,
        args: ['--bind', '127.0.0.1', '--port', String(port), ...redisSettings],
        env: plainEnvironment(),
        cwd: folder.data,
      }),
    answers: () => redisAnswers(port),
  };
}
