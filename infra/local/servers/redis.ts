import { createConnection } from 'node:net';
import type { Programs } from '../fetch/programs.ts';
import { plainEnvironment } from '../process/child.ts';
import type { ServerSpec } from '../process/server.ts';
import type { Folder } from '../stack/folder.ts';

export const redis_version = '7.0.15';
export const redis_image = `redis:${redis_version}`;

/** Redis carries change notifications only, so nothing is written to disk. */
export const redisSettings: readonly string[] = ['--save', '', '--appendonly', 'no'];

/** Whether Redis on this port of 127.0.0.1 answers a PING. */
export async function redisAnswers(port: number): Promise<boolean> {
  const socket = createConnection({ port, host: '127.0.0.1' });
  socket.setTimeout(1_000, () => socket.destroy());
  socket.write('PING\r\n');
  // ends also when Redis closes the connection, as one does that is being stopped
  for await (const answer of socket) return String(answer).startsWith('+PONG');
  return false;
}

export function redisServer(folder: Folder, programs: Programs, port: number): ServerSpec {
  const args = ['--bind', '127.0.0.1', '--port', String(port), ...redisSettings];
  const command = { file: programs.redis_server, args, env: plainEnvironment(), cwd: folder.data };
  return {
    name: 'redis',
    ports: [port],
    prepare: () => Promise.resolve(command),
    isReady: () => redisAnswers(port),
  };
}
