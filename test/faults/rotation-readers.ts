/** Readers of a cluster while its secrets are replaced: they ask as a load balancer does. */
import { setTimeout as after } from 'node:timers/promises';
import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';
import { messageOf } from '../../services/runtime/process/errors.ts';
import type { CommandCluster } from '../support/command-cluster.ts';
import { HANG_MS } from '../support/limits.ts';

const GATEWAYS = ['explorer', 'deposit', 'hub'] as const;
export type Gateway = (typeof GATEWAYS)[number];
/** Between two reads of a gateway: readers leave the machine to the services. */
const PACE_MS = 20;
const OWN_BALANCE = '{ accountBalance }';
const TOLD_MAX = 5;

/** Where both instances of a gateway listen. */
export function urlsOf({ ports }: CommandCluster, gateway: Gateway): readonly string[] {
  return ports.slice(0, 2).map((own) => `http://127.0.0.1:${own[gateway]}`);
}

/** One read of an instance; a status of 0: nobody answered. */
export async function read(
  gateway: Gateway,
  url: string,
  token: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(HANG_MS);
  const paths = { explorer: '/api/v1/stats', deposit: '/api/v1/deposits', hub: '/graphql' };
  const query =
    gateway === 'hub' ? { method: 'POST', body: JSON.stringify({ query: OWN_BALANCE }) } : {};
  try {
    const response = await fetch(`${url}${paths[gateway]}`, { headers, signal, ...query });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    return { status: 0, text: messageOf(error) };
  }
}

/** Whether an answer is that of a caller whose token is valid. */
export function isGood({ status, text }: Awaited<ReturnType<typeof read>>): boolean {
  return status === 200 && !text.includes('"errors"');
}

/** Read every gateway all the time, an instance in turn, and the other one where it is away. */
export class Readers {
  /** reads of each gateway, and those that the other instance had to answer */
  readonly reads: Record<string, { reads: number; by_the_other: number }> = {};
  readonly violations: string[] = [];
  readonly #cluster: CommandCluster;
  readonly #token: () => string;
  #failed = 0;
  #isOver = false;
  readonly #ended: Promise<unknown>;

  constructor(cluster: CommandCluster, token: () => string) {
    this.#cluster = cluster;
    this.#token = token;
    this.#ended = Promise.all(GATEWAYS.map((gateway) => this.#readAll(gateway)));
  }

  async #readAll(gateway: Gateway): Promise<void> {
    const urls = urlsOf(this.#cluster, gateway);
    const counts = (this.reads[gateway] = { reads: 0, by_the_other: 0 });
    for (; !this.#isOver; await after(PACE_MS)) {
      const [first = '', other = ''] = counts.reads++ % 2 === 0 ? urls : urls.toReversed();
      let answer = await read(gateway, first, this.#token());
      if (answer.status === 0 || answer.status === 503) {
        counts.by_the_other++;
        answer = await read(gateway, other, this.#token());
      }
      if (isGood(answer)) continue;
      this.#failed++;
      if (this.#failed <= TOLD_MAX)
        this.violations.push(
          `a read of ${gateway}-gateway failed: ${answer.status} ${answer.text.slice(0, 200)}`,
        );
    }
  }

  /** Ends them; gives lines for people. */
  async end(): Promise<readonly string[]> {
    this.#isOver = true;
    await this.#ended;
    const counts = Object.entries(this.reads).map(
      ([gateway, { reads, by_the_other: byTheOther }]) =>
        `${reads} of ${gateway}-gateway (${byTheOther} by the other instance)`,
    );
    return [`reads: ${counts.join(', ')}; failed: ${this.#failed}`];
  }
}

/** A subscriber to the balance of an account, on one socket at a time, at either hub. */
export class Subscriber {
  readonly violations: string[] = [];
  results = 0;
  sockets = 0;
  readonly #client: Client;

  constructor(cluster: CommandCluster, account: string, token: () => string) {
    const urls = urlsOf(cluster, 'hub').map((url) => `${url.replace('http', 'ws')}/graphql/ws`);
    this.#client = createClient({
      url: () => urls[this.sockets++ % urls.length] ?? '',
      webSocketImpl: WebSocket,
      lazy: false,
      connectionParams: () => ({ Authorization: `Bearer ${token()}` }),
      retryAttempts: Number.POSITIVE_INFINITY,
      shouldRetry: () => true,
      retryWait: () => after(PACE_MS),
      onNonLazyError: () => undefined,
    });
    const query = `subscription { accountBalanceUpdated(publicKey: "${account}") }`;
    this.#client.subscribe(
      { query },
      {
        next: ({ errors }) => {
          if (errors === undefined) this.results++;
          else this.violations.push(`the subscription got errors: ${JSON.stringify(errors)}`);
        },
        error: (error) => this.violations.push(`the subscription ended: ${messageOf(error)}`),
        complete: () => undefined,
      },
    );
  }

  /** Asks over the socket what only a caller with a valid token may. */
  async isSignedIn(): Promise<boolean> {
    for await (const { errors } of this.#client.iterate({ query: OWN_BALANCE }))
      return errors === undefined;
    return false;
  }

  async close(): Promise<void> {
    await this.#client.dispose();
  }
}
