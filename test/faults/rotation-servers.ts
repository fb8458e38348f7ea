/**
 * Rotations of what the servers of a cluster have. Afterwards each shows another certificate, and
 * refuses the passwords before.
 */
import { readdirSync } from 'node:fs';
import { secretFolders } from '../../infra/cluster/principals.ts';
import { clusterServerNames } from '../../infra/local/cluster/servers.ts';
import { refusedOf, shownSerials, takenOf } from '../support/knocks.ts';
import type { Rotation } from './rotation-world.ts';

const certificates: Rotation = {
  name: 'Certificates',
  async steps({ cluster, violations }) {
    const before = await shownSerials(cluster);
    await cluster.paste('/certificates/$name.crt');
    const after = await shownSerials(cluster);
    const missed = clusterServerNames.filter((name) => name !== 'registry' && !after.has(name));
    const same = [...after].filter(([name, serial]) => [before.get(name), 'none'].includes(serial));
    violations.push(
      ...missed.map((name) => `nobody looked at the certificate of ${name}`),
      ...same.map(([name, serial]) => `${name} shows ${serial} after its certificate was changed`),
    );
  },
};

const passwords: Rotation = {
  name: 'Passwords',
  async steps({ cluster, violations }) {
    const before = cluster.secrets.passwords;
    const folder = secretFolders(cluster.folder.data).passwords;
    const files = readdirSync(folder).toSorted();
    await cluster.paste('$each.before');
    const left = readdirSync(folder).toSorted();
    violations.push(
      ...(left.join() === files.join() ? [] : [`the files of passwords are ${left.join(', ')}`]),
      ...(await takenOf(cluster, before)).map((by) => `taken after its change: ${by}`),
      ...(await refusedOf(cluster, cluster.secrets.passwords)),
    );
  },
};

/** In the order of the run. */
export const SERVER_ROTATIONS: readonly Rotation[] = [certificates, passwords];
