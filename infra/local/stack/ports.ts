import { createServer } from 'node:net';
import { codeOf, Refusal, StackFault } from '../process/fault.ts';

/** The ports of the stack; all below 32768, where ephemeral ports begin. */
export const defaultPorts = {
  kafka: 19092,
  kafka_controller: 19093,
  registry: 18081,
  postgres: 15432,
  redis: 16379,
  node: 17545,
  tron: 17090,
  devnet: 17099,
  chain_ingester: 17011,
  projector_explorer: 17021,
  explorer: 17003,
  deposit: 17001,
  hub: 17002,
  treasury: 17004,
  projector_deposits: 17022,
  tron_watcher: 17012,
  projector_watch: 17023,
  projector_ride_market: 17024,
  projector_reserve: 17025,
} as const;

export type PortName = keyof typeof defaultPorts;
export type Ports = Readonly<Record<PortName, number>>;

export const portNames: readonly PortName[] = Object.keys(defaultPorts).filter(
  (name): name is PortName => name in defaultPorts,
);

/** The environment variable that moves a port. */
export function portVariable(name: PortName): string {
  return `APP_${name.toUpperCase()}_PORT`;
}

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

/** Throws a StackFault when a port of a server is in use. */
export async function assertFree(server: string, ports: readonly number[]): Promise<void> {
  for (const port of ports)
    if (!(await isFree(port)))
      throw new StackFault(`${server} cannot start: another program uses its port ${port}`);
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
