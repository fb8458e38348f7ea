/**
 * The answers of the protocol to texts, and what it sends. Frames, the handshake and the limits of
 * SocketServer are not covered: `ws` reads frames, test/services/hub-gateway/sockets has the rest.
 */
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { hubSchema } from '../../../services/hub-gateway/graphql/schema.ts';
import { BackpressuredSocket } from '../../../services/hub-gateway/sockets/backpressured-socket.ts';
import { Session, socketProtocol } from '../../../services/hub-gateway/sockets/protocol.ts';
import { SharedSubscriptions } from '../../../services/hub-gateway/sockets/shared-subscriptions.ts';
import { quietHub, quietPipeline } from '../../services/hub-gateway/quiet-hub.ts';
import { silentLog } from '../../support/kafka.ts';
import { goodToken, SECRET } from '../../support/tokens.ts';

export const about =
  'messages of a socket, a line each: answers of the protocol, or one of its close codes';

const INIT = '{"type":"connection_init"}';
const subscribe = (id: string, payload: object): string =>
  JSON.stringify({ id, type: 'subscribe', payload });
const token = goodToken({ pk: `0x${'ab'.repeat(20)}`, exp: 60 });

export const seeds = [
  [INIT, subscribe('1', { query: '{ chainInfo { txFee } }' })],
  [
    JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } }),
    '{"type":"ping"}',
    subscribe('1', { query: 'subscription { rideRequestsUpdated { txHash } }', variables: null }),
    '{"id":"1","type":"complete"}',
    subscribe('1', {
      query: 'query A($l: Int) { listRideRequests(limit: $l) { fare } }',
      operationName: 'A',
      variables: { l: 5 },
      extensions: {},
    }),
  ],
  [
    INIT,
    '{"type":"pong","payload":{"a":1}}',
    subscribe('2', { query: 'mutation { createUnsignedBurn(amount: "1") }' }),
  ],
  [subscribe('1', { query: '{ __typename }' })],
].map((lines) => lines.join('\n'));
export const words = [
  INIT,
  '\n',
  '"type":',
  ...['subscribe', 'complete', 'ping', 'pong', 'next', 'error', 'connection_ack', '__proto__'].map(
    (type) => `"${type}"`,
  ),
  '"payload":',
  '"variables":{"l":1e400}',
  '"operationName":"A"',
  '"extensions":null',
  '"id":""',
];

const schema = hubSchema();
const hub = quietHub(() => Promise.resolve([]));
const settings = {
  schema,
  hub,
  pipeline: await quietPipeline(schema, hub),
  formatting: { log: silentLog(), suggestions: true },
  subscription_bytes_max: 65_536,
  subscriptions_per_client_max: 10,
  socket_operations_max: 5,
  socket_init_ms: 0,
  secrets: { jwt_secret: SECRET },
  now: () => 0,
};
const protocol = socketProtocol({
  ...settings,
  subscriptions: new SharedSubscriptions(settings),
});

const CLOSE_CODES: ReadonlySet<number> = new Set([4400, 4401, 4403, 4409, 4429]);
/** Messages of servers close the socket before the protocol sees them. */
const SERVER_MESSAGE = /"(?:next|error|connection_ack)"/;
const TURNS = 4;

class Socket {
  readonly sent: string[] = [];
  code: number | undefined;
  readonly bufferedAmount = 0;
  readonly OPEN = 1;
  readonly readyState = 1;
  readonly cork = ignore;
  readonly uncork = ignore;
  readonly pause = ignore;
  readonly resume = ignore;
  receive: (text: string) => Promise<void> = () => Promise.resolve();
  #text = '';

  send(data: unknown, options?: unknown, written?: () => void): void {
    this.#text += String(data);
    if (Object(options).fin !== false) this.sent.push(this.#text);
    if (Object(options).fin !== false) this.#text = '';
    const done: unknown = written ?? options;
    if (typeof done === 'function') done();
  }

  close(code?: number): void {
    this.code ??= code ?? 1_000;
  }
}

function ignore(): void {
  // it is always written at once
}

export async function fuzz(bytes: Buffer): Promise<void> {
  const socket = new Socket();
  const limits = { socket_buffer_bytes_max: 65_536, socket_slow_ms: 1_000 };
  const session = new Session({
    socket: new BackpressuredSocket(socket, socket, limits, () => 0),
    client: '192.0.2.1',
    wait: () => 0,
    left: new AbortController().signal,
    elsewhere: [],
  });
  const closed = protocol.opened(
    {
      protocol: 'graphql-transport-ws',
      send: (text) => new Promise((resolve) => socket.send(text, resolve)),
      close: (code) => socket.close(code),
      onMessage: (receive) => (socket.receive = receive),
    },
    session,
  );
  const failures: unknown[] = [];
  for (const line of bytes.toString().split('\n')) {
    if (socket.code !== undefined) break;
    if (SERVER_MESSAGE.test(line)) continue;
    socket.receive(line).catch((error: unknown) => failures.push(error));
    await turn();
  }
  for (let left = TURNS; left > 0; left--) await turn();
  await closed(socket.code ?? 1_000, '');
  assert.deepEqual(failures, []);
  assert.ok(
    socket.code === undefined || CLOSE_CODES.has(socket.code),
    `closed with ${socket.code}`,
  );
  for (const text of socket.sent) {
    const message: unknown = JSON.parse(text);
    assert.match(String(Object(message).type), /^(?:connection_ack|pong|next|error|complete)$/);
  }
  // a client rests after a long turn; an operation that stays pending makes the input hang
  while (session.pending.size > 0) await turn();
}
