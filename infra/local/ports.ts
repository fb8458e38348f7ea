import { Refusal } from './fault.ts';
import { commandLineOf, holdersOf, isFree } from './port-holder.ts';

/** Every port of the stack. All below 32768: above, they collide with ephemeral ports. */
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

/** The ports of one stack from the environment. Throws a Refusal that names every bad or doubled setting at once. */
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

function shortened(line: string): string {
  return line.length > 80 ? `${line.slice(0, 77)}...` : line;
}

/** Throws a Refusal that names every port of `names` already in use: who holds it, and the variable that moves it. */
export async function assertPortsFree(ports: Ports, names: readonly PortName[]): Promise<void> {
  const problems: string[] = [];
  for (const name of names) {
    const port = ports[name];
    if (await isFree(port)) continue;
    const holders = holdersOf(port).map(
      (pid) => `process ${pid} (${shortened(commandLineOf(pid))})`,
    );
    const holder = holders.length > 0 ? holders.join(', ') : 'a process that this user may not see';
    problems.push(
      `port ${port} (${name}) is held by ${holder}: stop it, or set ${portVariable(name)} to another port`,
    );
  }
  if (problems.length > 0) throw new Refusal(problems.join('\n'));
}
