/** The client of sockets before a hub that does as the test says, in virtual time. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { socketClient, type SocketOptions } from '../../../packages/wallet/src/socket.ts';

const HUB = { url: 'https://hub.example/graphql' };
const QUERY = 'subscription { activeTripsUpdated { fare } }';

interface Message {
  readonly id?: string;
  readonly type: string;
  readonly payload?: unknown;
}

/** The client's end of a socket. */
class PlayedSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readyState = PlayedSocket.CONNECTING;
  onopen: (() => void) | null = null;
  onerror: ((error: Error) => void) | null = null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null = null;
  onmessage: ((event: { readonly data: string }) => void) | null = null;
  readonly url: string;
  readonly sent: Message[] = [];

  constructor(url: string) {
    this.url = url;
    opened.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(code: number, reason = ''): void {
    if (this.readyState === PlayedSocket.CLOSED) return;
    this.readyState = PlayedSocket.CLOSED;
    this.onclose?.({ code, reason });
  }

  /** As browsers and Node tell of a connection that was refused. */
  refuse(): void {
    this.onerror?.(new Error('connect ECONNREFUSED'));
    this.close(1006);
  }

  hear(message: Message): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  async open(): Promise<void> {
    this.readyState = PlayedSocket.OPEN;
    this.onopen?.();
    await vi.advanceTimersByTimeAsync(0);
  }

  async acknowledge(): Promise<void> {
    await this.open();
    this.hear({ type: 'connection_ack' });
    await vi.advanceTimersByTimeAsync(0);
  }
}

let opened: PlayedSocket[];
/** results and ends of the subscription */
let heard: unknown[];

beforeEach(() => {
  vi.useFakeTimers();
  opened = [];
  heard = [];
});
afterEach(() => void vi.useRealTimers());

/** Subscribes; resolves once the client waits for the hub, or for its token. */
async function subscribe(token?: SocketOptions['token']): Promise<() => void> {
  const client = socketClient(HUB, { webSocketImpl: PlayedSocket, ...(token && { token }) });
  const stop = client.subscribe(
    { query: QUERY },
    {
      next: (result) => heard.push(result),
      error: (error) => heard.push(['error', error]),
      complete: () => heard.push('complete'),
    },
  );
  await vi.advanceTimersByTimeAsync(0);
  return stop;
}

/** The newest socket. */
function newest(): PlayedSocket {
  const socket = opened.at(-1);
  if (socket === undefined) throw new Error('no socket was opened');
  return socket;
}

/** The client subscribes on a socket that is acknowledged, and hears this result. */
async function delivers(fare: string): Promise<void> {
  await newest().acknowledge();
  const { id = '', payload } = newest().sent.at(-1) ?? { type: '' };
  expect(payload).toEqual({ query: QUERY });
  newest().hear({ id, type: 'next', payload: { data: { fare } } });
}

test('the address of sockets follows from that of the hub', async () => {
  await subscribe();
  expect(newest().url).toBe('wss://hub.example/graphql/ws');
});

test('no socket is opened before the wallet has answered, however long it takes', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const token = vi.fn(() => promise);
  await subscribe(token);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([opened.length, token.mock.calls.length]).toEqual([0, 1]);
  resolve('t');
  await vi.advanceTimersByTimeAsync(0);
  await delivers('1');
  expect(newest().sent[0]).toEqual({
    type: 'connection_init',
    payload: { Authorization: 'Bearer t' },
  });
});

test.each([
  ['there is none', (): undefined => undefined],
  ['the wallet refuses', () => Promise.reject(new Error('User rejected the request.'))],
] as const)('a socket without a token is anonymous: %s', async (_why, token) => {
  await subscribe(token);
  await delivers('1');
  expect(newest().sent[0]).toEqual({ type: 'connection_init', payload: {} });
});

test('each socket has the token of its time', async () => {
  let at = 0;
  await subscribe(() => String(++at));
  await delivers('1');
  newest().close(1001, 'the hub is going away: connect again');
  await vi.advanceTimersByTimeAsync(2_000);
  await delivers('2');
  expect(opened.map(({ sent }) => sent[0]?.payload)).toEqual([
    { Authorization: 'Bearer 1' },
    { Authorization: 'Bearer 2' },
  ]);
});

test('a subscription outlives a hub that is away for long, and asks for it every one to two seconds', async () => {
  await subscribe();
  await delivers('1');
  newest().close(1001, 'the hub is going away: connect again');
  const times: number[] = [];
  for (let tries = 0; tries < 100; tries++) {
    const before = Date.now();
    const count = opened.length;
    while (opened.length === count) await vi.advanceTimersByTimeAsync(100);
    times.push(Date.now() - before);
    newest().refuse();
  }
  await vi.advanceTimersByTimeAsync(2_000);
  await delivers('2');
  expect(Math.min(...times)).toBeGreaterThanOrEqual(1_000);
  expect(Math.max(...times)).toBeLessThanOrEqual(2_100);
  expect(heard).toEqual([{ data: { fare: '1' } }, { data: { fare: '2' } }]);
});

test.each([1001, 1005, 1006, 1011, 1012, 1013, 4408, 4500])(
  'a subscription begins again on another socket after the code %i',
  async (code) => {
    await subscribe();
    await delivers('1');
    newest().close(code);
    await vi.advanceTimersByTimeAsync(2_000);
    await delivers('2');
    expect(heard).toEqual([{ data: { fare: '1' } }, { data: { fare: '2' } }]);
  },
);

test.each([1002, 1008, 1009, 4400, 4401, 4406, 4409, 4429])(
  'a subscription ends with the code %i',
  async (code) => {
    await subscribe();
    await delivers('1');
    newest().close(code);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([opened.length, heard.at(-1)]).toEqual([1, ['error', { code, reason: '' }]]);
  },
);

test('a client that is disposed of opens no socket for a subscription that waits to begin again', async () => {
  const client = socketClient(HUB, { webSocketImpl: PlayedSocket });
  client.subscribe(
    { query: QUERY },
    { next: () => undefined, error: () => undefined, complete: () => heard.push('complete') },
  );
  await vi.advanceTimersByTimeAsync(0);
  await newest().acknowledge();
  newest().close(1011);
  await vi.advanceTimersByTimeAsync(0);
  await client.dispose();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([opened.length, heard]).toEqual([1, ['complete']]);
});

test('iterate goes on where subscribe does, and ends at once where its loop is left', async () => {
  const client = socketClient(HUB, { webSocketImpl: PlayedSocket });
  const iterator = client.iterate({ query: QUERY });
  void (async () => {
    for await (const result of iterator) heard.push(result);
    heard.push('over');
  })();
  await vi.advanceTimersByTimeAsync(0);
  await delivers('1');
  newest().close(1011);
  await vi.advanceTimersByTimeAsync(2_000);
  await delivers('2');
  const extensions = { code: 'RATE_LIMITED', retryAfter: 1 };
  const { id = '' } = newest().sent.at(-1) ?? { type: '' };
  newest().hear({ id, type: 'error', payload: [{ message: 'wait', extensions }] });
  await vi.advanceTimersByTimeAsync(2_000);
  const { id: again = '' } = newest().sent.at(-1) ?? { type: '' };
  newest().hear({ id: again, type: 'next', payload: { data: { fare: '3' } } });
  await vi.advanceTimersByTimeAsync(0);
  expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
  await vi.advanceTimersByTimeAsync(0);
  expect(newest().sent.at(-1)).toMatchObject({ id: again, type: 'complete' });
  const fares = ['1', '2', '3'].map((fare) => ({ data: { fare } }));
  expect(heard).toEqual([...fares, 'over']);
});

test('iterate throws what ends a subscription for good, and completes its operation when left', async () => {
  const client = socketClient(HUB, { webSocketImpl: PlayedSocket });
  const failing = client.iterate({ query: QUERY });
  await vi.advanceTimersByTimeAsync(0);
  await delivers('1');
  newest().close(4400);
  expect(await failing.next()).toEqual({ done: false, value: { data: { fare: '1' } } });
  await expect(failing.next()).rejects.toMatchObject({ code: 4400 });
  expect(await failing.next()).toEqual({ done: true, value: undefined });
  const left = async (): Promise<void> => {
    for await (const _result of client.iterate({ query: QUERY })) return;
  };
  const leaving = left();
  await vi.advanceTimersByTimeAsync(0);
  await delivers('2');
  await leaving;
  expect(newest().sent.at(-1)).toMatchObject({ type: 'complete' });
});

test('a list that is a minute on its way arrives, though the answer to a ping waits behind it', async () => {
  await subscribe();
  await newest().acknowledge();
  const { id = '' } = newest().sent.at(-1) ?? { type: '' };
  await vi.advanceTimersByTimeAsync(60_000);
  newest().hear({ id, type: 'next', payload: { data: { fare: '1' } } });
  newest().hear({ type: 'pong' });
  expect([opened.length, heard]).toEqual([1, [{ data: { fare: '1' } }]]);
});

test.each([
  ['answers no ping', (): Promise<void> => delivers('1')],
  ['takes no connection and refuses none', (): Promise<void> => Promise.resolve()],
  ['takes the connection and says nothing', (): Promise<void> => newest().open()],
])('another socket replaces that of a hub that %s', async (_what, begin) => {
  await subscribe();
  await begin();
  while (opened.length === 1) await vi.advanceTimersByTimeAsync(1_000);
  expect(opened[0]?.readyState).toBe(PlayedSocket.CLOSED);
  await delivers('2');
  expect(heard.at(-1)).toEqual({ data: { fare: '2' } });
});

test('an operation that the hub refuses for its rate is sent again, until it is stopped', async () => {
  const stop = await subscribe();
  await newest().acknowledge();
  const refuse = (): void => {
    const extensions = { code: 'RATE_LIMITED', retryAfter: 1 };
    const { id = '' } = newest().sent.at(-1) ?? { type: '' };
    newest().hear({ id, type: 'error', payload: [{ message: 'wait', extensions }] });
  };
  const asked = (): number => newest().sent.filter(({ type }) => type === 'subscribe').length;
  for (let times = 1; times <= 3; times++) {
    expect([asked(), heard]).toEqual([times, []]);
    refuse();
    await vi.advanceTimersByTimeAsync(2_000);
  }
  refuse();
  stop();
  await vi.advanceTimersByTimeAsync(2_000);
  expect([asked(), heard]).toEqual([4, ['complete']]);
});

test.each([
  'BAD_USER_INPUT',
  // without a time to try again: a limit that lasts
  'RATE_LIMITED',
])('an operation that the hub refuses for itself ends: %s', async (code) => {
  await subscribe();
  await newest().acknowledge();
  const { id = '' } = newest().sent.at(-1) ?? { type: '' };
  const errors = [{ message: 'no', extensions: { code } }];
  newest().hear({ id, type: 'error', payload: errors });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(heard).toEqual([['error', errors]]);
});

test('a socket that answers its pings stays, and is closed once nobody subscribes', async () => {
  const stop = await subscribe();
  await delivers('1');
  const socket = newest();
  for (let pings = 1; pings <= 10; pings++) {
    await vi.advanceTimersByTimeAsync(12_000);
    expect(socket.sent.at(-1)).toEqual({ type: 'ping' });
    await vi.advanceTimersByTimeAsync(50_000);
    socket.hear({ type: 'pong' });
  }
  expect(opened).toHaveLength(1);
  stop();
  await vi.advanceTimersByTimeAsync(3_000);
  expect([socket.readyState, heard.at(-1)]).toEqual([PlayedSocket.CLOSED, 'complete']);
});
