import { createConnection } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Programs } from '../fetch/programs.ts';
import { plainEnvironment } from '../process/run-program.ts';
import type { ServerSpec } from '../process/server.ts';
import type { Folder } from '../stack/folder.ts';

/**
 * Containers run a newer one than the local stack. The digest is that of Docker's record of
 * official images.
 */
export const redis_image =
  'redis:8.2.9@sha256:66b7f4c2f3c6ef1b298bbd7b13c806bc6f71e61f1136a4f58710daf2cb053b21';

/** Redis carries change notifications only, so nothing is written to disk. */
export const redisSettings: readonly string[] = ['--save', '', '--appendonly', 'no'];

/** How a secured Redis is reached. */
export interface RedisAccess {
  readonly password: string;
  /** the certificate of its authority, PEM */
  readonly ca: string;
}

/** Whether Redis on this port of 127.0.0.1 answers a PING. */
export async function redisAnswers(port: number, access?: RedisAccess): Promise<boolean> {
  const at = { port, host: '127.0.0.1' };
  const socket = access === undefined ? createConnection(at) : connectTls({ ...at, ca: access.ca });
  socket.setTimeout(1_000, () => socket.destroy());
  socket.write(access === undefined ? 'PING\r\n' : `AUTH ${access.password}\r\nPING\r\n`);
  let answer = '';
  // ends also when Redis closes the connection, as one does that is being stopped
  for await (const piece of socket) {
    answer += String(piece);
    if (answer.startsWith(access === undefined ? '+PONG' : '+OK\r\n+PONG')) return true;
    if (answer.startsWith('-')) return false;
  }
  return false;
}

export function redisServer(
  folder: Folder,
  programs: Programs,
  name: string,
  port: number,
  args: readonly string[],
  accessOf?: () => RedisAccess,
): ServerSpec {
  const command = { file: programs.redis_server, args, env: plainEnvironment(), cwd: folder.data };
  return {
    name,
    ports: [port],
    prepare: () => Promise.resolve(command),
    isReady: () => redisAnswers(port, accessOf?.()),
  };
}
