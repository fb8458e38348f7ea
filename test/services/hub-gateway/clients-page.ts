/** The clients as a page has them, bundled by the test in a browser. */
import { HttpLink } from '@apollo/client';
import { createClient, type Client } from 'graphql-ws';
import {
  ask,
  signIn,
  socketClient,
  type Eip1193Provider,
  type Hub,
} from '../../../packages/wallet/src/index.ts';
import * as http from './http-clients.ts';
import { apollo, plain, relay, urql, type Seen } from './socket-clients.ts';
import { ethersSigner, tronSigner, viemSigner, wagmiSigner } from './wallet-clients.ts';

const ASKS = {
  apollo: (url: string) => http.apollo((headers) => new HttpLink({ uri: url, headers })),
  urql: (url: string) => http.urql(url),
  graphql_request: (url: string) => http.graphqlRequest(url),
  relay: (url: string) => http.relay(url),
} as const;

/** The answers to these operations, or the message of the first error. */
export async function answers(
  client: keyof typeof ASKS,
  { url }: Hub,
  operations: readonly (readonly [query: string, token?: string])[],
): Promise<readonly unknown[]> {
  const asked = ASKS[client](url);
  const settled = await Promise.allSettled(
    operations.map(([query, token]) =>
      asked(query, {}, token === undefined ? undefined : `Bearer ${token}`),
    ),
  );
  return settled.map((each) =>
    each.status === 'fulfilled' ? each.value : String(Object(each.reason).message),
  );
}

const SUBSCRIPTIONS = { apollo, plain, relay, urql } as const;
const SIGNERS = { ethers: ethersSigner, viem: viemSigner, wagmi: wagmiSigner } as const;

const begun = new Map<string, Seen>();

/** Subscribes to the balance of an account, with graphql-ws as it comes or the package's client. */
export function subscribe(
  name: keyof typeof SUBSCRIPTIONS,
  { url }: Hub,
  account: string,
  isDefault: boolean,
): void {
  const client: Client = isDefault
    ? createClient({ url: `${url.replace('http', 'ws')}/ws` })
    : socketClient({ url });
  const shown: Seen = { balances: [], ends: [] };
  begun.set(name, shown);
  SUBSCRIPTIONS[name](account, client, shown);
}

/** The last balance that each has seen, and how many of them have ended. */
export function seen(): { readonly last: readonly unknown[]; readonly ended: number } {
  const all = [...begun.values()];
  return {
    last: all.map(({ balances }) => balances.at(-1)),
    ended: all.filter(({ ends }) => ends.length > 0).length,
  };
}

/** The balance of the account that a library of wallets has signed in. */
export async function signedIn(
  library: keyof typeof SIGNERS | 'tron',
  hub: Hub,
  provider: Eip1193Provider,
  privateKey: string,
): Promise<unknown> {
  const signer = library === 'tron' ? tronSigner(privateKey) : await SIGNERS[library](provider);
  const { token } = await signIn(hub, signer);
  return (await ask(hub, '{ accountBalance }', {}, token))['accountBalance'];
}
