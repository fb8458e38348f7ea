/** Clients of GraphQL over HTTP with their defaults, for Node and for a page. */
import { ApolloClient, gql, InMemoryCache, type ApolloLink } from '@apollo/client';
import { GraphQLClient } from 'graphql-request';
import { Network, type FetchFunction } from 'relay-runtime';
import { Client, cacheExchange, fetchExchange, type ClientOptions } from 'urql';

/** Asks in a client's way; rejects with the error that its app sees. */
export type Ask = (
  query: string,
  variables?: Record<string, unknown>,
  token?: string,
) => Promise<unknown>;

export function apollo(link: (headers: Record<string, string>) => ApolloLink): Ask {
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

export function urql(url: string, options: Partial<ClientOptions> = {}): Ask {
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

export function graphqlRequest(
  url: string,
  options: ConstructorParameters<typeof GraphQLClient>[1] = {},
): Ask {
  return (query, variables, token) =>
    new GraphQLClient(url, options).request(
      query,
      variables,
      token === undefined ? {} : { authorization: token },
    );
}

/** The function of Relay's own documentation. */
export const relay =
  (url: string): Ask =>
  async (query, variables = {}, token) => {
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
