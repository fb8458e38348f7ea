/** Subscriptions that go on when the hub restarts, the machine sleeps, or the wallet is slow. */
import { createClient, type Client } from 'graphql-ws/client';
import type { Hub } from './hub.ts';
import { readObject } from './json.ts';

export interface SocketOptions {
  /**
   * Asked before each socket is opened, and waited for as long as it takes. It returns the token
   * that the app has kept, so that the person is asked once. Without one, or when it fails, the
   * socket is anonymous, which is enough for every subscription.
   */
  readonly token?: () => string | undefined | Promise<string | undefined>;
  /** the WebSocket of the package ws, for Node before 22 */
  readonly webSocketImpl?: unknown;
}

/** A second more by chance, so that the sockets of a hub do not all come back at once. */
const RETRY_MS = 1_000;
/** Each ping counts for the rate of its address. */
const PING_MS = 12_000;
/** A hub that is gone without a word has not acknowledged a connection for so long. */
const CONNECT_MS = 10_000;
/** A ping waits as long for its answer, which comes behind a list: the hub allows that time. */
const SILENCE_MS = 60_000;
/** The next page of an app may use the socket again. */
const LINGER_MS = 3_000;

/**
 * A client of graphql-ws for the sockets of a hub, for `GraphQLWsLink` of Apollo Client, urql's
 * `subscriptionExchange`, Relay's network layer, or alone. It opens a socket when somebody
 * subscribes, and another one whenever that is lost. Each subscription then begins anew with the
 * present state, so nothing that changed meanwhile is missing. `iterate` is that of graphql-ws: it
 * ends where a subscription would begin again on the same client.
 */
export function socketClient(
  { url }: Pick<Hub, 'url'>,
  { token, webSocketImpl }: SocketOptions = {},
): Client {
  const address = `${url.replace(/^http/, 'ws').replace(/\/$/, '')}/ws`;
  let authorization: string | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  const hear = (): void => clearTimeout(silence);
  const listen = (ms: number): void => {
    clearTimeout(silence);
    silence = setTimeout(() => client.terminate(), ms);
  };
  const client: Client = createClient({
    // before the socket is there, so that it does not wait for a person
    url: async () => {
      authorization = await headerOf(token);
      listen(CONNECT_MS);
      return address;
    },
    connectionParams: () => (authorization === undefined ? {} : { Authorization: authorization }),
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, waitMs())),
    lazyCloseTimeout: LINGER_MS,
    keepAlive: PING_MS,
    on: {
      connected: hear,
      closed: hear,
      error: hear,
      ping: (isReceived) => {
        if (!isReceived) listen(SILENCE_MS);
      },
      pong: (isReceived) => {
        if (isReceived) hear();
      },
    },
    webSocketImpl,
  });
  const disposed = new AbortController();
  return {
    ...client,
    subscribe: subscribingAgain(client, disposed.signal),
    dispose: () => {
      disposed.abort();
      return client.dispose();
    },
  };
}

function waitMs(): number {
  return RETRY_MS * (1 + Math.random());
}

/** An operation begins again after an end that passes, which graphql-ws takes for the last. */
function subscribingAgain(client: Client, disposed: AbortSignal): Client['subscribe'] {
  return (payload, sink) => {
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const begin = (): (() => void) => {
      waiting = undefined;
      // the types of results are those that the sink takes
      return client.subscribe<never, never>(payload, {
        next: (result) => sink.next(result),
        complete: () => sink.complete(),
        error: (error) => {
          if (!isPassing(error)) return sink.error(error);
          waiting = setTimeout(() => {
            if (disposed.aborted) sink.complete();
            else stop = begin();
          }, waitMs());
        },
      });
    };
    let stop = begin();
    return () => {
      stop();
      if (waiting === undefined) return;
      clearTimeout(waiting);
      sink.complete();
    };
  };
}

/** Codes of closed sockets: an internal error of a proxy, and one of the hub. */
const CLOSED_PASSING: ReadonlySet<unknown> = new Set([1011, 4500]);

/**
 * Whether the same operation may pass in a second or two. After a restart the hub may refuse a
 * part of what all clients behind an address ask at once, and says when it passes. A limit that
 * no time lifts, such as that of operations on a socket, has no such time.
 */
function isPassing(error: unknown): boolean {
  if (CLOSED_PASSING.has(Object(error).code)) return true;
  const [first] = Array.isArray(error) ? error : [];
  const { code, retryAfter } = readObject(readObject(first)?.['extensions']) ?? {};
  return code === 'RATE_LIMITED' && retryAfter !== undefined;
}

async function headerOf(token: SocketOptions['token']): Promise<string | undefined> {
  try {
    const kept = await token?.();
    return kept === undefined ? undefined : `Bearer ${kept}`;
  } catch {
    // the app knows why it has none
    return undefined;
  }
}
