/** The walk of a user through `docker compose up`. Each test goes on where the one before ended. */
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import { WebSocket } from 'ws';
import { ask, privateKeySigner, signIn } from '../../packages/wallet/src/index.ts';
import type { Ended } from '../services/ops/operator.ts';
import { until } from '../support/until.ts';
import { openComposed, type Composed } from './composed.ts';

const CHAIN_ID = 7777;
const SIGNER = privateKeySigner(`0x${'1'.padStart(64, '0')}`);
const PAID = '10000000';

let opened: Composed | { readonly missing: string };
let token = '';

beforeAll(async () => {
  opened = await openComposed();
  if ('missing' in opened) return;
  await opened.up();
});
afterAll(async () => {
  if (opened !== undefined && !('missing' in opened)) await opened.close();
});

function composed({ skip }: TestContext): Composed {
  if ('missing' in opened) return skip(opened.missing);
  return opened;
}

interface Deposits {
  readonly address: string;
  readonly deposits: readonly { readonly status: string; readonly amount_usdt: number }[];
}

async function deposits(system: Composed, method: 'GET' | 'POST'): Promise<Deposits> {
  const headers = { authorization: `Bearer ${token}` };
  return await system.json<Deposits>('deposit', '/api/v1/deposits', { method, headers });
}

/** The object that a command of the operator printed. */
function printed({ stdout }: Ended): Readonly<Record<string, unknown>> {
  return Object(JSON.parse(stdout));
}

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

test('a wallet signs in at the hub and gets the list of a subscription', async (context) => {
  const system = composed(context);
  const hub = { url: system.url('hub', '/graphql'), chainId: CHAIN_ID };
  ({ token } = await signIn(hub, SIGNER));
  await ask(hub, '{ listRideRequests(limit: 1) { txHash } }', {}, token);
  const client = createClient({
    url: system.url('hub', '/graphql/ws').replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: { Authorization: `Bearer ${token}` },
  });
  const query = 'subscription { rideRequestsUpdated(limit: 5) { txHash } }';
  for await (const { data } of client.iterate({ query })) {
    expect(data).toEqual({ rideRequestsUpdated: expect.any(Array) });
    break;
  }
  await client.dispose();
});

test('USDT sent to the address of an account is credited', async (context) => {
  const system = composed(context);
  const { address } = await deposits(system, 'POST');
  await system.json('devnet', '/admin/tron/transfers', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ to: address, value: PAID }),
  });
  await until(
    async () => (await deposits(system, 'GET')).deposits.map(({ status }) => status),
    'the deposit to be credited',
    ([status]) => status === 'credited',
  );
});

test('ops status in a container sees every service, Kafka, Postgres and the node', async (context) => {
  const seen = printed(await composed(context).ops('status', '--json'));
  expect(seen['services']).toHaveLength(12);
  expect(seen).toMatchObject({
    services: Array.from({ length: 12 }, () => expect.objectContaining({ ready: true })),
    node: { height: expect.any(Number) },
    projections: expect.arrayContaining([]),
    log: expect.arrayContaining([]),
  });
});

test('ops audit in a container finds nothing', async (context) => {
  const ended = await composed(context).ops('audit');
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
});

test('after down and up the deposit is still there, and the audit finds nothing', async (context) => {
  const system = composed(context);
  await system.down();
  await system.up();
  expect((await deposits(system, 'GET')).deposits).toMatchObject([{ status: 'credited' }]);
  expect((await system.ops('audit')).code).toBe(0);
});
