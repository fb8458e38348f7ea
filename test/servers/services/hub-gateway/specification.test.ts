/**
 * The operations of the hub as specified: which of them need a token, over HTTP and on a socket.
 * There is one path to an answer over HTTP, Express, and one pipeline of operations, Apollo.
 */
import { ApolloServer } from '@apollo/server';
import express from 'express';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { walletOf } from '../../../support/wallets.ts';
import { hubSchema } from '../../../../services/hub-gateway/graphql/schema.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { QUERIES_AND_MUTATIONS, SUBSCRIPTIONS } from '../../../services/hub-gateway/operations.ts';
import { RawSocket, type SocketMessage } from '../../../services/hub-gateway/raw-socket.ts';

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

/** Without Unix times, which a second may lie between. */
function timeless(text: string): string {
  return text.replaceAll(/\b1\d{9}\b/g, 'a time');
}

beforeEach(() => {
  for (const spy of [handled, overHttp, executed]) spy.mockClear();
});
afterAll(async () => {
  await world.close();
  for (const spy of [handled, overHttp, executed]) spy.mockRestore();
});

test('every operation of the schema is in the table of the specification', () => {
  const schema = hubSchema();
  const types = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const served = types.flatMap((type) => Object.keys(type?.getFields() ?? {}));
  const listed = [...QUERIES_AND_MUTATIONS, ...SUBSCRIPTIONS].map(({ name }) => name);
  expect(new Set(listed)).toEqual(new Set(served));
});

test.each(QUERIES_AND_MUTATIONS)(
  '$name over HTTP needs a token: $needs_token',
  async ({ operation, needs_token: needsToken }) => {
    const without = await world.ask(operation);
    const withToken = await world.ask(operation, {}, token);
    expect(without.status).toBe(200);
    const [refused, answered] = [without, withToken].map(({ errors }) =>
      errors.map(({ extensions }) => extensions?.code),
    );
    if (needsToken) {
      expect(refused).toEqual(['UNAUTHENTICATED']);
      expect(without.data ?? null).toBeNull();
      // with a token it may fail for another reason
      expect(answered).not.toContain('UNAUTHENTICATED');
    } else {
      expect(timeless(without.text)).toBe(timeless(withToken.text));
      if (!operation.startsWith('mutation')) expect(refused).toEqual([]);
    }
    expect([requests(), overHttp.mock.calls.length]).toEqual([2, 2]);
  },
);

describe('on a socket', () => {
  let anonymous: RawSocket;
  let signedIn: RawSocket;
  beforeAll(async () => {
    anonymous = await RawSocket.begun(world.socket_url);
    signedIn = await RawSocket.begun(world.socket_url, { Authorization: `Bearer ${token}` });
  });
  afterAll(() => Promise.all([anonymous.close(), signedIn.close()]));

  test.each(QUERIES_AND_MUTATIONS)(
    '$name needs a token: $needs_token',
    async ({ operation, needs_token: needsToken }) => {
      const [without] = await anonymous.outcome(operation, operation);
      const [withToken] = await signedIn.outcome(operation, operation);
      expect([without?.type, withToken?.type]).toEqual(['next', 'next']);
      if (needsToken) {
        expect(codeOf(without)).toBe('UNAUTHENTICATED');
        expect(codeOf(withToken)).not.toBe('UNAUTHENTICATED');
      } else
        expect(timeless(JSON.stringify(without?.payload))).toBe(
          timeless(JSON.stringify(withToken?.payload)),
        );
      expect(executed).toHaveBeenCalledTimes(2);
    },
  );

  test.each(SUBSCRIPTIONS)('$name needs no token', async ({ operation }) => {
    anonymous.subscribe(operation, operation);
    const first = await anonymous.next(({ id }) => id === operation);
    expect(first).toMatchObject({ type: 'next', payload: { data: expect.any(Object) as unknown } });
    anonymous.send({ id: operation, type: 'complete' });
    expect(executed).toHaveBeenCalled();
  });
});

function codeOf(message: SocketMessage | undefined): unknown {
  return /"code":"([A-Z_]+)"/.exec(JSON.stringify(message))?.[1];
}

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
  const [got, head] = await Promise.all(['GET', 'HEAD'].map((method) => fetch(url, { method })));
  expect([head?.status, await head?.text()]).toEqual([200, '']);
  for (const name of ['content-type', 'content-length', 'etag', 'cache-control'])
    expect(head?.headers.get(name)).toBe(got?.headers.get(name));
  await expect
    .poll(() => world.metrics.text())
    .toMatch(/^http_request_seconds_count\{.*route="\/graphql",method="HEAD",status="200".*\} 1$/m);
});
