/**
 * Many sockets on one hub with one subscription each, of which the newest result is kept; and the
 * result of the same query.
 */
import { once } from 'node:events';
import { setTimeout as after } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { ChainNode } from '../../services/runtime/clt-node.ts';
import { until } from '../support/until.ts';
import { HANG_MS } from '../support/limits.ts';

/** A list as it is subscribed to and as it is asked for; the answers are the same text. */
export interface WatchedList {
  readonly subscription: string;
  readonly query: string;
}

function listed(updated: string, list: string, args: string, fields: string): WatchedList {
  return {
    subscription: `subscription { ${updated}${args} ${fields} }`,
    query: `{ ${updated}: ${list}${args} ${fields} }`,
  };
}

const TRIP = '{ txHash fare farePaid driverAddress passengerAddress }';

/** `account`: whose balance is watched. */
export function watchedLists(account: string): readonly WatchedList[] {
  return [
    listed('rideRequestsUpdated', 'listRideRequests', '', '{ txHash fare passengerAddress }'),
    listed(
      'rideRequestsUpdated',
      'listRideRequests',
      '(bounds: { minLat: -90, maxLat: 90, minLng: -180, maxLng: 180 })',
      '{ txHash }',
    ),
    listed('activeTripsUpdated', 'listActiveTrips', '', TRIP),
    listed('completedTripsUpdated', 'listCompletedTrips', '(limit: 20)', TRIP),
    listed('recentTripsUpdated', 'listRecentTrips', '(limit: 20)', '{ txHash tripStatus }'),
    listed('accountBalanceUpdated', 'accountBalance', `(publicKey: "${account}")`, ''),
  ];
}

/** An account of the chain that acts now and then. */
export async function someRider(node: ChainNode): Promise<string> {
  let found = '';
  await until(async () => {
    const { blocks } = await node.blocks(0, 500);
    const request = blocks
      .flatMap(({ transactions }) => transactions)
      .find(({ function_call_type: type }) => type === 'RideRequest');
    found = request === undefined ? '' : `0x${request.from.toString('hex')}`;
    return found !== '';
  }, 'a first ride request');
  return found;
}

const OPENING = '{"id":"1","type":"next","payload":';
const REOPEN_EVERY_MS = 200;

/** The present answers to the queries of the lists; undefined: one of them gave no result. */
type Answers = () => Promise<ReadonlyMap<WatchedList, string> | undefined>;

interface Watcher {
  readonly list: WatchedList;
  socket: WebSocket;
  /** the payload of the newest message of this socket */
  newest: string;
}

interface WatchersOptions {
  /** called for each socket that the hub ends, which is opened again, until it has a result */
  readonly reopened?: (code: number) => void;
  /** each result of the socket that was opened as number `at` */
  readonly heard?: (at: number, payload: string) => void;
}

export class Watchers {
  readonly #url: string;
  readonly #options: WatchersOptions;
  readonly #watchers: Watcher[] = [];
  #results = 0;
  #isClosing = false;
  /** how often sockets were opened again */
  reopened = 0;
  /** sockets that the hub ended, unless they are opened again, and messages that are no result */
  readonly wrong: string[] = [];

  private constructor(url: string, options: WatchersOptions) {
    this.#url = url;
    this.#options = options;
  }

  /**
   * Opens this many sockets, over all lists in turn; resolves when each has its first result. `url`
   * of the hub, without a path.
   */
  static async open(
    url: string,
    count: number,
    lists: readonly WatchedList[],
    options: WatchersOptions = {},
  ): Promise<Watchers> {
    const watchers = new Watchers(url, options);
    for (let at = 0; at < count; at++) {
      const list = lists[at % lists.length];
      if (list !== undefined) await watchers.#open(at, list);
    }
    return watchers;
  }

  /** How many results came so far. */
  get results(): number {
    return this.#results;
  }

  /** All lists that sockets watch. */
  get lists(): readonly WatchedList[] {
    return [...new Set(this.#watchers.map(({ list }) => list))];
  }

  /** How many sockets show a payload of their list that is not right. */
  others(isRight: (list: WatchedList, payload: string) => boolean): number {
    return this.#watchers.filter(({ list, newest }) => !isRight(list, newest)).length;
  }

  /** The chain stands still: until each socket shows what its query answers. */
  untilRight(answers: Answers): Promise<void> {
    return until(
      async () => {
        const right = await answers();
        return right && this.others((list, payload) => right.get(list) === payload);
      },
      'no socket to show something else than the query answers',
      (others) => others === 0,
    );
  }

  /** The chain goes on: until each socket shows what its query has answered since this call. */
  async untilCurrent(answers: Answers): Promise<void> {
    const given = new Map<WatchedList, Set<string>>();
    await until(
      async () => {
        for (const [list, payload] of (await answers()) ?? [])
          given.set(list, (given.get(list) ?? new Set()).add(payload));
        return this.others((list, payload) => given.get(list)?.has(payload) === true);
      },
      'no socket to show something else than the query answers now',
      (others) => others === 0,
    );
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const { socket } of this.#watchers) socket.terminate();
    const open = this.#watchers.filter(({ socket }) => socket.readyState !== socket.CLOSED);
    await Promise.all(open.map(({ socket }) => once(socket, 'close')));
  }

  async #open(at: number, list: WatchedList): Promise<void> {
    const watcher: Watcher = { socket: socketTo(this.#url), list, newest: '' };
    this.#watchers.push(watcher);
    await this.#subscribe(at, watcher);
  }

  async #subscribe(at: number, watcher: Watcher): Promise<void> {
    const { socket, list } = watcher;
    await subscribe(socket, list, (text) => this.#take(at, watcher, text));
    const ended = (code: number): void => {
      if (this.#isClosing) return;
      const { reopened } = this.#options;
      if (reopened === undefined) return void this.wrong.push(`a socket was closed with ${code}`);
      reopened(code);
      void this.#reopen(at, watcher);
    };
    if (socket.readyState === socket.CLOSED) ended(0);
    else socket.once('close', ended);
  }

  async #reopen(at: number, watcher: Watcher): Promise<void> {
    watcher.newest = '';
    for (;;) {
      await after(REOPEN_EVERY_MS);
      if (this.#isClosing) return;
      watcher.socket = socketTo(this.#url);
      try {
        await this.#subscribe(at, watcher);
        this.reopened++;
        return;
      } catch {
        // the hub is still away
        watcher.socket.terminate();
      }
    }
  }

  #take(at: number, watcher: Watcher, text: string): void {
    if (!text.startsWith(OPENING)) return void this.wrong.push(`no result: ${text.slice(0, 200)}`);
    this.#results++;
    watcher.newest = text.slice(OPENING.length, -1);
    this.#options.heard?.(at, watcher.newest);
  }
}

/** Sockets with a subscription each that have read its first result, and read no more. */
export class MuteSockets {
  readonly count: number;
  #open: readonly WebSocket[] = [];

  constructor(count: number) {
    this.count = count;
  }

  /** Opens new ones in place of those before. Returns how many the hub let open. */
  async renew(url: string, lists: readonly WatchedList[]): Promise<number> {
    this.close();
    const opened = Array.from({ length: this.count }, async (_, at) => {
      const socket = socketTo(url);
      const list = lists[at % lists.length];
      if (list !== undefined) await subscribe(socket, list, () => undefined);
      socket.pause();
      return socket;
    });
    this.#open = (await Promise.allSettled(opened)).flatMap((each) =>
      each.status === 'fulfilled' ? [each.value] : [],
    );
    return this.#open.length;
  }

  close(): void {
    for (const socket of this.#open) socket.terminate();
  }
}

/** `url` of the hub, without a path. */
function socketTo(url: string): WebSocket {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql/ws`, 'graphql-transport-ws');
  // each error comes with a close
  socket.on('error', () => undefined);
  return socket;
}

/** Resolves with the first result; rejects when the socket is closed before. */
async function subscribe(
  socket: WebSocket,
  { subscription: query }: WatchedList,
  take: (text: string) => void,
): Promise<void> {
  const closed = new AbortController();
  const { signal } = closed;
  socket.once('close', () => closed.abort());
  await once(socket, 'open', { signal });
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message', { signal });
  socket.on('message', (data: Buffer) => take(data.toString()));
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));
  await once(socket, 'message', { signal });
}

/**
 * The hub's answer to the query of each list; the token bypasses the answer cache. Undefined for
 * anything but a result.
 */
export async function answersOf(
  url: string,
  lists: readonly WatchedList[],
  token: string,
): Promise<ReadonlyMap<WatchedList, string> | undefined> {
  const answers = new Map<WatchedList, string>();
  for (const list of lists) {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: list.query }),
      signal: AbortSignal.timeout(HANG_MS),
    });
    const text = (await response.text()).trim();
    if (response.status !== 200 || text.includes('"errors"')) return undefined;
    answers.set(list, text);
  }
  return answers;
}
