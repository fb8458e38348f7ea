/** Networks: who reaches whom, by addresses, since names are not known across networks. */
import { networkInterfaces } from 'node:os';
import { connect } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { composed, type Composed, type Inspected } from './composed.ts';
import { IMAGE } from './engine.ts';

/** Ports of servers; those of services are among their settings. */
const SERVERS: Readonly<Record<string, readonly string[]>> = {
  kafka: ['9092'],
  registry: ['8080'],
  postgres: ['5432'],
  redis: ['6379'],
  devnet: ['17090', '17099', '17545'],
  prometheus: ['9090'],
  alertmanager: ['9093'],
};
/** Those that strangers reach, which are the first to be taken over, and the stores. */
const FROM = [
  'explorer-gateway',
  'hub-gateway',
  'deposit-gateway',
  'prometheus',
  'kafka',
  'registry',
  'postgres',
  'redis',
];

/** Prints the targets that take a connection, of `open` and then of `closed`. */
const PROBE = `
const { connect } = require('node:net');
const { open, closed } = JSON.parse(process.argv[1]);
const takes = (at) => new Promise((resolve) => {
  const [host, port] = at.split(':');
  const socket = connect({ host, port });
  socket.once('connect', () => { console.log(at); socket.destroy(); });
  socket.once('error', () => undefined);
  socket.once('close', resolve);
});
(async () => {
  await Promise.all(open.map(takes));
  // a packet that is dropped is never answered
  setTimeout(() => process.exit(0), 3000);
  await Promise.all(closed.map(takes));
})();`;

interface Target {
  readonly network: string;
  /** address and port */
  readonly at: string;
}

/** Each port of each container, in each of its networks. */
function targetsOf(system: Composed, running: ReadonlyMap<string, Inspected>): readonly Target[] {
  return system.servers.flatMap((name) => {
    const { APP_HTTP_PORT, APP_OPS_PORT } = system.file.services[name]?.environment ?? {};
    const own = [APP_HTTP_PORT, APP_OPS_PORT].flatMap((port) => port ?? []);
    const ports = SERVERS[name] ?? own;
    expect(ports.length, name).toBeGreaterThan(0);
    const networks = Object.entries(running.get(name)?.NetworkSettings.Networks ?? {});
    return networks.flatMap(([network, { IPAddress }]) =>
      ports.map((port) => ({ network, at: `${IPAddress}:${port}` })),
    );
  });
}

test('gateways, monitoring and stores reach what is in their networks, and nothing else', async (context) => {
  const system = composed(context);
  const running = await system.containers();
  const targets = targetsOf(system, running);
  const checks = FROM.map(async (name) => {
    const { Id, NetworkSettings } = await system.container(name);
    const isNear = ({ network }: Target): boolean => network in NetworkSettings.Networks;
    const open = targets.filter(isNear).map(({ at }) => at);
    const closed = targets.filter((target) => !isNear(target)).map(({ at }) => at);
    // a container in the same place of the network, since not every image has a program to ask with
    const place = ['run', '--rm', `--network=container:${Id}`, IMAGE];
    const given = JSON.stringify({ open, closed });
    const output = await system.engine.run('docker', [...place, '--eval', PROBE, given]);
    expect(output.trim().split('\n').toSorted(), name).toEqual(open.toSorted());
  });
  await Promise.all(checks);
});

test('the network edge translates no addresses on the way out', async (context) => {
  const system = composed(context);
  const { NetworkSettings } = await system.container('deposit-gateway');
  const network = Object.keys(NetworkSettings.Networks).find((name) => name.endsWith('_edge'));
  const { Options } = await system.engine.ask<{
    readonly Options: Readonly<Record<string, string>>;
  }>(`/networks/${network}`);
  expect(Options['com.docker.network.bridge.enable_ip_masquerade']).toBe('false');
});

test('gateways, devnet and monitoring publish their ports on 127.0.0.1, and nothing else does', async (context) => {
  const system = composed(context);
  const published = [...(await system.containers()).values()]
    .flatMap(({ NetworkSettings }) => Object.values(NetworkSettings.Ports))
    .flatMap((ports) => ports ?? []);
  expect(new Set(published.map(({ HostIp }) => HostIp))).toEqual(new Set(['127.0.0.1']));
  const grafana = system.servers.includes('grafana') ? [] : [system.ports.grafana];
  const expected = Object.values(system.ports).filter((port) => !grafana.includes(port));
  expect(published.map(({ HostPort }) => HostPort).toSorted()).toEqual(
    expected.map(String).toSorted(),
  );
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal);
  for (const { address } of outside)
    for (const port of expected) {
      const socket = connect({ host: address, port });
      await expect(once(socket, 'connect'), `${address}:${port}`).rejects.toThrow('ECONNREFUSED');
    }
});
