/** The ports of a cluster on this machine: the plain stack's, moved, with room for instances. */
import { defaultPorts, portNames, type PortName } from '../../services/ports.ts';
import { Refusal } from '../process/run-program.ts';

const more = { kafka_brokers: 19_094, registry_inside: 18_082, sentinel: 16_380 } as const;

export type ClusterPortName = PortName | keyof typeof more;
export type InstancePorts = Readonly<Record<ClusterPortName, number>>;
/** The ports of the first, second and third instance of everything. */
export type ClusterPorts = readonly [InstancePorts, InstancePorts, InstancePorts];

/** The variable that moves all ports. */
export const OFFSET = 'APP_CLUSTER_PORT_OFFSET';
const OFFSET_DEFAULT = 10_000;
/** Between two instances of the same program. */
const STEP = 100;
/** Ephemeral ports begin here. */
const END = 32_768;

export const clusterPortNames: readonly ClusterPortName[] = [
  ...portNames,
  'kafka_brokers',
  'registry_inside',
  'sentinel',
];

/** Reads how far the ports lie above those of the plain stack. Throws a Refusal. */
export function readClusterPorts(env: NodeJS.ProcessEnv): ClusterPorts {
  const given = env[OFFSET];
  const offset = given ? Number(given) : OFFSET_DEFAULT;
  const instance = (index: number): InstancePorts => {
    const moved: Record<ClusterPortName, number> = { ...defaultPorts, ...more };
    for (const name of clusterPortNames) moved[name] += offset + index * STEP;
    return moved;
  };
  const ports = [instance(0), instance(1), instance(2)] as const;
  const all = ports.flatMap((each) => Object.values(each));
  if (!Number.isInteger(offset) || all.some((port) => port < 1_024 || port >= END))
    throw new Refusal(
      `${OFFSET} is ${JSON.stringify(given)}: expected a whole number that leaves every port ` +
        `from 1024 to ${END - 1}, such as ${OFFSET_DEFAULT}`,
    );
  return ports;
}
