import { createHash } from 'node:crypto';
import { serverAudits } from 'graphql-http';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { goodToken, badTokens, SECRET } from '../../../support/tokens.ts';
import { walletOf } from '../../../support/wallets.ts';
import { challengeOf } from '../../../../schemas/sign-in.ts';
import {
  HubWorld,
  signUnsigned,
  type GraphqlAnswer,
} from '../../../services/hub-gateway/hub-world.ts';
import { TOO_LARGE } from '../../../services/hub-gateway/too-large.ts';
import { readUnsigned } from '../../../services/hub-gateway/unsigned.ts';

const caller = walletOf('raw', 'caller');
let world: HubWorld;
let token: string;

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'));
  await world.fund(caller.account, 10_000_000n);
  token = await world.signIn(caller);
});
afterAll(async () => {
  await world.close();
  // of all tests
  expect(world.lines.filter((line) => JSON.parse(line).level !== 'warn')).toEqual([]);
});

function codes({ errors }: GraphqlAnswer): unknown {
  return errors.map(({ extensions }) => extensions?.code);
}

test('every invalid token gets the same response as none, and lists are served', async () => {
  const now = Math.floor(Date.now() / 1_000);
  const answers = new Set<string>();
  const pk = `0x${'aa'.repeat(20)}`;
  const bad = [
    ...Object.values(badTokens(now)).filter((each) => each.length < 8_000),
    goodToken({ pk: 'nobody', exp: now + 60 }, SECRET),
  ];
  for (const each of bad) {
    const headers = { authorization: `Bearer ${each}`.replaceAll(/[^\x20-\x7e]/g, '?') };
    answers.add((await world.post('{"query":"{ accountBalance }"}', headers)).text);
    expect((await world.post('{"query":"{ listRideRequests { txHash } }"}', headers)).data).toEqual(
      { listRideRequests: [] },
    );
  }
  expect(answers.size).toBe(1);
  const good = goodToken({ pk, exp: now + 60 }, SECRET);
  expect(
    (await world.post('{"query":"{ accountBalance }"}', { authorization: `bearer ${good}` })).data,
  ).toEqual({ accountBalance: '0' });
});

test('a balance is found by address and by public key', async () => {
  const ask = async (publicKey: string): Promise<GraphqlAnswer> =>
    world.ask(
      'query ($key: String) { accountBalance(publicKey: $key) }',
      { key: publicKey },
      token,
    );
  const own = (await world.ask('{ accountBalance }', {}, token)).data;
  expect(own).toEqual({ accountBalance: '10000000' });
  for (const key of [
    caller.account,
    caller.account.toUpperCase().replace('X', 'x'),
    caller.key.publicKey,
    caller.key.publicKey.slice(2),
  ]) {
    expect((await ask(key)).data).toEqual(own);
  }
  for (const key of ['', caller.account.slice(2), `${caller.account}0`, `04${'1'.repeat(128)}`])
    expect(codes(await ask(key))).toEqual(['BAD_USER_INPUT']);
});

test('a challenge sent again gives the same token, which holds the key as sent and the expiry', async () => {
  const timestamp = Math.floor(Date.now() / 1_000) - 60;
  const publicKey = caller.key.publicKey.slice(2);
  const signature = await caller.sign(challengeOf(7777, publicKey, timestamp));
  const sign = (change: object = {}): Promise<GraphqlAnswer> =>
    world.generateToken({ publicKey, timestamp, signature, ...change });
  const first = await sign();
  expect(first.data).toEqual({
    generateToken: { token: expect.any(String) as unknown, expiresAt: timestamp + 6 * 3_600 },
  });
  expect((await sign()).text).toBe(first.text);
  const claims = /token":"[^.]+\.([^.]+)/.exec(first.text)?.[1] ?? '';
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toEqual({
    pk: publicKey,
    exp: timestamp + 6 * 3_600,
  });
  for (const change of [
    { timestamp: timestamp + 1 },
    { publicKey: `0x${publicKey}` },
    { signature: { ...signature, v: 29 } },
    { timestamp: timestamp - 100 },
  ]) {
    expect(codes(await sign(change))).toEqual(['UNAUTHENTICATED']);
  }
  for (const change of [
    { timestamp: 1.5 },
    { timestamp: timestamp * 1_000 },
    { timestamp: 2 ** 31 },
    { publicKey: null },
    { signature: { r: '', s: '' } },
    { signature: null },
  ]) {
    expect(codes(await sign(change))).toEqual(['BAD_USER_INPUT']);
  }
});

const RIDE = (name: string, value: string): string => {
  const args: Record<string, string> = {
    pickupLatitude: '1',
    pickupLongitude: '1',
    dropoffLatitude: '1',
    dropoffLongitude: '1',
    fare: '"1"',
  };
  const text = Object.entries({ ...args, [name]: value })
    .map(([key, each]) => `${key}: ${each}`)
    .join(', ');
  return `mutation { createUnsignedRideRequest(${text}) }`;
};
const AMOUNTS = [
  '',
  '-1',
  '+1',
  '1.0',
  '1e3',
  '0x10',
  '１',
  '01',
  '0',
  ' 1',
  '1 ',
  String(2n ** 256n),
  '9'.repeat(1_000),
];

test.each([
  ...AMOUNTS.map((amount) => RIDE('fare', JSON.stringify(amount))),
  ...AMOUNTS.map((amount) => `mutation { createUnsignedBurn(amount: ${JSON.stringify(amount)}) }`),
  ...['90.0000001', '-91', '1e400', '-1e400'].flatMap((each) => [
    RIDE('pickupLatitude', each),
    RIDE('dropoffLatitude', each),
  ]),
  ...['180.1', '-181', '1e308'].flatMap((each) => [
    RIDE('pickupLongitude', each),
    RIDE('dropoffLongitude', each),
  ]),
  'mutation { createUnsignedBurn(amount: "1", redemptionRef: "") }',
  `mutation { createUnsignedBurn(amount: "1", redemptionRef: "${'a'.repeat(63)}") }`,
  'mutation { createUnsignedRideCancel(rideAcceptanceTransactionHash: "0x12") }',
  '{ listRideOffers(rideRequestTxHash: "zz") { txHash } }',
  '{ listActiveTrips(driverAddress: "") { txHash } }',
  '{ listRecentTrips(limit: 0) { txHash } }',
  '{ listCompletedTrips(limit: 201) { txHash } }',
  '{ listRideRequests(limit: 1001) { txHash } }',
  '{ listActiveTrips(limit: 0) { txHash } }',
  '{ ride(txHash: "0x12") { status } }',
  '{ listRideRequests(bounds: { minLat: 2, maxLat: 1, minLng: 0, maxLng: 0 }) { txHash } }',
  '{ listRideRequests(bounds: { minLat: -91, maxLat: 1, minLng: 0, maxLng: 0 }) { txHash } }',
  '{ listRideRequests(bounds: { minLat: 0, maxLat: 1, minLng: 0, maxLng: 1e400 }) { txHash } }',
])('BAD_USER_INPUT refuses %s', async (operation) => {
  const answer = await world.ask(operation, {}, token);
  expect([answer.status, codes(answer)]).toEqual([200, ['BAD_USER_INPUT']]);
  expect(answer.text).not.toMatch(/stack|node_modules|９|1e400/);
});

test('bounds across the antimeridian and the largest amount are accepted', async () => {
  const lists = await world.ask(
    '{ listRideRequests(bounds: { minLat: -90, maxLat: 90, minLng: 179, maxLng: -179 }) { txHash } }',
  );
  expect(lists.errors).toEqual([]);
  const largest = await world.ask(
    `mutation { createUnsignedBurn(amount: "${2n ** 256n - 1n}") }`,
    {},
    token,
  );
  expect(largest.data).toMatchObject({
    createUnsignedBurn: {
      data: { arguments: { amount: String(2n ** 256n - 1n), redemption_ref: null } },
    },
  });
});

test('an operation that is too large is refused before it is executed', async () => {
  const [, [, query] = ['', '']] = TOO_LARGE;
  const { status, data, errors } = await world.ask(query);
  expect([status, data, errors[0]?.extensions?.code]).toEqual([
    400,
    undefined,
    'GRAPHQL_VALIDATION_FAILED',
  ]);
});

test('the standard introspection query is within the limits', async () => {
  expect((await world.ask(getIntrospectionQuery())).errors).toEqual([]);
});

const RAW_PROBLEMS: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['no hex', '0xzz'],
  ['an odd number of digits', '0x123'],
  ['trailing bytes', '0x0000'],
  ['lists in lists', `0x${'c1'.repeat(5_000)}c0`],
];

test.each(RAW_PROBLEMS)('a raw transaction is refused that is or has: %s', async (_what, raw) => {
  const answer = await world.ask(
    'mutation ($raw: String!) { sendRawTransaction(rawTransaction: $raw) }',
    { raw },
    token,
  );
  expect([answer.status, codes(answer)]).toEqual([200, ['BAD_USER_INPUT']]);
});

test('a transaction is sent when the caller signed it for this chain; sent again, it waits for a block or is in one', async () => {
  const submit = (raw: string): Promise<GraphqlAnswer> =>
    world.ask(
      'mutation ($raw: String!) { sendRawTransaction(rawTransaction: $raw) }',
      { raw },
      token,
    );
  const built = await world.ask('mutation { createUnsignedBurn(amount: "1") }', {}, token);
  const unsigned = readUnsigned(built.data?.['createUnsignedBurn']);
  expect(codes(await submit(signUnsigned(walletOf('raw', 'somebody else'), unsigned)))).toEqual([
    'FORBIDDEN',
  ]);
  expect(codes(await submit(signUnsigned(caller, { ...unsigned, chain_id: 7778 })))).toEqual([
    'BAD_USER_INPUT',
  ]);
  const raw = signUnsigned(caller, unsigned);
  expect((await submit(raw)).data).toEqual({
    sendRawTransaction: { transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as unknown },
  });
  expect((await submit(raw)).data).toMatchObject({ sendRawTransaction: { code: 'already_known' } });
  const { data } = unsigned;
  const two = { ...data, arguments: { ...data.arguments, amount: '2' } };
  const other = signUnsigned(caller, { ...unsigned, data: two });
  // the one that waits may still lose its place
  expect(codes(await submit(other))).toEqual(['UPSTREAM_ERROR']);
  await world.block();
  expect((await submit(raw)).data).toMatchObject({
    sendRawTransaction: { code: 'already_in_block', block_height: expect.any(Number) as unknown },
  });
  expect((await submit(other)).data).toMatchObject({
    sendRawTransaction: { code: 'nonce_too_low' },
  });
});

test("a page may read the server's time of each answer", async () => {
  const { headers } = await world.ask('{ chainInfo { chainId } }');
  expect(headers.get('access-control-expose-headers')).toMatch(/^date,/);
  expect(Date.parse(headers.get('date') ?? '')).toBeGreaterThan(0);
});

test('a node that fails is an UPSTREAM_ERROR that names no address', async () => {
  await world.devnet.admin('/admin/faults', { target: 'node', mode: 'status_503', times: 1 });
  const answer = await world.ask('mutation { createUnsignedBurn(amount: "1") }', {}, token);
  expect(codes(answer)).toEqual(['UPSTREAM_ERROR']);
  expect(answer.text).not.toMatch(/127\.0\.0\.1|503|v1/);
});

test.each([
  ['no JSON', '{', 400],
  ['a number', '1', 400],
  ['null', 'null', 400],
  ['a batch', '[{"query":"{ chainInfo { chainId } }"}]', 400],
  ['no query', '{}', 400],
  ['a query that is a list', '{"query":["{ chainInfo { chainId } }"]}', 400],
  ['variables that are text', '{"query":"{ chainInfo { chainId } }","variables":"{}"}', 400],
  ['__proto__', '{"__proto__":{"query":"{ chainInfo { chainId } }"}}', 400],
  [
    'deeply nested variables',
    `{"query":"query ($b: MapBoundsInput) { listRideRequests(bounds: $b) { txHash } }","variables":{"b":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`,
    400,
  ],
  ['a mebibyte', `{"query":"${' '.repeat(1 << 20)}{ chainInfo { chainId } }"}`, 413],
])(
  'a body that is or has %s gets an error in the shape of GraphQL',
  async (_what, body, status) => {
    const answer = await world.post(body);
    expect(answer.status).toBe(status);
    expect(answer.errors[0]?.extensions?.code).toMatch(/^[A-Z_]+$/);
  },
);

test('other content types, mutations by GET, other paths and methods get errors in the shape of GraphQL', async () => {
  const body = '{"query":"{ chainInfo { chainId } }"}';
  expect((await world.post(body, { 'content-type': 'text/plain' })).status).toBe(415);
  const get = async (path: string): Promise<Response> => fetch(world.url + path);
  const read = await get(`/graphql?query=${encodeURIComponent('{ chainInfo { chainId } }')}`);
  expect(await read.json()).toEqual({ data: { chainInfo: { chainId: '7777' } } });
  const burn = await get(
    `/graphql?query=${encodeURIComponent('mutation { createUnsignedBurn(amount: "1") }')}`,
  );
  expect(burn.status).toBe(405);
  for (const [path, method, status] of [
    ['/elsewhere', 'GET', 404],
    ['/graphql', 'PUT', 405],
    ['/graphql/ws', 'GET', 404],
    ['/graphql/stream', 'PUT', 404],
  ] as const) {
    const response = await fetch(world.url + path, { method });
    expect([path, response.status, await response.json()]).toMatchObject([
      path,
      status,
      { errors: [{ extensions: {} }] },
    ]);
  }
});

/** As clients of GraphQL send it. */
function byGet(query: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${world.url}/graphql?${new URLSearchParams({ query }).toString()}`, {
    headers: { accept: 'application/json', ...headers },
  });
}

test('an anonymous query by GET is for caches, and is answered 304 until its answer changes', async () => {
  const query = '{ listRideRequests { txHash } }';
  const first = await byGet(query);
  const etag = first.headers.get('etag') ?? '';
  expect(first.headers.get('cache-control')).toMatch(/^public, max-age=0, s-maxage=1, /);
  expect(first.headers.get('vary')).toBe('accept, accept-encoding');
  expect(await first.text()).toBe((await world.ask(query)).text);
  // made and cached ones alike
  for (const _ of [1, 2, 3])
    expect((await byGet(query, { 'if-none-match': etag })).status).toBe(304);
  await world.send(
    caller,
    token,
    'createUnsignedRideRequest(pickupLatitude: 1, pickupLongitude: 1, dropoffLatitude: 2, dropoffLongitude: 2, fare: "7")',
  );
  await world.block();
  const changed = async (): Promise<number> =>
    (await byGet(query, { 'if-none-match': etag })).status;
  await expect.poll(changed).toBe(200);
});

test('a long answer to GET is compressed, in the type that the client accepts', async () => {
  const query = '{ __schema { types { name description fields { name description } } } }';
  const { text } = await world.ask(query);
  for (const coding of ['br', 'gzip', 'zstd'])
    for (const accept of [
      'application/json',
      'application/graphql-response+json',
      'application/graphql-response+json; charset=utf-8',
    ]) {
      const response = await byGet(query, { accept, 'accept-encoding': coding });
      expect(response.headers.get('content-encoding')).toBe(coding);
      expect(response.headers.get('content-type')).toContain(accept);
      expect(await response.text()).toBe(text);
    }
});

test('operations with a token and errors are not for caches', async () => {
  const query = '{ chainInfo { txFee } }';
  for (const _ of [1, 2, 3]) await byGet(query);
  for (const [asked, headers, status] of [
    [query, { authorization: `Bearer ${token}` }, 200],
    ['{ accountBalance }', { authorization: `Bearer ${token}` }, 200],
    ['{ accountBalance }', {}, 200],
    ['{ nothing }', {}, 400],
    ['mutation { createUnsignedBurn(amount: "1") }', {}, 405],
    [query, { 'content-type': 'text/plain' }, 415],
  ] as const) {
    const response = await byGet(asked, headers);
    const control = response.headers.get('cache-control');
    expect([asked, response.status, control]).toEqual([asked, status, 'no-store']);
    expect(response.headers.has('etag')).toBe(false);
  }
});

test('an anonymous query is cached until the read model changes, other operations are not', async () => {
  const used = async (): Promise<number> => {
    const text = await world.metrics.text();
    return Number(/hub_answer_cache_hits\{[^}]*\} (\d+)/.exec(text)?.[1]);
  };
  const ask = async (query: string, by?: string): Promise<number> => {
    const before = await used();
    const answers = [await world.ask(query, {}, by), await world.ask(query, {}, by)];
    expect(answers[0]?.text).toBe(answers[1]?.text);
    return (await used()) - before;
  };
  const lists = '{ listRideRequests { fare } listActiveTrips { fare } chainInfo { txFee } }';
  // a response is kept from its second request on, once the last block is shown
  expect(await ask(lists)).toBe(0);
  await expect.poll(async () => ask(lists)).toBe(2);
  await world.block();
  // the change may be seen between the two requests
  await expect.poll(async () => ask(lists)).toBeLessThan(2);
  await expect.poll(async () => ask(lists)).toBe(2);
  expect(await ask(lists, token)).toBe(0);
  expect(await ask('{ accountBalance }')).toBe(0);
  expect(await ask('mutation { createUnsignedBurn(amount: "1") }')).toBe(0);
  expect(await ask('{ nothing }')).toBe(0);
});

/** Without those that differ between requests. */
function shown(headers: Headers): unknown {
  return Object.entries(Object.fromEntries(headers)).filter(
    ([name]) => !['date', 'x-request-id'].includes(name),
  );
}

test('a cached response has the headers and the bytes of the made one', async () => {
  const query = '{ listRecentTrips(limit: 3) { txHash } }';
  const [made, , cached] = [await world.ask(query), await world.ask(query), await world.ask(query)];
  expect(cached.text).toBe(made.text);
  expect(shown(cached.headers)).toEqual(shown(made.headers));
  expect(cached.headers.get('x-request-id')).toMatch(/^[0-9a-f]{12}-/);
});

test('a body that is not UTF-8 is refused', async () => {
  for (const type of ['application/json', 'application/json; charset=utf-8']) {
    const body = Buffer.from('{"query":"{ chainInfo { chainId } } # \xff"}', 'latin1');
    const headers = { 'content-type': type };
    const answer = await fetch(`${world.url}/graphql`, { method: 'POST', headers, body });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('the body is not UTF-8'),
    ]);
  }
});

test('browsers get GraphiQL, whose script is the only one that its policy allows', async () => {
  const response = await fetch(`${world.url}/graphql`, { headers: { accept: 'text/html' } });
  const html = await response.text();
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const [script = ''] = /(?<=<script>).*(?=<\/script>)/s.exec(html) ?? [];
  const hash = createHash('sha256').update(script).digest('base64');
  expect(response.headers.get('content-security-policy')).toContain(
    `default-src 'none'; script-src 'sha256-${hash}';`,
  );
  const page = html.replace(script, '').replace(/<style>.*<\/style>/s, '');
  expect(/(?:src|href)="(?!data:|\/")/.exec(page)).toBeNull();
});

test('pages of any origin may send operations with a token', async () => {
  const headers = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, apollographql-client-name, traceparent',
  };
  const response = await fetch(`${world.url}/graphql`, { method: 'OPTIONS', headers });
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([
    204,
    '*',
  ]);
  expect(response.headers.get('access-control-allow-headers')).toBe('authorization, *');
});

/** Audits of SHOULD: 200 for operations that are invalid. */
const UNFOLLOWED = new Set(['572B', 'FDE2', '7B9B']);

test.each(serverAudits({ url: () => `${world.url}/graphql` }))(
  'GraphQL over HTTP, $id: $name',
  async ({ id, fn }) => {
    expect((await fn()).status === 'ok').toBe(!UNFOLLOWED.has(id));
  },
);

test('a variable with many errors and a long text is answered with two short errors of the caller', async () => {
  const unknown = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`unknown${at}`, 1]));
  const bounds = { ...unknown, minLat: 'x'.repeat(10_000) };
  const answer = await world.ask(
    'query ($bounds: MapBoundsInput) { listRideRequests(bounds: $bounds) { txHash } }',
    { bounds },
  );
  expect(codes(answer)).toEqual(['BAD_USER_INPUT', 'BAD_USER_INPUT']);
  expect(answer.text.length).toBeLessThan(2_000);
});
