import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { assertClusterPortsFree, readClusterPorts } from '../../../../infra/local/cluster/ports.ts';
import { isFree } from '../../../../infra/local/stack/ports.ts';
import { defaultPorts } from '../../../../infra/services/ports.ts';

test('no two ports of a cluster are equal, or one of the plain stack', () => {
  const ports = readClusterPorts({}).flatMap((each) => Object.values(each));
  const all = [...ports, ...Object.values(defaultPorts)];
  expect(new Set(all).size).toBe(all.length);
});

test('all ports move together, and stay below the ephemeral ones', () => {
  expect(readClusterPorts({ APP_CLUSTER_PORT_OFFSET: '5000' })[1].explorer).toBe(22_103);
  for (const bad of ['20000', '-17000', 'x', '1.5'])
    expect(() => readClusterPorts({ APP_CLUSTER_PORT_OFFSET: bad })).toThrow(
      'APP_CLUSTER_PORT_OFFSET',
    );
});

test('ports in use are refused with an offset at which all are free', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const taken: number = Object(server.address()).port;
  const ports = readClusterPorts({});
  const moved = [{ ...ports[0], explorer: taken }, ports[1], ports[2]] as const;
  const refusal = await assertClusterPortsFree(moved, ([{ explorer }]) => [explorer]).catch(String);
  expect(refusal).toContain(`in use by other programs: ${taken};`);
  const [, offset] =
    /before the same command: APP_CLUSTER_PORT_OFFSET=(.*)$/.exec(String(refusal)) ?? [];
  const [{ explorer }] = readClusterPorts({ APP_CLUSTER_PORT_OFFSET: offset });
  expect(explorer).not.toBe(ports[0].explorer);
  expect(await isFree(explorer)).toBe(true);
});
