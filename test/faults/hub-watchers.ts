/**
 * Many sockets on one hub with one subscription each, of which the newest result is kept; and the
 * result of the same query.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';

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

const OPENING = '{"id":"1","type":"next","payload":';

interface Watcher {
  readonly socket: WebSocket;
  readonly list: WatchedList;
  /** the payload of the newest message */
  newest: string;
}

export class Watchers {
  readonly #watchers: Watcher[] = [];
  #results = 0;
  #isClosing = false;
  /** sockets that ended by themselves, and messages that are no result */
  readonly wrong: string[] = [];

  /**
   * Opens this many sockets, over all lists in turn; resolves when each has its first result. `url`
   * of the hub, without a path.
   */
  static async open(url: string, count: number, lists: readonly WatchedList[]): Promise<Watchers> {
    const watchers = new Watchers();
    for (let at = 0; at < count; at++) {
      const list = lists[at % lists.length];
      if (list !== undefined) await watchers.#open(url, list);
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

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const { socket } of this.#watchers) socket.terminate();
    const open = this.#watchers.filter(({ socket }) => socket.readyState !== socket.CLOSED);
    await Promise.all(open.map(({ socket }) => once(socket, 'close')));
  }

  async #open(url: string, list: WatchedList): Promise<void> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql/ws`, 'graphql-transport-ws');
    const watcher: Watcher = { socket, list, newest: '' };
    this.#watchers.push(watcher);
    await once(socket, 'open');
    socket.send('{"type":"connection_init"}');
    await once(socket, 'message');
    socket.on('message', (data: Buffer) => this.#take(watcher, data.toString()));
    socket.once('close', (code) => {
      if (!this.#isClosing) this.wrong.push(`a socket was closed with ${code}`);
    });
    socket.send(
      JSON.stringify({ id: '1', type: 'subscribe', payload: { query: list.subscription } }),
    );
    await once(socket, 'message');
  }

  #take(watcher: Watcher, text: string): void {
    if (!text.startsWith(OPENING)) return void this.wrong.push(`no result: ${text.slice(0, 200)}`);
    this.#results++;
    watcher.newest = text.slice(OPENING.length, -1);
  }
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
      signal: AbortSignal.timeout(10_000),
    });
    const text = (await response.text()).trim();
    if (response.status !== 200 || text.includes('"errors"')) return undefined;
    answers.set(list, text);
  }
  return answers;
}
