/** The ports of a cluster on this machine: the plain stack's, moved, with room for instances. */
import { defaultPorts, portNames, type PortName } from '../../services/ports.ts';
import { Refusal } from '../process/run-program.ts';
import { EPHEMERAL, isFree, UNPRIVILEGED } from '../stack/ports.ts';

const more = { kafka_brokers: 19_094, registry_inside: 18_082, sentinel: 16_380 } as const;

export type ClusterPortName = PortName | keyof typeof more;
export type InstancePorts = Readonly<Record<ClusterPortName, number>>;
/** The ports of the first, second and third instance of everything. */
export type ClusterPorts = readonly [InstancePorts, InstancePorts, InstancePorts];

/** The variable that moves all ports. */
export const OFFSET = 'APP_CLUSTER_PORT_OFFSET';
export const OFFSET_DEFAULT = 10_000;
/** Offsets that are proposed are multiples of it. */
const OFFSET_STEP = 500;
/** Between two instances of the same program. */
const STEP = 100;

export const clusterPortNames: readonly ClusterPortName[] = [
  ...portNames,
  'kafka_brokers',
  'registry_inside',
  'sentinel',
];

function portsAt(offset: number): ClusterPorts {
  const instance = (index: number): InstancePorts => {
    const moved: Record<ClusterPortName, number> = { ...defaultPorts, ...more };
    for (const name of clusterPortNames) moved[name] += offset + index * STEP;
    return moved;
  };
  return [instance(0), instance(1), instance(2)];
}

function isInRange(ports: ClusterPorts): boolean {
  const all = ports.flatMap((each) => Object.values(each));
  return all.every((port) => port >= UNPRIVILEGED && port < EPHEMERAL);
}

/** Reads how far the ports lie above those of the plain stack. Throws a Refusal. */
export function readClusterPorts(env: NodeJS.ProcessEnv): ClusterPorts {
  const given = env[OFFSET];
  const offset = given ? Number(given) : OFFSET_DEFAULT;
  const ports = portsAt(offset);
  if (!Number.isInteger(offset) || !isInRange(ports))
    throw new Refusal(
      `${OFFSET} is ${JSON.stringify(given)}: expected a whole number that leaves every port ` +
        `from ${UNPRIVILEGED} to ${EPHEMERAL - 1}, such as ${OFFSET_DEFAULT}`,
    );
  return ports;
}

/** Throws a Refusal that lists the ports in use, with an offset at which all those are free. */
export async function assertClusterPortsFree(
  ports: ClusterPorts,
  needed: (ports: ClusterPorts) => readonly number[],
): Promise<void> {
  const taken = await takenOf(needed(ports));
  if (taken.length === 0) return;
  const offset = await freeOffset(needed);
  const proposal =
    offset === undefined
      ? ''
      : `, or put a free offset of all ports before the same command: ${OFFSET}=${offset}`;
  throw new Refusal(
    `ports are in use by other programs: ${taken.join(', ')}; stop those programs ` +
      `(lsof -i :${taken[0]} names one)${proposal}`,
  );
}

/** The highest offset whose ports are free, and none of the plain stack. */
async function freeOffset(
  needed: (ports: ClusterPorts) => readonly number[],
): Promise<number | undefined> {
  const plain = new Set<number>(Object.values(defaultPorts));
  for (let offset = EPHEMERAL - (EPHEMERAL % OFFSET_STEP); offset > 0; offset -= OFFSET_STEP) {
    const ports = portsAt(offset);
    const wanted = needed(ports);
    if (!isInRange(ports) || wanted.some((port) => plain.has(port))) continue;
    if ((await takenOf(wanted)).length === 0) return offset;
  }
  return undefined;
}

async function takenOf(ports: readonly number[]): Promise<readonly number[]> {
  const taken: number[] = [];
  for (const port of ports) if (!(await isFree(port))) taken.push(port);
  return taken;
}
