/** Which servers and services a stack consists of, and where. */
import { portNames, type Ports } from '../../services/ports.ts';
import { services } from '../../services/services.ts';
import type { StackSettings } from '../../services/settings.ts';
import type { Programs } from '../fetch/programs.ts';
import type { Server } from '../process/server.ts';
import { createServers } from '../servers/servers.ts';
import type { Folder } from './folder.ts';
import { assertPortsFree, readPorts } from './ports.ts';
import { localAddresses, serviceServer } from './services.ts';
import { userSettings } from './settings.ts';
import { describeStack } from './stack-file.ts';

/** The processes of a stack, none of them started. */
export interface Parts {
  /** All start together; groups stop in the opposite order, those of one group together. */
  readonly servers: readonly (readonly Server[])[];
  /** In the order of their starts; stops reverse it. */
  readonly services: readonly Server[];
  /** The contents of the stack file while these processes run. */
  describe(pids: Readonly<Record<string, number>>): object;
}

export interface Layout {
  /** The ports of the first instance of each program. */
  readonly ports: Ports;
  /** Throws a Refusal that lists every port in use. */
  assertPortsFree(servers_only: boolean): Promise<void>;
  create(folder: Folder, programs: Programs, settings: StackSettings): Promise<Parts>;
}

/** One instance of everything; `watched` restarts when its code changes. Refuses bad ports. */
export function plainLayout(env: NodeJS.ProcessEnv, watched?: string): Layout {
  const ports = readPorts(env);
  const needed = ['kafka', 'kafka_controller', 'registry', 'postgres', 'redis'] as const;
  return {
    ports,
    assertPortsFree: (servers_only) => assertPortsFree(ports, servers_only ? needed : portNames),
    create(folder, programs, settings) {
      const at = localAddresses(ports);
      const user = userSettings(env);
      return Promise.resolve({
        servers: Object.values(createServers(folder, programs, ports)).map((server) => [server]),
        services: services.map((spec) =>
          serviceServer(spec, settings, at, ports, folder, user, {
            name: spec.name,
            environment: () => ({}),
            is_watched: spec.name === watched,
          }),
        ),
        describe: (pids) => describeStack(folder, ports, at, settings, pids),
      });
    },
  };
}
