/** Subscriptions that go on when the hub restarts, the machine sleeps, or the wallet is slow. */
import { createClient, type Client, type FormattedExecutionResult } from 'graphql-ws/client';
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
 * present state, so nothing that changed meanwhile is missing.
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
  const subscribe = subscribingAgain(client, disposed.signal);
  return {
    ...client,
    subscribe,
    iterate: iterating(subscribe),
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

/** The results of a subscription one after the other; it begins before the first is asked for. */
function iterating(subscribe: Client['subscribe']): Client['iterate'] {
  return <Data, Extensions>(payload: Parameters<Client['subscribe']>[0]) => {
    type Result = FormattedExecutionResult<Data, Extensions>;
    /** each result, and undefined or an error for the end */
    const heard: (() => Result | undefined)[] = [];
    let wake: (() => void) | undefined;
    const hear = (take: () => Result | undefined): void => {
      heard.push(take);
      wake?.();
    };
    const stop = subscribe<Data, Extensions>(payload, {
      next: (result) => hear(() => result),
      error: (error) =>
        hear(() => {
          throw error;
        }),
      complete: () => hear(() => undefined),
    });
    const results = async function* (): AsyncGenerator<Result, undefined> {
      try {
        for (;;) {
          while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
          const result = heard.shift()?.();
          if (result === undefined) return undefined;
          yield result;
        }
      } finally {
        stop();
      }
    };
    const iterator = results();
    // at once, also while the next result is waited for
    const end = (): Promise<IteratorReturnResult<undefined>> => {
      heard.splice(0);
      stop();
      return Promise.resolve({ done: true, value: undefined });
    };
    return Object.assign(iterator, { return: end });
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
