import { createServer } from 'node:net';
import {
  defaultPorts,
  portNames,
  portVariable,
  type PortName,
  type Ports,
} from '../../services/ports.ts';
import { codeOf, Refusal } from '../process/run-program.ts';

/** Ephemeral ports begin here: any program may get one of them. */
export const EPHEMERAL = 32_768;
/** Every user may listen from here on. */
export const UNPRIVILEGED = 1_024;

/** Reads the ports from the environment. Throws a Refusal that lists every bad or repeated one. */
export function readPorts(env: NodeJS.ProcessEnv): Ports {
  const problems: string[] = [];
  const taken_by = new Map<number, string>();
  const ports: Record<PortName, number> = { ...defaultPorts };
  for (const name of portNames) {
    const variable = portVariable(name);
    const text = env[variable] ?? String(defaultPorts[name]);
    const port = /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65_535) {
      problems.push(`${variable} must be a port from 1 to 65535, not "${text}"`);
      continue;
    }
    const other = taken_by.get(port);
    if (other !== undefined) problems.push(`${variable} and ${other} are both ${port}`);
    taken_by.set(port, variable);
    ports[name] = port;
  }
  if (problems.length > 0) throw new Refusal(problems.join('\n'));
  return ports;
}

/** Whether a server could listen on this port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  server.once('error', (error) =>
    codeOf(error) === 'EADDRINUSE' ? resolve(false) : reject(error),
  );
  server.listen({ port, host: '127.0.0.1', exclusive: true }, () =>
    server.close(() => resolve(true)),
  );
  return await promise;
}

/** The next port up that is free and not one of `used`; after the last one from the first on. */
async function nextFree(port: number, used: ReadonlySet<number>): Promise<number> {
  for (let step = 1; step <= EPHEMERAL; step++) {
    const next = (port + step) % EPHEMERAL;
    if (next >= UNPRIVILEGED && !used.has(next) && (await isFree(next))) return next;
  }
  throw new Refusal(`no port from ${UNPRIVILEGED} to ${EPHEMERAL - 1} is free: stop a program`);
}

/** Throws a Refusal that lists every port in use, with variables that move them to free ones. */
export async function assertPortsFree(ports: Ports, names: readonly PortName[]): Promise<void> {
  const used = new Set(Object.values(ports));
  const taken: string[] = [];
  const moves: string[] = [];
  for (const name of names) {
    const port = ports[name];
    if (await isFree(port)) continue;
    const free = await nextFree(port, used);
    used.add(free);
    taken.push(`port ${port} (${name}) is in use by another program: lsof -i :${port} names it`);
    moves.push(`${portVariable(name)}=${free}`);
  }
  if (taken.length > 0)
    throw new Refusal(
      [...taken, `stop it, or put free ports before the same command: ${moves.join(' ')}`].join(
        '\n',
      ),
    );
}
