import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startOwnRedis } from '../../../../support/own-redis.ts';
import type { Stack } from '../../../../support/stack.ts';
import { goodToken, badTokens, SECRET } from '../../../../support/tokens.ts';
import { walletOf } from '../../../../support/wallets.ts';
import { HubWorld } from '../../../../services/hub-gateway/hub-world.ts';
import { RawSocket } from '../../../../services/hub-gateway/raw-socket.ts';

const rider = walletOf('raw', 'socket rider');
let stack: Stack;
let world: HubWorld;
let riderToken: string;

beforeAll(async () => {
  stack = await startOwnRedis();
  world = await HubWorld.open(stack.addresses, {
    settings: { APP_SOCKET_INIT_MS: '60000', APP_SOCKET_OPERATIONS_MAX: '20' },
  });
  await world.fund(rider.account, 50_000_000n);
  riderToken = await world.signIn(rider);
});
afterAll(async () => {
  await world?.close();
  await stack?.stop();
  // of all tests
  expect(world.lines).toEqual([]);
});

function codeOf(payload: unknown): unknown {
  return /"code":"([A-Z_]+)"/.exec(JSON.stringify(payload) ?? '')?.[1];
}

/** The acknowledgement of a socket with this payload of `connection_init`. */
async function acknowledged(payload: unknown, url = world.socket_url): Promise<unknown> {
  const socket = await RawSocket.open(url);
  socket.send({ type: 'connection_init', payload });
  const { payload: told } = await socket.next(({ type }) => type === 'connection_ack');
  const outcome = await socket.outcome('1', '{ accountBalance }');
  // it is told what the operations of the socket will find
  expect(Object(told).signedIn).toBe(codeOf(outcome[0]?.payload) !== 'UNAUTHENTICATED');
  await socket.close();
  return told;
}

test('connection_ack names account and expiry of the token', async () => {
  const exp = Math.floor(Date.now() / 1_000) + 600;
  const token = goodToken({ pk: rider.account.toUpperCase().replace('X', 'x'), exp }, SECRET);
  const told = { signedIn: true, account: rider.account, expiresAt: exp };
  expect(await acknowledged({ Authorization: `Bearer ${token}` })).toEqual(told);
  expect(await acknowledged({ Authorization: `bearer ${token}`, authorization: 'x' })).toEqual(
    told,
  );
});

const NOW = Math.floor(Date.now() / 1_000);
const GOOD = goodToken({ pk: rider.account, exp: NOW + 3_600 }, SECRET);
const OLD = goodToken({ pk: rider.account, exp: NOW - 1 }, SECRET);
const NOBODY = goodToken({ pk: 'nobody', exp: NOW + 3_600 }, SECRET);

test.each([
  ['TOKEN_MISSING', 'no payload', undefined],
  ['TOKEN_MISSING', 'a payload of null', null],
  ['TOKEN_MISSING', 'an empty payload', {}],
  ['TOKEN_MISSING', 'null', { Authorization: null }],
  [
    'TOKEN_MISSING',
    'no text beside a version',
    { Authorization: '', client: { version: '1.2.3' } },
  ],
  ['TOKEN_MISPLACED', 'the key of HTTP', { authorization: `Bearer ${GOOD}` }],
  ['TOKEN_MISPLACED', 'a key in capitals', { AUTHORIZATION: GOOD }],
  ['TOKEN_MISPLACED', 'no token under the key of HTTP', { authorization: 'Bearer undefined' }],
  ['TOKEN_MISPLACED', 'headers in the payload', { headers: { Authorization: `Bearer ${GOOD}` } }],
  ['TOKEN_MISPLACED', 'a key of its own', { authToken: GOOD }],
  ['TOKEN_MISPLACED', 'an old one beside null', { Authorization: null, token: OLD }],
  ['TOKEN_INVALID', 'a token without Bearer', { Authorization: GOOD }],
  ['TOKEN_INVALID', 'undefined as text', { Authorization: 'Bearer undefined' }],
  ['TOKEN_INVALID', 'three words with dots', { Authorization: 'Bearer x.y.z' }],
  ['TOKEN_INVALID', 'a list', { Authorization: [`Bearer ${GOOD}`] }],
  ['TOKEN_INVALID', 'Bearer twice', { Authorization: `Bearer Bearer ${GOOD}` }],
  ['TOKEN_INVALID', 'quotation marks', { Authorization: `Bearer "${GOOD}"` }],
  ['TOKEN_INVALID', 'a token of no account', { Authorization: `Bearer ${NOBODY}` }],
  ['TOKEN_EXPIRED', 'an old token', { Authorization: `Bearer ${OLD}` }],
  [
    'TOKEN_EXPIRED',
    'an old one beside a good one',
    { Authorization: `Bearer ${OLD}`, token: GOOD },
  ],
])('connection_ack tells %s of %s', async (code, _what, payload) => {
  expect(await acknowledged(payload)).toEqual({
    signedIn: false,
    code,
    message: expect.stringMatching(/Authorization|sign in again/) as unknown,
  });
});

test('each broken token is told as broken, and one that has expired as expired', async () => {
  const bad = Object.entries(badTokens(NOW)).filter(([, { length }]) => length < 8_000);
  const expired = new Set(['one second past its expiry', 'in the second of its expiry']);
  for (const [what, token] of bad.filter(([, each]) => each !== ''))
    expect([what, await acknowledged({ Authorization: `Bearer ${token}` })]).toMatchObject([
      what,
      { code: expired.has(what) ? 'TOKEN_EXPIRED' : 'TOKEN_INVALID' },
    ]);
});

test('a token in the address of a socket is told as one in a wrong place', async () => {
  for (const query of [`token=${GOOD}`, `Authorization=Bearer%20${GOOD}`])
    expect(await acknowledged({}, `${world.socket_url}?${query}`)).toMatchObject({
      code: 'TOKEN_MISPLACED',
    });
});

test('a socket becomes anonymous when its token expires', async () => {
  const now = Math.floor(Date.now() / 1_000);
  const short = await RawSocket.begun(world.socket_url, {
    Authorization: `Bearer ${goodToken({ pk: rider.account, exp: now + 2 }, SECRET)}`,
  });
  await expect
    .poll(async () => {
      const id = String(Math.random());
      return codeOf((await short.outcome(id, '{ accountBalance }'))[0]?.payload);
    })
    .toBe('UNAUTHENTICATED');
  await short.close();
});

test('no connection_init in time closes the socket with 4408', async () => {
  const impatient = await HubWorld.open(stack.addresses, {
    settings: { APP_SOCKET_INIT_MS: '300' },
  });
  onTestFinished(() => impatient.close());
  expect(await (await RawSocket.open(impatient.socket_url)).closed).toBe(4408);
});

test.each([
  [
    'a second connection_init',
    4429,
    (socket: RawSocket) => [1, 2].forEach(() => socket.send({ type: 'connection_init' })),
  ],
  [
    'a subscription before it',
    4401,
    (socket: RawSocket) => socket.subscribe('1', '{ __typename }'),
  ],
  ['a message that is no JSON', 4400, (socket: RawSocket) => socket.send('{')],
  ['a message of no known type', 4400, (socket: RawSocket) => socket.send({ type: 'start' })],
  [
    'a message that only servers send',
    4400,
    (socket: RawSocket) => socket.send({ id: '1', type: 'next', payload: {} }),
  ],
  [
    'bytes',
    4400,
    (socket: RawSocket) => socket.socket.send(Buffer.from('{"type":"connection_init"}')),
  ],
  ['a mebibyte', 1009, (socket: RawSocket) => socket.send('x'.repeat(1 << 20))],
])('%s closes the socket with %i', async (_what, code, act) => {
  const socket = await RawSocket.open(world.socket_url);
  act(socket);
  expect(await socket.closed).toBe(code);
});

test('a missing subprotocol closes with 4406, an id in use with 4409', async () => {
  expect(await (await RawSocket.open(world.socket_url, [])).closed).toBe(4406);
  // the protocol of subscriptions-transport-ws
  const old = await RawSocket.open(world.socket_url, ['graphql-ws']);
  const [code, reason] = await once(old.socket, 'close');
  expect([code, String(reason)]).toEqual([
    4406,
    expect.stringContaining('use the subprotocol graphql-transport-ws'),
  ]);
  const twice = await RawSocket.begun(world.socket_url);
  twice.subscribe('1', 'subscription { activeTripsUpdated { txHash } }');
  twice.subscribe('1', 'subscription { activeTripsUpdated { txHash } }');
  expect(await twice.closed).toBe(4409);
});

test('an invalid operation gets the code that it gets over HTTP, and the socket stays open', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  const aliases = `{ ${Array.from({ length: 60 }, (_, at) => `a${at}: chainInfo { chainId }`).join(' ')} }`;
  for (const query of [
    '{',
    '{ nothing }',
    aliases,
    `{ ${'chainInfo '.repeat(1_200)} }`,
    'subscription { activeTripsUpdated { txHash } recentTripsUpdated { txHash } }',
    // graphql-js throws this error instead of reporting it
    'subscription { activeTripsUpdated @include(if: 1) { txHash } }',
    'query ($limit: Int!) { listRecentTrips(limit: $limit) { txHash } }',
    'query a { __typename } query b { __typename }',
  ]) {
    const [message] = await socket.outcome(query.slice(0, 20) + String(query.length), query);
    const overHttp = await world.ask(query);
    expect(message?.type).toBe('error');
    expect(codeOf(message?.payload)).toBe(overHttp.errors[0]?.extensions?.code);
  }
  const [bad] = await socket.outcome(
    'bad',
    'subscription { rideOffersUpdated(rideRequestTxHash: "zz") { txHash } }',
  );
  expect(codeOf(bad?.payload)).toBe('BAD_USER_INPUT');
  const [good] = await socket.outcome('good', '{ chainInfo { chainId } }');
  expect(good?.payload).toEqual({ data: { chainInfo: { chainId: '7777' } } });
  await socket.close();
});

test('an id that is reused at once gets one result, of its last operation, and one complete', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  socket.together(() => {
    for (let more = 1; more <= 15; more++) {
      socket.subscribe(
        '1',
        more % 2 === 0
          ? '{ __typename }'
          : `subscription { completedTripsUpdated(limit: ${more}) { txHash } }`,
      );
      socket.send({ id: '1', type: 'complete' });
    }
    socket.subscribe('1', '{ chainInfo { chainId } }');
  });
  await socket.next(({ id, type }) => id === '1' && type === 'complete');
  const [after] = await socket.outcome('after', '{ __typename }');
  expect(after?.type).toBe('next');
  expect(socket.messages.filter(({ id }) => id === '1')).toEqual([
    { id: '1', type: 'next', payload: { data: { chainInfo: { chainId: '7777' } } } },
    { id: '1', type: 'complete' },
  ]);
  await expect.poll(() => world.figure('hub_shared_subscriptions')).toBe(0);
  await socket.close();
});

test('an invalid upgrade request gets an error in the shape of GraphQL', async () => {
  const { hostname, port } = new URL(world.url);
  const answered = await new Promise<string>((resolve) => {
    const raw = connect(Number(port), hostname);
    let text = '';
    raw.on('data', (part: Buffer) => (text += part.toString()));
    raw.once('close', () => resolve(text));
    raw.write(
      `GET /graphql/ws HTTP/1.1\r\nhost: ${hostname}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 99\r\n\r\n`,
    );
  });
  expect(answered).toMatch(/^HTTP\/1\.1 400 .*"code":"BAD_USER_INPUT"/s);
});

test('a socket opens twenty of a thousand subscriptions and refuses the others', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  for (let at = 0; at < 1_000; at++)
    socket.subscribe(String(at), 'subscription { activeTripsUpdated { txHash } }');
  await expect.poll(() => socket.messages.filter(({ type }) => type === 'error').length).toBe(980);
  expect(
    new Set(
      socket.messages.filter(({ type }) => type === 'error').map(({ payload }) => codeOf(payload)),
    ),
  ).toEqual(new Set(['RATE_LIMITED']));
  // a completed operation counts until its first result is there
  await expect.poll(() => socket.results('3').length).toBe(1);
  socket.send({ id: '3', type: 'complete' });
  const [answer] = await socket.outcome('after', '{ __typename }');
  expect(answer?.type).toBe('next');
  await socket.close();
});

test('a subscription shows a change whose notification was lost', async () => {
  const socket = await RawSocket.begun(world.socket_url);
  const query = `subscription { rideRequestsUpdated(bounds: { minLat: 40, maxLat: 41, minLng: 0, maxLng: 2 }) { txHash } }`;
  socket.subscribe('1', query);
  await expect.poll(() => socket.results('1').length).toBe(1);
  world.models.notifies = false;
  const heard = await world.figure('hub_notifications_total');
  const requested = await world.send(
    rider,
    riderToken,
    'createUnsignedRideRequest(pickupLatitude: 40.5, pickupLongitude: 1, dropoffLatitude: 2, dropoffLongitude: 2, fare: "100")',
  );
  await world.block();
  world.models.notifies = true;
  await expect
    .poll(() => socket.results('1'))
    .toEqual([
      { data: { rideRequestsUpdated: [] } },
      { data: { rideRequestsUpdated: [{ txHash: requested }] } },
    ]);
  expect(await world.figure('hub_notifications_total')).toBe(heard);
  expect(await world.figure('hub_sockets')).toBe(1);
  // with its notification the next change is heard of
  await world.block();
  await expect.poll(() => world.figure('hub_notifications_total')).toBeGreaterThan(heard);
  await socket.close();
});
