/** Clients of GraphQL over HTTP as they come: each works, or is refused in words. */
import { createHash } from 'node:crypto';
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { BatchHttpLink } from '@apollo/client/link/batch-http';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { persistedExchange } from '@urql/exchange-persisted';
import { GraphQLClient } from 'graphql-request';
import { Client, cacheExchange, fetchExchange, type OperationResult } from 'urql';
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import { answerOf, HubWorld, type GraphqlAnswer } from '../../../services/hub-gateway/hub-world.ts';
import {
  apollo,
  graphqlRequest,
  relay,
  urql,
  type Ask,
} from '../../../services/hub-gateway/http-clients.ts';
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

/** All that the client sends of queries has this method; a mutation is always POST. */
async function works(ask: Ask, method: 'GET' | 'POST'): Promise<void> {
  const fetched = vi.spyOn(globalThis, 'fetch');
  onTestFinished(() => fetched.mockRestore());
  const methods = (): unknown[] =>
    fetched.mock.calls
      .splice(0)
      // the hub of the test asks its node as well
      .filter(([input]) => new Request(input).url.startsWith(url))
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

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function persisted(headers: Record<string, string>): ApolloLink {
  const hashes = new PersistedQueryLink({ sha256, useGETForHashedQueries: true });
  return ApolloLink.from([hashes, new HttpLink({ uri: url, headers })]);
}

test('Apollo Client with persisted queries sends their text once it hears that the hub keeps none', () => {
  return works(apollo(persisted), 'GET');
});

test('urql asks, changes, and sees why it is refused', () => works(urql(url), 'GET'));

test('urql with preferGetMethod false asks, changes, and sees why it is refused', () =>
  works(urql(url, { preferGetMethod: false }), 'POST'));

test('urql with persistedExchange sends their text once it hears that the hub keeps none', () =>
  works(urql(url, { exchanges: [cacheExchange, persistedExchange(), fetchExchange] }), 'GET'));

test('graphql-request asks, changes, and sees why it is refused', () =>
  works(graphqlRequest(url), 'POST'));

test("Relay's network layer asks, changes, and sees why it is refused", () =>
  works(relay(url), 'POST'));

test('graphql-request by GET asks, changes, and sees why it is refused', () =>
  works(graphqlRequest(url, { method: 'GET', jsonSerializer: JSON }), 'GET'));

test('a batch of Apollo Client is refused with the words to send one operation a request', async () => {
  const link = new BatchHttpLink({ uri: url, batchInterval: 1 });
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  const asked = [CHAIN, LIST].map((query) => client.query({ query: gql(query) }));
  for (const each of await Promise.allSettled(asked)) {
    expect(each.status).toBe('rejected');
    expect(JSON.stringify(each)).toContain('do not batch them');
  }
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
  await expect(graphqlRequest(url)(SUBSCRIBE)).rejects.toThrow(WHERE);
});

test("a subscription of Relay's network layer by HTTP is refused with the address of sockets", async () => {
  await expect(relay(url)(SUBSCRIBE)).rejects.toThrow(WHERE);
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
