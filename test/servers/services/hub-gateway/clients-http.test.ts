/** Clients of GraphQL over HTTP as they come: each works, or is refused in words. */
import { createHash } from 'node:crypto';
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { BatchHttpLink } from '@apollo/client/link/batch-http';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { persistedExchange } from '@urql/exchange-persisted';
import { GraphQLClient } from 'graphql-request';
import { Network, type FetchFunction } from 'relay-runtime';
import {
  Client,
  cacheExchange,
  fetchExchange,
  type ClientOptions,
  type OperationResult,
} from 'urql';
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import { answerOf, HubWorld, type GraphqlAnswer } from '../../../services/hub-gateway/hub-world.ts';
import { walletOf } from '../../../support/wallets.ts';

const caller = walletOf('raw', 'client');
let world: HubWorld;
let url: string;
let authorization: string;
beforeAll(async () => {
  world = await HubWorld.open(inject('stack'));
  await world.fund(caller.account, 7_000_000n);
  url = `${world.url}/graphql`;
  authorization = `Bearer ${await world.signIn(caller)}`;
});
afterAll(() => world.close());

function codes({ errors }: GraphqlAnswer): unknown {
  return errors.map(({ extensions }) => extensions?.code);
}

const CHAIN = 'query Chain { chainInfo { chainId } }';
const LIST = 'query List($limit: Int) { listRideRequests(limit: $limit) { txHash fare } }';
const BALANCE = '{ accountBalance }';
const BURN = 'mutation Burn($amount: String!) { createUnsignedBurn(amount: $amount) }';
const SUBSCRIBE = 'subscription S { rideRequestsUpdated { txHash } }';
const WHERE = /subscriptions are at \/graphql\/ws, by WebSocket/;

/** Asks in a client's way; rejects with the error that its app sees. */
type Ask = (query: string, variables?: Record<string, unknown>, token?: string) => Promise<unknown>;

function apollo(link: (headers: Record<string, string>) => ApolloLink): Ask {
  return async (query, variables = {}, token) => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: token };
    const client = new ApolloClient({ link: link(headers), cache: new InMemoryCache() });
    const asked = gql(query);
    const { data } = query.startsWith('mutation')
      ? await client.mutate({ mutation: asked, variables })
      : await client.query({ query: asked, variables });
    return data;
  };
}

function urql(options: Partial<ClientOptions> = {}): Ask {
  return async (query, variables = {}, token) => {
    const client = new Client({
      url,
      exchanges: [cacheExchange, fetchExchange],
      ...(token !== undefined && { fetchOptions: { headers: { authorization: token } } }),
      // all of it: the options of a client that the test tries
      ...options,
    });
    const asked = query.startsWith('mutation')
      ? client.mutation(query, variables)
      : client.query(query, variables);
    const { data, error } = await asked.toPromise();
    if (error !== undefined) throw error;
    return data;
  };
}

function graphqlRequest(options: ConstructorParameters<typeof GraphQLClient>[1] = {}): Ask {
  return (query, variables, token) =>
    new GraphQLClient(url, options).request(
      query,
      variables,
      token === undefined ? {} : { authorization: token },
    );
}

/** The function of Relay's own documentation. */
const relay: Ask = async (query, variables = {}, token) => {
  const ask: FetchFunction = async ({ text }, given) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: token }),
      },
      body: JSON.stringify({ query: text, variables: given }),
    });
    return response.json();
  };
  const operationKind = query.startsWith('mutation') ? 'mutation' : 'query';
  const request = {
    id: null,
    cacheID: query,
    name: 'Q',
    operationKind,
    text: query,
    metadata: {},
  } as const;
  const answer: unknown = await Network.create(ask).execute(request, variables, {}).toPromise();
  const { data, errors } = Object(answer);
  if (errors !== undefined) throw new Error(errors[0].message);
  return data;
};

/** All that the client sends of queries has this method; a mutation is always POST. */
async function works(ask: Ask, method: 'GET' | 'POST'): Promise<void> {
  const fetched = vi.spyOn(globalThis, 'fetch');
  onTestFinished(() => fetched.mockRestore());
  const methods = (): unknown[] =>
    fetched.mock.calls
      .splice(0)
      // the hub of the test asks its node as well
      .filter(([input]) => String(input).startsWith(url))
      .map(([, init]) => init?.method ?? 'GET');
  expect(await ask(CHAIN)).toMatchObject({ chainInfo: { chainId: '7777' } });
  expect(methods()[0]).toBe(method);
  expect(await ask(LIST, { limit: 2 })).toMatchObject({ listRideRequests: [] });
  expect(await ask(BALANCE, {}, authorization)).toMatchObject({ accountBalance: '7000000' });
  expect(methods()[0]).toBe(method);
  expect(await ask(BURN, { amount: '1' }, authorization)).toMatchObject({
    createUnsignedBurn: { data: { arguments: { amount: '1' } } },
  });
  expect(methods().at(-1)).toBe('POST');
  await expect(ask(BALANCE)).rejects.toThrow('a token is needed');
  await expect(ask(BURN, { amount: '1' })).rejects.toThrow('a token is needed');
  await expect(ask('{ nothing }')).rejects.toThrow('Cannot query field');
}

test('Apollo Client asks, changes, and sees why it is refused', () =>
  works(
    apollo((headers) => new HttpLink({ uri: url, headers })),
    'POST',
  ));

test('Apollo Client with useGETForQueries asks, changes, and sees why it is refused', () =>
  works(
    apollo((headers) => new HttpLink({ uri: url, headers, useGETForQueries: true })),
    'GET',
  ));

test('Apollo Client with persisted queries sends their text once it hears that the hub keeps none', () => {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const persisted = (): ApolloLink =>
    new PersistedQueryLink({ sha256, useGETForHashedQueries: true });
  return works(
    apollo((headers) => ApolloLink.from([persisted(), new HttpLink({ uri: url, headers })])),
    'GET',
  );
});

test('urql asks, changes, and sees why it is refused', () => works(urql(), 'GET'));

test('urql with preferGetMethod false asks, changes, and sees why it is refused', () =>
  works(urql({ preferGetMethod: false }), 'POST'));

test('urql with persistedExchange sends their text once it hears that the hub keeps none', () =>
  works(urql({ exchanges: [cacheExchange, persistedExchange(), fetchExchange] }), 'GET'));

test('graphql-request asks, changes, and sees why it is refused', () =>
  works(graphqlRequest(), 'POST'));

test("Relay's network layer asks, changes, and sees why it is refused", () => works(relay, 'POST'));

test('graphql-request by GET asks, changes, and sees why it is refused', () =>
  works(graphqlRequest({ method: 'GET', jsonSerializer: JSON }), 'GET'));

test('a batch of Apollo Client is refused with the words to send one operation a request', async () => {
  const link = new BatchHttpLink({ uri: url, batchInterval: 1 });
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  const asked = [CHAIN, LIST].map((query) => client.query({ query: gql(query) }));
  for (const { reason } of (await Promise.allSettled(asked)).filter(
    (each) => each.status === 'rejected',
  ))
    expect(JSON.stringify(reason)).toContain('do not batch them');
});

test('a batch of graphql-request is refused with the words to send one operation a request', async () => {
  const client = new GraphQLClient(url);
  await expect(client.batchRequests([{ document: CHAIN }, { document: LIST }])).rejects.toThrow(
    'do not batch them',
  );
});

test('a subscription of Apollo Client without a link to sockets is refused with their address', async () => {
  const client = new ApolloClient({ link: new HttpLink({ uri: url }), cache: new InMemoryCache() });
  const seen = await new Promise((resolve) => {
    client.subscribe({ query: gql(SUBSCRIBE) }).subscribe({
      next: ({ error }) => resolve(error?.message),
      error: (error: Error) => resolve(error.message),
    });
  });
  expect(seen).toMatch(WHERE);
});

test('a subscription of urql by HTTP is refused with the address of sockets', async () => {
  for (const preferGetMethod of [true, false]) {
    const exchanges = [cacheExchange, fetchExchange];
    const client = new Client({ url, exchanges, fetchSubscriptions: true, preferGetMethod });
    const { error } = await new Promise<OperationResult>((resolve) => {
      client.subscription(SUBSCRIBE, {}).subscribe(resolve);
    });
    expect(error?.message).toMatch(WHERE);
  }
});

test('a subscription of graphql-request is refused with the address of sockets', async () => {
  await expect(graphqlRequest()(SUBSCRIBE)).rejects.toThrow(WHERE);
});

test("a subscription of Relay's network layer by HTTP is refused with the address of sockets", async () => {
  await expect(relay(SUBSCRIBE)).rejects.toThrow(WHERE);
});

const SUBSCRIPTION = 'subscription S { rideRequestsUpdated { txHash } }';

test.each([
  ['alone', { query: SUBSCRIPTION }],
  ['by its name', { query: SUBSCRIPTION, operationName: 'S' }],
  ['among others', { query: `query Q { __typename } ${SUBSCRIPTION}`, operationName: 'S' }],
  ['before others', { query: `${SUBSCRIPTION} query Q { __typename }`, operationName: 'S' }],
  [
    'in a fragment',
    { query: 'subscription { ...F } fragment F on Subscription { activeTripsUpdated { fare } }' },
  ],
  [
    'without its variables',
    { query: 'subscription ($key: String!) { accountBalanceUpdated(publicKey: $key) }' },
  ],
] as const)(
  'a subscription over HTTP is refused with the address of the sockets: %s',
  async (_how, operation) => {
    for (const accept of [
      '*/*',
      'application/graphql-response+json',
      'text/event-stream',
      'multipart/mixed;subscriptionSpec=1.0, application/json',
    ]) {
      const answers = [
        await world.post(JSON.stringify(operation), { accept }),
        await answerOf(
          await fetch(`${world.url}/graphql?${new URLSearchParams(operation).toString()}`, {
            headers: { accept },
          }),
        ),
      ];
      for (const answer of answers) {
        expect([answer.status, codes(answer)]).toEqual([400, ['BAD_USER_INPUT']]);
        expect(answer.text).toContain('subscriptions are at /graphql/ws');
      }
    }
  },
);

test('a query beside a subscription is answered', async () => {
  const query = `${SUBSCRIPTION} query Q { __typename }`;
  const { data } = await world.post(JSON.stringify({ query, operationName: 'Q' }));
  expect(data).toEqual({ __typename: 'Query' });
});
