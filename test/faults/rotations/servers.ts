/**
 * The fault run of the servers' certificates and passwords: a cluster as a person runs it, whose
 * page's commands change all of them while gateways are read and deposits arrive. Afterwards each
 * server shows another certificate and refuses the passwords before.
 */
import { readdirSync } from 'node:fs';
import { secretFolders } from '../../../infra/cluster/principals.ts';
import { clusterServerNames } from '../../../infra/local/cluster/servers.ts';
import { startCommandCluster, type CommandCluster } from '../../support/command-cluster.ts';
import { refusedOf, shownSerials, takenOf } from '../../support/knocks.ts';
import { Random } from '../../support/random.ts';
import { ClusterDeposits, DEPOSIT_SERVICES } from '../cluster-deposits.ts';
import type { FaultReport, FaultRun, Given } from '../fault-run.ts';
import { BalancedReaders } from './balanced-readers.ts';

interface Rotation {
  readonly name: string;
  /** Changes something by the commands of the page; gives violations. */
  readonly rotate: (cluster: CommandCluster) => Promise<readonly string[]>;
}

const certificates: Rotation = {
  name: 'the certificate of each server',
  async rotate(cluster) {
    const before = await shownSerials(cluster);
    await cluster.paste('/certificates/$name.crt');
    const after = await shownSerials(cluster);
    const missed = clusterServerNames.filter((name) => name !== 'registry' && !after.has(name));
    const same = [...after].filter(([name, serial]) => [before.get(name), 'none'].includes(serial));
    return [
      ...missed.map((name) => `nobody looked at the certificate of ${name}`),
      ...same.map(([name, serial]) => `${name} shows ${serial} after its certificate was changed`),
    ];
  },
};

const passwords: Rotation = {
  name: 'every password',
  async rotate(cluster) {
    const before = cluster.secrets.passwords;
    const folder = secretFolders(cluster.folder.data).passwords;
    const files = readdirSync(folder).toSorted();
    await cluster.paste('$each.before');
    const left = readdirSync(folder).toSorted();
    return [
      ...(left.join() === files.join() ? [] : [`the files of passwords are ${left.join(', ')}`]),
      ...(await takenOf(cluster, before)).map((by) => `taken after its change: ${by}`),
      ...(await refusedOf(cluster, cluster.secrets.passwords)),
    ];
  },
};

/** In the order of the run. */
export const SERVER_ROTATIONS: readonly Rotation[] = [certificates, passwords];

async function run({ times }: { readonly times: number }, given: Given): Promise<FaultReport> {
  const cluster = await startCommandCluster([], DEPOSIT_SERVICES);
  try {
    const deposits = new ClusterDeposits(cluster, new Random(given.seed));
    await deposits.start();
    given.progress('the cluster is ready');
    const readers = new BalancedReaders(cluster.ports, 0);
    const lines: string[] = [];
    const violations: string[] = [];
    try {
      for (let time = 1; time <= times; time++)
        for (const { name, rotate } of SERVER_ROTATIONS) {
          const begun = performance.now();
          readers.take();
          await deposits.pay();
          violations.push(...(await rotate(cluster)));
          await deposits.pay();
          await deposits.credited(`the change of ${name}`);
          const { answered, by_other: byOther, failed } = readers.take();
          violations.push(...failed.map((each) => `a read failed: ${each}`));
          const seconds = Math.round((performance.now() - begun) / 1_000);
          const line =
            `${name} was changed and two payments were credited in ${seconds} s; reads: ` +
            `${answered} answered, ${byOther} of them by the other instance, ${failed.length} failed`;
          lines.push(line);
          given.progress(line);
        }
    } finally {
      await readers.end();
    }
    return { lines, violations: [...violations, ...(await deposits.violations('postgres-1'))] };
  } finally {
    await cluster.stop();
  }
}

export const serverRotations: FaultRun<'times'> = {
  about:
    'a cluster by its own command, whose certificates and passwords of servers are changed as docs/operations/cluster.md says,\n' +
    'while gateways are read and deposits arrive: no read fails at both instances, and the passwords before are refused',
  options: { times: { about: 'how often each', default: 1 } },
  run,
};
