import { createServer } from 'node:net';
import {
  defaultPorts,
  portNames,
  portVariable,
  type PortName,
  type Ports,
} from '../../services/ports.ts';
import { codeOf, Refusal } from '../process/run-program.ts';

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

/** Throws a Refusal that lists every port in use, with the variable that moves it. */
export async function assertPortsFree(ports: Ports, names: readonly PortName[]): Promise<void> {
  const problems: string[] = [];
  for (const name of names)
    if (!(await isFree(ports[name])))
      problems.push(
        `port ${ports[name]} (${name}) is in use by another program: stop that program ` +
          `(lsof -i :${ports[name]} names it), or set ${portVariable(name)} to another port`,
      );
  if (problems.length > 0) throw new Refusal(problems.join('\n'));
}
