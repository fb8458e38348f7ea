import { expect, test } from 'vitest';
import { readClusterPorts } from '../../../../infra/local/cluster/ports.ts';
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
