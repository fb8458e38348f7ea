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

/**
 * Where the servers of tests run: as TEST_SERVERS says, `containers` or `local`; where it is not
 * set, in containers if an engine answers.
 */
export async function serversPlace(
  env: NodeJS.ProcessEnv = process.env,
): Promise<'containers' | 'local'> {
  const chosen = env['TEST_SERVERS'] ?? '';
  if (chosen === 'local') return 'local';
  if (chosen !== '' && chosen !== 'containers')
    throw new Error(`TEST_SERVERS is ${chosen}: set it to containers or local`);
  if ((await engineSocket(env)) !== undefined) return 'containers';
  if (chosen === '') return 'local';
  throw new Error(
    'TEST_SERVERS is containers, and no Docker engine answers: start one, or name its socket in DOCKER_HOST',
  );
}

/** The socket of an engine that answers, or undefined. */
export async function engineSocket(
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const socket = socketPath(env);
  return socket !== undefined && (await engineAnswers(socket)) ? socket : undefined;
}
