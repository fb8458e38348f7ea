/** There is one path to an answer over HTTP, Express, and one pipeline of operations, Apollo. */
import { ApolloServer } from '@apollo/server';
import express from 'express';
import { afterAll, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { walletOf } from '../../../support/wallets.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { QUERIES_AND_MUTATIONS, SUBSCRIPTIONS } from '../../../services/hub-gateway/operations.ts';
import { RawSocket } from '../../../services/hub-gateway/raw-socket.ts';

/** every application of Express has its methods */
const methods: { handle(request: { readonly url: string }): unknown } = Object(express.application);
const handled = vi.spyOn(methods, 'handle');
const overHttp = vi.spyOn(ApolloServer.prototype, 'executeHTTPGraphQLRequest');
const executed = vi.spyOn(ApolloServer.prototype, 'executeOperation');
let world: HubWorld;
let token: string;
beforeAll(async () => {
  world = await HubWorld.open(inject('stack'));
  token = await world.signIn(walletOf('raw', 'caller'));
});
/** without the requests of the hub to the node, which is an application of Express too */
function requests(): number {
  return handled.mock.calls.filter(([{ url }]) => url.startsWith('/graphql')).length;
}

beforeEach(() => {
  for (const spy of [handled, overHttp, executed]) spy.mockClear();
});
afterAll(async () => {
  await world.close();
  for (const spy of [handled, overHttp, executed]) spy.mockRestore();
});

test.each(QUERIES_AND_MUTATIONS)(
  'each request of $name goes through Express and Apollo',
  async ({ operation }) => {
    for (let times = 0; times < 3; times++) await world.ask(operation, {}, token);
    expect([requests(), overHttp.mock.calls.length]).toEqual([3, 3]);
  },
);

test('a cached answer goes through Express', async () => {
  const query = '{ chainInfo { txFee } }';
  await world.ask(query);
  await world.ask(query);
  await expect
    .poll(async () => {
      overHttp.mockClear();
      handled.mockClear();
      await world.ask(query);
      return [requests(), overHttp.mock.calls.length];
    })
    .toEqual([1, 0]);
});

test('HEAD has the answer of GET without its body', async () => {
  const url = `${world.url}/graphql?query=${encodeURIComponent('{ chainInfo { chainId } }')}`;
  const [got, head] = await Promise.all(
    ['GET', 'HEAD'].map((method) =>
      fetch(url, { method, headers: { 'apollo-require-preflight': 'true' } }),
    ),
  );
  expect([head?.status, await head?.text()]).toEqual([200, '']);
  for (const name of ['content-type', 'content-length', 'etag', 'cache-control'])
    expect(head?.headers.get(name)).toBe(got?.headers.get(name));
  await expect
    .poll(() => world.metrics.text())
    .toMatch(/^http_request_seconds_count\{.*route="\/graphql",method="HEAD",status="200".*\} 1$/m);
});

test('each operation on a socket is executed by Apollo', async () => {
  const socket = await RawSocket.begun(world.socket_url, { Authorization: `Bearer ${token}` });
  for (const [at, { operation }] of QUERIES_AND_MUTATIONS.entries())
    await socket.outcome(`m${at}`, operation);
  for (const [at, { operation }] of SUBSCRIPTIONS.entries()) {
    socket.subscribe(`s${at}`, operation);
    await socket.next(({ id, type }) => id === `s${at}` && type === 'next');
  }
  // subscriptions are executed anew when something changes
  expect(executed.mock.calls.length).toBeGreaterThanOrEqual(
    QUERIES_AND_MUTATIONS.length + SUBSCRIPTIONS.length,
  );
  await socket.close();
});
