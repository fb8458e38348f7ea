/** Clients of GraphQL over sockets, for Node and for a page. */
import { ApolloClient, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import type { Client as SocketClient } from 'graphql-ws/client';
import { Network, Observable } from 'relay-runtime';
import { Client, subscriptionExchange } from 'urql';

export const QUERY = 'subscription ($key: String!) { accountBalanceUpdated(publicKey: $key) }';

/** The results and ends that an app has seen of its subscription. */
export interface Seen {
  /** each balance, in order */
  readonly balances: unknown[];
  /** errors, and the end of the subscription */
  readonly ends: unknown[];
}

/** Subscribes in a client's way. */
export type Subscribe = (account: string, client: SocketClient, seen: Seen) => () => void;

function noteOf({ balances, ends }: Seen): (result: unknown) => void {
  return (result) => {
    const { data, error, errors } = Object(result);
    if (error ?? errors) ends.push(error ?? errors);
    else balances.push(data.accountBalanceUpdated);
  };
}

export const plain: Subscribe = (key, client, seen) =>
  client.subscribe(
    { query: QUERY, variables: { key } },
    {
      next: noteOf(seen),
      error: (error) => seen.ends.push(error),
      complete: () => seen.ends.push('complete'),
    },
  );

export const apollo: Subscribe = (key, socket, seen) => {
  const link = new GraphQLWsLink(socket);
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  const subscribed = client.subscribe({ query: gql(QUERY), variables: { key } }).subscribe({
    next: noteOf(seen),
    error: (error) => seen.ends.push(error),
    complete: () => seen.ends.push('complete'),
  });
  return () => subscribed.unsubscribe();
};

/** By the example of urql's documentation. */
export const urql: Subscribe = (key, socket, seen) => {
  const exchange = subscriptionExchange({
    forwardSubscription: ({ query = '', variables }) => ({
      subscribe: (sink) => ({
        unsubscribe: socket.subscribe(
          { query, ...(variables && { variables }) },
          // urql's types know no data that are undefined
          {
            next: (result) => sink.next(Object(result)),
            error: (error) => sink.error(Object(error)),
            complete: () => sink.complete(),
          },
        ),
      }),
    }),
  });
  const client = new Client({ url: '/', exchanges: [exchange] });
  const subscribed = client.subscription(QUERY, { key }).subscribe(noteOf(seen));
  return () => subscribed.unsubscribe();
};

/** By the example of Relay's documentation. */
export const relay: Subscribe = (key, socket, seen) => {
  const network = Network.create(
    () => Promise.reject(new Error('no query is asked')),
    ({ text }, variables) =>
      Observable.create((sink) =>
        socket.subscribe(
          { query: text ?? '', variables },
          {
            next: (result) => sink.next(Object(result)),
            error: (error) => sink.error(Object(error)),
            complete: () => sink.complete(),
          },
        ),
      ),
  );
  const request = {
    id: null,
    cacheID: QUERY,
    name: 'S',
    operationKind: 'subscription',
    text: QUERY,
    metadata: {},
  } as const;
  const subscribed = network.execute(request, { key }, {}).subscribe({
    next: noteOf(seen),
    error: (error: unknown) => seen.ends.push(error),
    complete: () => seen.ends.push('complete'),
  });
  return () => subscribed.unsubscribe();
};
