/** graphql-ws' client and Apollo Client side by side, with what each of them receives. */
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { OperationTypeNode } from 'graphql';
import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';

/** The results of one subscription so far, the latest last. */
export interface Watched {
  readonly official: readonly unknown[];
  readonly apollo: readonly unknown[];
}

export class Watching {
  readonly #official: Client;
  readonly #apolloSocket: Client;
  readonly #apollo: ApolloClient;
  readonly #stops: (() => void)[] = [];

  /** `url` of the hub, without a path. */
  constructor(url: string, token: string) {
    const authorization = `Bearer ${token}`;
    const socket = { url: `${url.replace('http', 'ws')}/graphql/ws`, webSocketImpl: WebSocket };
    this.#official = createClient({
      ...socket,
      connectionParams: { Authorization: authorization },
    });
    this.#apolloSocket = createClient(socket);
    const http = new HttpLink({ uri: `${url}/graphql`, headers: { authorization } });
    const link = ApolloLink.split(
      ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
      new GraphQLWsLink(this.#apolloSocket),
      http,
    );
    this.#apollo = new ApolloClient({ link, cache: new InMemoryCache() });
  }

  /** Subscribes with both. */
  watch(subscription: string): Watched {
    const official: unknown[] = [];
    const apollo: unknown[] = [];
    const sink = {
      next: ({ data }: { readonly data?: unknown }) => void official.push(onlyField(data)),
      error: (error: unknown) => void official.push(error),
      complete: () => undefined,
    };
    this.#stops.push(this.#official.subscribe({ query: subscription }, sink));
    const observed = this.#apollo
      .subscribe({ query: gql(subscription), fetchPolicy: 'no-cache' })
      .subscribe({
        next: ({ data }) => void apollo.push(onlyField(data)),
        error: (error) => void apollo.push(error),
      });
    this.#stops.push(() => observed.unsubscribe());
    return { official, apollo };
  }

  /** Sends a query with both: one over its socket, the other over HTTP. */
  async ask(query: string): Promise<readonly [official: unknown, apollo: unknown]> {
    const results: unknown[] = [];
    for await (const { data, errors } of this.#official.iterate({ query }))
      results.push(errors ?? onlyField(data));
    const { data } = await this.#apollo.query({ query: gql(query), fetchPolicy: 'no-cache' });
    return [results.length === 1 ? results[0] : results, onlyField(data)];
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#apollo.stop();
    await Promise.all([this.#official.dispose(), this.#apolloSocket.dispose()]);
  }
}

/** The value of a response's only field. Apollo Client also asks for names of types. */
function onlyField(data: unknown): unknown {
  const plain: unknown = JSON.parse(
    JSON.stringify(data ?? {}, (key, value: unknown) => (key === '__typename' ? undefined : value)),
  );
  return Object.values(plain ?? {})[0];
}
