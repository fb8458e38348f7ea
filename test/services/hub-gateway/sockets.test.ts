import { ApolloClient, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { signToken } from '../../../services/runtime/token.ts';
import { badTokens, SECRET } from '../../support/tokens.ts';
import { walletOf } from '../../support/wallets.ts';
import { HubWorld } from './hub-world.ts';
import { QUERIES_AND_MUTATIONS, SUBSCRIPTIONS } from './operations.ts';
import { RawSocket } from './raw-socket.ts';

const PATIENCE = { timeout: 30_000 };
const rider = walletOf('raw', 'socket rider');
const driver = walletOf('browser', 'socket driver');
let world: HubWorld;
let riderToken: string;
let driverToken: string;

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'), { settings: { APP_SOCKET_INIT_MS: '300', APP_SOCKET_OPERATIONS_MAX: '20' } });
  await world.fund(rider.account, 50_000_000n);
  await world.fund(driver.account, 50_000_000n);
  [riderToken, driverToken] = [await world.signIn(rider), await world.signIn(driver)];
});
afterAll(() => world.close());

function codeOf(payload: unknown): unknown {
  return /"code":"([A-Z_]+)"/.exec(JSON.stringify(payload) ?? '')?.[1];
}

test('the auth matrix holds on a socket, row by row', async () => {
  const anonymous = await RawSocket.begun(world.socket_url);
  const signedIn = await RawSocket.begun(world.socket_url, { Authorization: `Bearer ${riderToken}` });
  for (const [at, { operation, needs_token: needsToken }] of QUERIES_AND_MUTATIONS.entries()) {
    const [without] = await anonymous.outcome(`m${at}`, operation);
    const [withToken] = await signedIn.outcome(`m${at}`, operation);
    expect([operation, without?.type, withToken?.type]).toEqual([operation, 'next', 'next']);
    if (needsToken) expect([operation, codeOf(without?.payload)]).toEqual([operation, 'UNAUTHENTICATED']);
    else expect(without?.payload).toEqual(withToken?.payload);
    expect([operation, codeOf(withToken?.payload) === 'UNAUTHENTICATED' && needsToken]).toEqual([operation, false]);
  }
  for (const [at, { operation }] of SUBSCRIPTIONS.entries()) {
    anonymous.subscribe(`s${at}`, operation);
    const { payload } = await anonymous.next(({ id, type }) => id === `s${at}` && type === 'next');
    expect(payload).toHaveProperty('data');
  }
  await Promise.all([anonymous.close(), signedIn.close()]);
});

test('a bad token, or none, is an anonymous connection; a token that expires goes on as one', async () => {
  const now = Math.floor(Date.now() / 1_000);
  for (const bad of ['', 'x', ...Object.values(badTokens(now)).slice(0, 4)]) {
    const socket = await RawSocket.begun(world.socket_url, { Authorization: `Bearer ${bad}` });
    expect(codeOf((await socket.outcome('1', '{ accountBalance }'))[0]?.payload)).toBe('UNAUTHENTICATED');
    await socket.close();
  }
  const short = await RawSocket.begun(world.socket_url, {
    Authorization: `Bearer ${signToken({ pk: rider.account, exp: now + 2 }, SECRET)}`,
  });
  await expect
    .poll(async () => {
      const id = String(Math.random());
      return codeOf((await short.outcome(id, '{ accountBalance }'))[0]?.payload);
    }, PATIENCE)
    .toBe('UNAUTHENTICATED');
  await short.close();
});

test.each([
  ['no connection_init in time', 4408, () => undefined],
  ['a second connection_init', 4429, (socket: RawSocket) => [1, 2].forEach(() => socket.send({ type: 'connection_init' }))],
  ['a subscription before it', 4401, (socket: RawSocket) => socket.subscribe('1', '{ __typename }')],
  ['a message that is no JSON', 4400, (socket: RawSocket) => socket.send('{')],
  ['a message of no known type', 4400, (socket: RawSocket) => socket.send({ type: 'start' })],
  ['a message that only servers send', 4400, (socket: RawSocket) => socket.send({ id: '1', type: 'next', payload: {} })],
  ['bytes', 4400, (socket: RawSocket) => socket.socket.send(Buffer.from('{"type":"connection_init"}'))],
  ['a mebibyte', 1009, (socket: RawSocket) => socket.send('x'.repeat(1 << 20))],
])('%s closes the socket with %i', async (_what, code, act) => {
  const socket = await RawSocket.open(world.socket_url);
  act(socket);
  expect(await socket.closed).toBe(code);
});

test('a socket without a protocol is not accepted, nor the same id twice', async () => {
  expect(await (await RawSocket.open(world.socket_url, [])).closed).toBe(4406);
  const twice = await RawSocket.begun(world.socket_url);
  twice.subscribe('1', 'subscription { activeTripsUpdated { txHash } }');
  twice.subscribe('1', 'subscription { activeTripsUpdated { txHash } }');
  expect(await twice.closed).toBe(4409);
});

test('what is too large or wrong is refused in the same words as over HTTP, and the socket goes on', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  const aliases = `{ ${Array.from({ length: 60 }, (_, at) => `a${at}: chainInfo { chainId }`).join(' ')} }`;
  for (const query of [
    '{',
    '{ nothing }',
    aliases,
    `{ ${'chainInfo '.repeat(1_200)} }`,
    'subscription { activeTripsUpdated { txHash } recentTripsUpdated { txHash } }',
  ]) {
    const [message] = await socket.outcome(query.slice(0, 20) + String(query.length), query);
    const overHttp = await world.ask(query);
    expect(message?.type).toBe('error');
    expect(codeOf(message?.payload)).toBe(overHttp.errors[0]?.extensions?.code);
  }
  const [bad] = await socket.outcome('bad', 'subscription { rideOffersUpdated(rideRequestTxHash: "zz") { txHash } }');
  expect(codeOf(bad?.payload)).toBe('BAD_USER_INPUT');
  const [good] = await socket.outcome('good', '{ chainInfo { chainId } }');
  expect(good?.payload).toEqual({ data: { chainInfo: { chainId: '7777' } } });
  await socket.close();
});

test('a thousand subscriptions on one socket are twenty, and each of the others is told so', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  for (let at = 0; at < 1_000; at++) socket.subscribe(String(at), 'subscription { activeTripsUpdated { txHash } }');
  await expect.poll(() => socket.messages.filter(({ type }) => type === 'error').length, PATIENCE).toBe(980);
  expect(new Set(socket.messages.filter(({ type }) => type === 'error').map(({ payload }) => codeOf(payload)))).toEqual(
    new Set(['RATE_LIMITED']),
  );
  socket.send({ id: '3', type: 'complete' });
  const [answer] = await socket.outcome('after', '{ __typename }');
  expect(answer?.type).toBe('next');
  await socket.close();
});

interface Watched {
  readonly seen: unknown[];
  readonly stop: () => void;
}

function watchOfficial(client: Client, query: string): Watched {
  const seen: unknown[] = [];
  const stop = client.subscribe(
    { query },
    {
      next: ({ data }) => void seen.push(Object.values(data ?? {})[0]),
      error: (error) => void seen.push(error),
      complete: () => undefined,
    },
  );
  return { seen, stop };
}

function watchApollo(client: ApolloClient, query: string): Watched {
  const seen: unknown[] = [];
  const next = ({ data }: { readonly data?: unknown }): void => {
    // it asks for the names of types on its own account
    const plain: unknown = JSON.parse(JSON.stringify(data ?? {}, (key, value: unknown) => (key === '__typename' ? undefined : value)));
    seen.push(Object.values(plain ?? {})[0]);
  };
  const observed = client
    .subscribe({ query: gql(query), fetchPolicy: 'no-cache' })
    .subscribe({ next, error: (error) => void seen.push(error) });
  return { seen, stop: () => observed.unsubscribe() };
}

test('the official client and Apollo Client see each step of a ride, in order, the state of the beginning first', async () => {
  const official = createClient({
    url: world.socket_url,
    webSocketImpl: WebSocket,
    connectionParams: { Authorization: `Bearer ${riderToken}` },
  });
  const apolloSocket = createClient({ url: world.socket_url, webSocketImpl: WebSocket });
  const apollo = new ApolloClient({ link: new GraphQLWsLink(apolloSocket), cache: new InMemoryCache() });
  const documents = {
    requests: 'subscription { rideRequestsUpdated { txHash fare } }',
    near: 'subscription { rideRequestsUpdated(bounds: { minLat: 0, maxLat: 2, minLng: 0, maxLng: 2 }) { txHash } }',
    far: 'subscription { rideRequestsUpdated(bounds: { minLat: 10, maxLat: 20, minLng: 0, maxLng: 2 }) { txHash } }',
    active: `subscription { activeTripsUpdated(driverAddress: "${driver.account}") { txHash farePaid } }`,
    completed: 'subscription { completedTripsUpdated { txHash farePaid } }',
    recent: `subscription { recentTripsUpdated(passengerAddress: "${rider.account}") { txHash tripStatus } }`,
    balance: `subscription { accountBalanceUpdated(publicKey: "${driver.account}") }`,
  };
  const watched = new Map(
    Object.entries(documents).map(([name, text]) => [name, [watchOfficial(official, text), watchApollo(apollo, text)]] as const),
  );
  const expectSeen = async (name: string, states: readonly unknown[]): Promise<void> => {
    for (const { seen } of watched.get(name) ?? []) await expect.poll(() => seen, PATIENCE).toEqual(states);
  };
  for (const name of watched.keys()) await expectSeen(name, [name === 'balance' ? '50000000' : []]);

  const requested = await world.send(
    rider,
    riderToken,
    'createUnsignedRideRequest(pickupLatitude: 1, pickupLongitude: 1, dropoffLatitude: 2, dropoffLongitude: 2, fare: "100")',
  );
  await world.block();
  const asRequest = [{ txHash: requested, fare: '100' }];
  await expectSeen('requests', [[], asRequest]);
  await expectSeen('near', [[], [{ txHash: requested }]]);
  const offersOf = `subscription { rideOffersUpdated(rideRequestTxHash: "${requested}") { txHash fare } }`;
  const offers = [watchOfficial(official, offersOf), watchApollo(apollo, offersOf)];
  for (const { seen } of offers) await expect.poll(() => seen, PATIENCE).toEqual([[]]);
  const offered = await world.send(driver, driverToken, `createUnsignedRideOffer(rideRequestTransactionHash: "${requested}", fare: "90")`);
  await world.block();
  for (const { seen } of offers) await expect.poll(() => seen, PATIENCE).toEqual([[], [{ txHash: offered, fare: '90' }]]);
  await expectSeen('balance', ['50000000', '49999000']);
  const trip = await world.send(rider, riderToken, `createUnsignedRideAcceptance(rideOfferTransactionHash: "${offered}")`);
  await world.block();
  for (const { seen } of offers) await expect.poll(() => seen, PATIENCE).toEqual([[], [{ txHash: offered, fare: '90' }], []]);
  await expectSeen('requests', [[], asRequest, []]);
  await expectSeen('active', [[], [{ txHash: trip, farePaid: '0' }]]);
  await world.send(rider, riderToken, `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "40")`);
  await world.block();
  await expectSeen('active', [[], [{ txHash: trip, farePaid: '0' }], [{ txHash: trip, farePaid: '40' }]]);
  await world.send(rider, riderToken, `createUnsignedRidePay(rideAcceptanceTransactionHash: "${trip}", fare: "50")`);
  await world.block();
  await expectSeen('active', [[], [{ txHash: trip, farePaid: '0' }], [{ txHash: trip, farePaid: '40' }], []]);
  await expectSeen('completed', [[], [{ txHash: trip, farePaid: '90' }]]);
  await expectSeen('recent', [[], [{ txHash: trip, tripStatus: 'completed' }]]);
  await expectSeen('balance', ['50000000', '49999000', '49999040', '49999090']);
  await expectSeen('far', [[]]);
  for (const each of [...watched.values(), offers].flat()) each.stop();
  apollo.stop();
  await Promise.all([official.dispose(), apolloSocket.dispose()]);
});

test('what nobody told of is seen within seconds all the same', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  const query = `subscription { rideRequestsUpdated(bounds: { minLat: 40, maxLat: 41, minLng: 0, maxLng: 2 }) { txHash } }`;
  socket.subscribe('1', query);
  await expect.poll(() => socket.results('1').length, PATIENCE).toBe(1);
  world.models.tells = false;
  const requested = await world.send(
    rider,
    riderToken,
    'createUnsignedRideRequest(pickupLatitude: 40.5, pickupLongitude: 1, dropoffLatitude: 2, dropoffLongitude: 2, fare: "100")',
  );
  await world.block();
  world.models.tells = true;
  await expect
    .poll(() => socket.results('1'), PATIENCE)
    .toEqual([{ data: { rideRequestsUpdated: [] } }, { data: { rideRequestsUpdated: [{ txHash: requested }] } }]);
  expect(/hub_sockets\{[^}]*\} (\d+)/.exec(await (await fetch(`${world.url}/metrics`)).text())?.[1]).toBe('1');
  await socket.close();
});

test('nothing of all this was a bug', () => {
  expect(world.lines).toEqual([]);
});
