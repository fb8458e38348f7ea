/** The hub with open sockets: Redis restarts, slow clients, crowds and shutdown. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { FaultProxy } from '../../../support/fault-proxy.ts';
import { startOwnRedis } from '../../../support/own-redis.ts';
import type { Stack } from '../../../support/stack.ts';
import { walletOf } from '../../../support/wallets.ts';
import { HubWorld, signUnsigned } from '../../../services/hub-gateway/hub-world.ts';
import { RawSocket } from '../../../services/hub-gateway/raw-socket.ts';
import { readUnsigned } from '../../../services/hub-gateway/unsigned.ts';

const SOCKETS = 200;
const rider = walletOf('raw', 'rider of bad times');
let stack: Stack;
let world: HubWorld;
let proxy: FaultProxy;
let token: string;

beforeAll(async () => {
  stack = await startOwnRedis();
  const direct = stack.addresses.redis_url;
  proxy = await FaultProxy.open({ port: Number(new URL(direct).port) });
  world = await HubWorld.open(stack.addresses, {
    redis_url: proxy.url(direct),
    settings: {
      APP_SOCKETS_PER_CLIENT_MAX: '210',
      APP_SUBSCRIPTIONS_PER_CLIENT_MAX: '5',
      APP_LIST_ROWS_MAX: '3',
      APP_SOCKET_SLOW_MS: '500',
      APP_SOCKET_BUFFER_BYTES_MAX: '65536',
    },
  });
  await world.fund(rider.account, 50_000_000n);
  token = await world.signIn(rider);
});
afterAll(async () => {
  await world?.close();
  await proxy?.close();
  await stack?.stop();
});

async function request(): Promise<string> {
  const hash = await world.send(
    rider,
    token,
    'createUnsignedRideRequest(pickupLatitude: 1, pickupLongitude: 1, dropoffLatitude: 2, dropoffLongitude: 2, fare: "1")',
  );
  await world.block();
  return hash;
}

async function query(): Promise<unknown> {
  return (await world.ask('{ listRideRequests { txHash } }')).data;
}

test('while Redis is away queries work, and after its return every subscription is current', async () => {
  const sockets = await Promise.all(
    Array.from({ length: SOCKETS }, () => RawSocket.begun(world.socket_url)),
  );
  for (const socket of sockets)
    socket.subscribe('1', 'subscription { rideRequestsUpdated { txHash } }');
  const newest = (): Set<string> =>
    new Set(sockets.map((socket) => JSON.stringify(socket.results('1').at(-1))));
  await expect.poll(newest).toEqual(new Set(['{"data":{"rideRequestsUpdated":[]}}']));

  proxy.mode = 'reset_before';
  proxy.cut();
  await expect.poll(() => world.lines.join()).toContain('Redis is away');
  const first = await request();
  await expect.poll(query).toEqual({ listRideRequests: [{ txHash: first }] });

  proxy.mode = 'pass';
  const right = new Set([`{"data":{"rideRequestsUpdated":[{"txHash":"${first}"}]}}`]);
  await expect.poll(newest).toEqual(right);
  const heard = await world.figure('hub_notifications_total');
  const second = await request();
  await expect
    .poll(newest)
    .toEqual(
      new Set([`{"data":{"rideRequestsUpdated":[{"txHash":"${second}"},{"txHash":"${first}"}]}}`]),
    );
  // not only by asking Postgres once a second: notifications are heard again after a while
  const heardOfBlock = async (): Promise<number> => {
    await world.block();
    return world.figure('hub_notifications_total');
  };
  await expect.poll(heardOfBlock).toBeGreaterThan(heard);

  // one more than the limit of a client
  const more = await Promise.allSettled(
    Array.from({ length: 20 }, () => RawSocket.open(world.socket_url)),
  );
  expect(more.filter(({ status }) => status === 'rejected').length).toBe(10);
  for (const each of more) if (each.status === 'fulfilled') await each.value.close();
  await Promise.all(sockets.map((socket) => socket.close()));
});

test('a socket that does not read is closed with 1013 within its memory limit, and others are unaffected', async () => {
  const slow = await RawSocket.begun(world.socket_url);
  const quick = await RawSocket.begun(world.socket_url);
  const long = `{ ${Array.from({ length: 9 }, (_, at) => `a${at}: __schema { types { name description fields { name description } } }`).join(' ')} }`;
  slow.socket.pause();
  let asked = 0;
  const behind = async (): Promise<number> => {
    for (let more = 0; more < 20; more++) slow.subscribe(String(asked++), long);
    return world.figure('hub_sockets_backpressured');
  };
  await expect.poll(behind).toBe(1);
  const [answer] = await quick.outcome('meanwhile', '{ chainInfo { chainId } }');
  expect(answer?.payload).toEqual({ data: { chainInfo: { chainId: '7777' } } });
  await expect.poll(() => world.figure('hub_sockets_given_up')).toBe(1);
  slow.socket.resume();
  expect(await slow.closed).toBe(1013);
  await quick.close();
});

test('a truncated list is named over HTTP, over a socket and in a subscription', async () => {
  const [first, second] = [await request(), await request()];
  const list = 'rideRequests: listRideRequests { txHash }';
  const whole = await world.ask(`{ ${list} few: listRecentTrips { txHash } }`);
  expect(whole.extensions).toEqual({ truncated: ['rideRequests'] });
  expect(whole.data?.['rideRequests']).toHaveLength(3);
  expect(whole.data?.['rideRequests']).toMatchObject([{ txHash: second }, { txHash: first }, {}]);
  expect((await world.ask('{ listRecentTrips { txHash } }')).extensions).toBeUndefined();
  const socket = await RawSocket.begun(world.socket_url);
  const [asked] = await socket.outcome('1', `{ ${list} }`);
  expect(asked?.payload).toEqual({
    data: { rideRequests: whole.data?.['rideRequests'] },
    extensions: { truncated: ['rideRequests'] },
  });
  socket.subscribe('2', 'subscription { rideRequestsUpdated { txHash } }');
  await expect
    .poll(() => socket.results('2'))
    .toEqual([
      {
        data: { rideRequestsUpdated: whole.data?.['rideRequests'] },
        extensions: { truncated: ['rideRequestsUpdated'] },
      },
    ]);
  await socket.close();
});

test('the lists of one operation have so many rows together', async () => {
  for (let more = 0; more < 3; more++) await request();
  const answer = await world.ask(
    '{ a: listRideRequests { txHash } b: listRideRequests { fare } c: listRecentTrips { txHash } }',
  );
  expect(answer.data).toMatchObject({ a: [{}, {}, {}], b: [], c: [] });
  expect(answer.extensions).toEqual({ truncated: ['a', 'b'] });
});

test('a client has so many different subscriptions, whatever the layout of their texts', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  const another = await RawSocket.begun(world.socket_url);
  const fields = ['txHash', 'fare', 'referrer', 'passengerAddress', 'fare txHash'];
  for (const [at, field] of fields.entries())
    socket.subscribe(`field ${at}`, `subscription { rideRequestsUpdated { ${field} } }`);
  for (const [at] of fields.entries())
    await expect.poll(() => socket.results(`field ${at}`).length).toBe(1);
  const [refused] = await another.outcome('6', 'subscription { activeTripsUpdated { txHash } }');
  const message = 'at most 5 different subscriptions at once: complete others first';
  expect(refused).toMatchObject({ type: 'error', payload: [{ message }] });
  another.subscribe(
    'same',
    'subscription Named { # fields\nrideRequestsUpdated { fare, txHash } }',
  );
  await expect.poll(() => another.results('same').length).toBe(1);
  await socket.close();
  await another.close();
});

test('a transaction that is on its way to the node when the hub stops gets its answer', async () => {
  const stopping = await HubWorld.open(inject('stack'));
  await stopping.fund(rider.account, 50_000_000n);
  const own = await stopping.signIn(rider);
  const built = await stopping.ask('mutation { createUnsignedBurn(amount: "1") }', {}, own);
  const raw = signUnsigned(rider, readUnsigned(built.data?.['createUnsignedBurn']));
  const fault = { target: 'node', mode: 'delay', times: 1, delay_ms: 500 };
  await stopping.devnet.admin('/admin/faults', fault);
  const sent = stopping.ask(
    'mutation ($raw: String!) { sendRawTransaction(rawTransaction: $raw) }',
    { raw },
    own,
  );
  const planned = async (): Promise<unknown> => {
    const response = await fetch(`${stopping.devnet.admin_url}/admin/faults`);
    return await response.json();
  };
  await expect.poll(planned).toEqual({ faults: [] });
  const closed = stopping.close();
  expect((await sent).data).toEqual({
    sendRawTransaction: { transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as unknown },
  });
  await closed;
});
