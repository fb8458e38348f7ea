import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { HANG_MS } from './limits.ts';

/** The socket that a Docker client of this environment would use, when it is a local one. */
export function socketPath(env: NodeJS.ProcessEnv): string | undefined {
  const host = env['DOCKER_HOST'];
  if (host === undefined || host === '') return '/var/run/docker.sock';
  return host.startsWith('unix://') ? host.slice('unix://'.length) : undefined;
}

/**
 * Whether a Docker engine answers `GET /_ping` with 200. A socket file or a
 * client alone proves nothing.
 */
export async function engineAnswers(socket: string, patience_ms = HANG_MS): Promise<boolean> {
  if (!existsSync(socket)) return false;
  return await new Promise<boolean>((resolve) => {
    const ping = request({ socketPath: socket, path: '/_ping', method: 'GET' }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    const timer = setTimeout(() => ping.destroy(), patience_ms);
    ping.once('close', () => {
      clearTimeout(timer);
      resolve(false);
    });
    // Any failure of the connection is the answer: no engine.
    ping.once('error', () => resolve(false));
    ping.end();
  });
}

/** The socket of an engine that answers, or undefined. */
export async function engineSocket(
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const socket = socketPath(env);
  return socket !== undefined && (await engineAnswers(socket)) ? socket : undefined;
}
