import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { certificateFiles } from '../../../../../infra/cluster/certificates.ts';
import { secretFolders } from '../../../../../infra/cluster/principals.ts';
import { clusterServerNames } from '../../../../../infra/local/cluster/servers.ts';
import { settleCluster } from '../../../../../infra/local/cluster/settle.ts';
import { startCluster, type Cluster } from '../../../../support/cluster.ts';
import { refusedOf, shownSerials, takenOf } from '../../../../support/knocks.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(async () => await cluster.stop());

async function settled(): Promise<string | undefined> {
  const said: string[] = [];
  await settleCluster(cluster.ports, cluster.secrets, (line) => void said.push(line));
  return said.at(-1);
}

async function restart(name: string): Promise<void> {
  const server = cluster.server(name);
  await server.stop();
  await server.start();
}

/** Equal servers take a certificate in the same way. */
const ONE_OF_EACH = ['kafka-2', 'postgres-2', 'redis-1', 'sentinel-1', 'registry-proxy'];

test('a server of each kind shows another certificate after its start where its own was removed, and no other does', async () => {
  const { certificates } = secretFolders(cluster.folder.data);
  const before = await shownSerials(cluster);
  const secured = clusterServerNames.filter((name) => name !== 'registry');
  expect([...before.keys()].toSorted()).toEqual(secured.toSorted());
  for (const name of ONE_OF_EACH) {
    const earlier = await shownSerials(cluster);
    rmSync(certificateFiles(certificates, name).cert);
    await restart(name);
    const now = await shownSerials(cluster);
    const changed = secured.filter((each) => now.get(each) !== earlier.get(each));
    expect(changed).toEqual([name]);
    expect(now.get(name)).toMatch(/^[0-9A-F]+$/);
    expect(await settled()).toBe('all replicas are in sync');
  }
});

test('every password changes while the servers run: some take the one before until it is removed', async () => {
  const folder = secretFolders(cluster.folder.data).passwords;
  const before = cluster.secrets.passwords;
  const files = readdirSync(folder);
  for (const file of files) renameSync(join(folder, file), join(folder, `${file}.before`));
  await restart('registry-proxy');
  expect(await settled()).toBe('all replicas are in sync');
  expect(await refusedOf(cluster, cluster.secrets.passwords)).toEqual([]);
  const taken = await takenOf(cluster, before);
  expect(new Set(taken.map((by) => by.replace(/ [0-9].*|:.*/, '')))).toEqual(
    new Set(['Redis', 'registry-reader at the registry', 'registry-writer at the registry']),
  );
  for (const file of files) rmSync(join(folder, `${file}.before`));
  await restart('registry-proxy');
  expect(await settled()).toBe('all replicas are in sync');
  expect(await takenOf(cluster, before)).toEqual([]);
  // each keeps what it was given
  for (const name of ['postgres-2', 'redis-2', 'redis-1', 'sentinel-1', 'kafka-2'])
    await restart(name);
  expect(await settled()).toBe('all replicas are in sync');
  expect(await takenOf(cluster, before)).toEqual([]);
  expect(await refusedOf(cluster, cluster.secrets.passwords)).toEqual([]);
});
