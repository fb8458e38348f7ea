/** The walk of a user through `docker compose up`. Each test goes on where the one before ended. */
import { createClient } from 'graphql-ws';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { defaultSettings } from '../../infra/services/settings.ts';
import { ask } from '../../packages/wallet/src/index.ts';
import { takePort } from '../support/free-ports.ts';
import { until } from '../support/until.ts';
import { composed, REVISION, type Inspected } from './composed.ts';
import { Payer } from './payer.ts';

let payer: Payer;

test('the explorer shows blocks of the devnet', async (context) => {
  const system = composed(context);
  interface Stats {
    readonly latest_height: number;
  }
  await until(
    async () => (await system.json<Stats>('explorer', '/api/v1/stats')).latest_height,
    'the explorer to show blocks',
    (height) => height > 3,
  );
});

test('the picture of a shared link is drawn in the container', async (context) => {
  const system = composed(context);
  const response = await fetch(system.url('explorer', '/preview/blocks/1'));
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(Buffer.from(await response.arrayBuffer()).toString('latin1', 1, 4)).toBe('PNG');
});

test('the image says of which commit it is built', async (context) => {
  const system = composed(context);
  interface Image {
    readonly Config: { readonly Labels: Readonly<Record<string, string>> };
  }
  const { Image } = await system.container('treasury');
  const { Config } = await system.engine.ask<Image>(`/images/${Image}/json`);
  expect(Config.Labels['org.opencontainers.image.revision']).toBe(REVISION);
});

test('a wallet signs in at the hub and gets the list of a subscription', async (context) => {
  const system = composed(context);
  payer = await Payer.signIn(system);
  const hub = { url: system.url('hub', '/graphql'), chainId: 7777 };
  await ask(hub, '{ listRideRequests(limit: 1) { txHash } }', {}, payer.token);
  const client = createClient({
    url: system.url('hub', '/graphql/ws').replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: { Authorization: `Bearer ${payer.token}` },
  });
  const query = 'subscription { rideRequestsUpdated(limit: 5) { txHash } }';
  for await (const { data } of client.iterate({ query })) {
    expect(data).toEqual({ rideRequestsUpdated: expect.any(Array) });
    break;
  }
  await client.dispose();
});

test('USDT sent to the address of an account is credited', async (context) => {
  composed(context);
  await payer.pay('10000000');
  await payer.shows('credited');
});

test('ops approves a held deposit with the key of an operator, which is then credited', async (context) => {
  const system = composed(context);
  await payer.pay('700000');
  await payer.shows('credited', 'needs_manual');
  const { deposits } = await payer.deposits();
  const id = deposits.find(({ status }) => status === 'needs_manual')?.id ?? '';
  const key = { APP_OPERATOR_KEY: defaultSettings.APP_OPERATOR_KEY };
  const decision = ['deposit', 'approve', id, '--actor', 'anna', '--reason', 'seen', '--yes'];
  const args = ['run', '--rm', '-T', '-e', 'APP_OPERATOR_KEY', 'ops', ...decision];
  const ended = await system.compose(args, key);
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
  await payer.shows('credited', 'credited');
});

test('ops status sees every service, Kafka, Postgres and the node', async (context) => {
  const ended = await composed(context).ops('status', '--json');
  const seen: Readonly<Record<string, unknown>> = JSON.parse(ended.stdout);
  expect(seen['services']).toHaveLength(12);
  expect(seen).toMatchObject({
    services: Array.from({ length: 12 }, () => expect.objectContaining({ ready: true })),
    node: { height: expect.any(Number) },
    projections: expect.arrayContaining([]),
    log: expect.arrayContaining([]),
  });
});

test('Prometheus scrapes services, devnet and the exporter of the profile', async (context) => {
  const system = composed(context);
  const exporter = 'node-exporter';
  const up = await system.compose([
    '--profile=exporters',
    'up',
    '--detach',
    '--no-build',
    exporter,
  ]);
  expect(up.code, up.stdout + up.stderr).toBe(0);
  interface Targets {
    readonly data: {
      readonly activeTargets: readonly {
        readonly labels: { readonly instance: string };
        readonly health: string;
      }[];
    };
  }
  await until(
    async () => {
      const { data } = await system.json<Targets>('prometheus', '/api/v1/targets');
      const down = data.activeTargets.filter(({ health }) => health !== 'up');
      return down.map(({ labels }) => labels.instance);
    },
    'all targets of Prometheus to be up',
    (down) => down.length === 0,
  );
  const removed = await system.compose([
    '--profile=exporters',
    'rm',
    '--stop',
    '--force',
    exporter,
  ]);
  expect(removed.code, removed.stderr).toBe(0);
});

test('ops audit finds nothing', async (context) => {
  const ended = await composed(context).ops('audit');
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
});

test('ops console answers on the port that its container publishes', async (context) => {
  const system = composed(context);
  const { port, release } = await takePort();
  const args = ['run', '-d', '--publish', `127.0.0.1:${port}:17030`, 'ops'];
  const ended = await system.compose([...args, 'console', '--host', '0.0.0.0']);
  expect(ended.code, ended.stderr).toBe(0);
  await until(
    async () => (await fetch(`http://127.0.0.1:${port}/`)).text(),
    'ops console to answer',
    (page) => page.includes('<script'),
  );
  const id = ended.stdout.trim().split('\n').at(-1) ?? '';
  await system.engine.run('docker', ['stop', '--time=60', id]);
  const { State } = await system.engine.ask<Inspected>(`/containers/${id}/json`);
  expect(State.ExitCode).toBe(0);
  await system.engine.run('docker', ['rm', id]);
  release();
});
