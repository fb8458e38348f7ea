/** The hub's sockets: admission, limits, liveness and shutdown. protocol.ts speaks on them. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Server } from 'graphql-ws';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { clientOf, forwardedFor } from '../../runtime/http/client-address.ts';
import { endWith } from '../../runtime/http/last-answer.ts';
import { MESSAGE_PARTS_MAX } from '../../runtime/limits/bytes.ts';
import { Held } from '../../runtime/limits/held.ts';
import { openLimits, type Limits } from '../../runtime/limits/limits.ts';
import { OrderedStarts, type Starts } from '../../runtime/limits/starts.ts';
import { REFUSAL_DELAY_MS, type RateLimit } from '../../runtime/limits/rate.ts';
import { messageOf, propertyOf } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { SOCKET_PATH, type HubGatewayConfig } from '../config.ts';
import { errorBody, type ErrorCode } from '../graphql/errors.ts';
import { BackpressuredSocket } from './backpressured-socket.ts';
import { Session } from './protocol.ts';

const PROTOCOL = 'graphql-transport-ws';
/** Sockets that are behind are checked this often, and all are pinged every so many checks. */
const CHECK_MS = 100;
const CHECKS_PER_PING = 120;
/** A socket with more that have not started is not read. */
const MESSAGES_WAITING_MAX = 10;
/** A socket is closed when more wait: after a pause ws still delivers what it has read. */
const MESSAGES_HELD_MAX = 1_000;
/** Time that a client has to answer the close of its socket. */
const CLOSE_MS = 1_000;

const CLOSE_CODES = {
  going_away: 1001,
  // clients of graphql-ws connect again after it, and never after 1008
  too_many: 1013,
  bad_message: 4400,
  internal: 4500,
} as const;

/** In place of the reasons of graphql-ws, which name no remedy; at most 123 bytes. */
const REASONS: Readonly<Record<number, string>> = {
  4400: 'not a message of graphql-transport-ws: send JSON with a type of that protocol',
  4401: 'send connection_init and wait for connection_ack before you subscribe',
  4406: `use the subprotocol ${PROTOCOL}, for example by the package graphql-ws`,
  4408: 'no connection_init in time: have the token before you open the socket',
  4409: 'an operation with this id is open: use another id for each',
  4429: 'connection_init was sent before: open a new socket for another token',
};

export interface SocketServerOptions {
  readonly settings: HubGatewayConfig;
  readonly protocol: Server<Session>;
  /** of operations; undefined: no limit */
  readonly rate: RateLimit | undefined;
  /** default: all, and none is counted */
  readonly limits?: Limits;
  /** of requests, of sockets and of operations on them */
  readonly starts: Starts;
  readonly log: Logger;
  /** ms of a monotonic clock */
  readonly now: () => number;
}

interface Open {
  readonly socket: WebSocket;
  readonly outgoing: BackpressuredSocket;
  awaits_pong: boolean;
}

export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #server: WebSocketServer;
  readonly #open = new Set<Open>();
  /** of each client */
  readonly #sockets: Held;
  readonly #limits: Limits;
  readonly #checking: NodeJS.Timeout;
  #checks = 0;
  #givenUp = 0;
  #isClosing = false;

  constructor(options: SocketServerOptions) {
    const { settings, limits = openLimits() } = options;
    const { bytes } = limits;
    this.#options = options;
    this.#limits = limits;
    this.#sockets = new Held(settings.sockets_per_client_max, limits.connections);
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: bytes.is_on ? settings.socket_message_bytes_max : 0,
      maxFragments: bytes.is_on ? MESSAGE_PARTS_MAX : 0,
      maxBufferedChunks: bytes.is_on ? MESSAGE_PARTS_MAX : 0,
      // a browser tells why a socket was closed only where one of its protocols was taken
      handleProtocols: (protocols) =>
        protocols.has(PROTOCOL) ? PROTOCOL : ([...protocols][0] ?? false),
    });
    this.#server.on('wsClientError', (_error, socket) => {
      const message = 'this is no request for a WebSocket of version 13 or 8';
      refuse(socket, 400, 'BAD_USER_INPUT', message);
    });
    this.#checking = setInterval(() => this.#check(), CHECK_MS);
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** How many have too many bytes outstanding. */
  get behind(): number {
    return [...this.#open].filter(({ outgoing }) => outgoing.is_behind).length;
  }

  /** How many were closed so far because they were behind for too long. */
  get given_up(): number {
    return this.#givenUp;
  }

  /** For Node's event of this name. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { settings, rate, starts, now } = this.#options;
    socket.on('error', ignore);
    const ip = forwardedFor(request, settings.trust_proxy_hops);
    const client = clientOf({ ip, socket: request.socket });
    const seconds = Math.ceil((rate?.take(client, now()) ?? 0) / 1_000);
    if (seconds > 0)
      return refuseLate(socket, `too many requests: try again in ${seconds} s`, seconds);
    if (request.url?.split('?', 1)[0] !== SOCKET_PATH)
      return refuse(socket, 404, 'NOT_FOUND', `sockets are at ${SOCKET_PATH}`);
    const open = (): void => this.#openSocket(request, socket, head, client);
    const turn = starts.next(client);
    return turn === undefined ? open() : void turn.then(open);
  }

  /** Closes all sockets and admits no more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const closed = [...this.#open].map(
      ({ socket }) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    for (const { socket } of this.#open)
      socket.close(CLOSE_CODES.going_away, 'the hub is going away: connect again');
    const late = setTimeout(() => {
      for (const { socket } of this.#open) socket.terminate();
    }, CLOSE_MS);
    await Promise.all(closed);
    clearTimeout(late);
    clearInterval(this.#checking);
  }

  #openSocket(request: IncomingMessage, socket: Duplex, head: Buffer, client: string): void {
    const { sockets_max: socketsMax, sockets_per_client_max: socketsPerClientMax } =
      this.#options.settings;
    // it may have left while it waited
    if (socket.destroyed) return;
    const isFull = this.#open.size >= socketsMax;
    if (isFull || this.#isClosing) {
      if (isFull) this.#limits.connections.refused();
      const message = 'no more sockets at the moment: try again shortly';
      return refuse(socket, 503, 'RATE_LIMITED', message);
    }
    const closed = this.#sockets.take(client);
    if (closed === undefined)
      return refuseLate(socket, `at most ${socketsPerClientMax} sockets at once`);
    socket.once('close', closed);
    this.#server.handleUpgrade(request, socket, head, (opened) => {
      socket.off('error', ignore);
      this.#serve(opened, request, client);
    });
  }

  #serve(socket: WebSocket, request: IncomingMessage, client: string): void {
    const { settings, protocol, rate, starts, log, now } = this.#options;
    const outgoing = new BackpressuredSocket(socket, request.socket, settings, now);
    const left = new AbortController();
    const isOpen = (): boolean => socket.readyState === socket.OPEN;
    const messages = new OrderedStarts(() => (isOpen() ? starts.next(client) : undefined));
    const open: Open = { socket, outgoing, awaits_pong: false };
    this.#open.add(open);
    const fail = (error: unknown): void => {
      log.error({ err: error }, messageOf(error));
      close(CLOSE_CODES.internal, 'internal error');
    };
    // ws closes the socket with the fitting code, as for a message too large or invalid UTF-8
    socket.on('error', (error) => {
      if (TOO_MANY_BYTES.has(propertyOf(error, 'code'))) this.#limits.bytes.refused();
      log.debug({ err: error }, 'socket failed');
    });
    const close = (code: number, reason: string): void => {
      if (!isOpen()) return;
      socket.close(code, reason);
      setTimeout(() => socket.terminate(), CLOSE_MS).unref();
    };
    const session = new Session({
      left: left.signal,
      socket: outgoing,
      client,
      elsewhere: [request.headers, request.url],
      wait: (account) => rate?.take(client, now(), 1, account) ?? 0,
    });
    let isRefused = false;
    const mayPass = (): boolean => {
      // ws goes through all that it has read before
      if (isRefused) return false;
      isRefused = session.wait(session.caller?.account) > 0;
      if (isRefused) {
        close(CLOSE_CODES.too_many, TOO_MANY);
        socket.pause();
      }
      return !isRefused && isOpen();
    };
    socket.on('ping', mayPass);
    socket.on('pong', () => {
      if (!open.awaits_pong) mayPass();
      open.awaits_pong = false;
    });
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (text) => send(socket, text),
        close: (code = CLOSE_CODES.internal, reason = '') => close(code, REASONS[code] ?? reason),
        onMessage: (handle) => {
          socket.on('message', (data, isBinary) => {
            if (!isOpen()) return void mayPass();
            outgoing.received();
            if (isBinary) return close(CLOSE_CODES.bad_message, 'bytes: send text');
            const text = textOf(data);
            const type = typeOf(text);
            if (SERVER_MESSAGES.has(type))
              return close(
                CLOSE_CODES.bad_message,
                'a message that only servers send: see the protocol',
              );
            if (!COUNTED_ELSEWHERE.has(type) && !mayPass()) return;
            const act = (): void => {
              if (!isOpen()) return;
              handle(text).catch(fail);
              if (messages.waiting === 0 && !outgoing.is_behind) socket.resume();
            };
            if (type === 'subscribe') messages.paced(act);
            else messages.unpaced(act);
            if (messages.waiting > MESSAGES_WAITING_MAX) socket.pause();
            if (messages.waiting <= MESSAGES_HELD_MAX) return;
            this.#limits.starts.refused();
            close(CLOSE_CODES.too_many, TOO_MANY);
          });
        },
      },
      session,
    );
    socket.once('close', (code, reason) => {
      left.abort();
      this.#open.delete(open);
      messages.unpaced(() => void closed(code, reason.toString()).catch(fail));
    });
  }

  #check(): void {
    const isPingTime = ++this.#checks % CHECKS_PER_PING === 0;
    for (const open of this.#open) {
      const { socket, outgoing } = open;
      if (outgoing.check()) this.#givenUp++;
      // a socket that is behind is not read, and has a deadline of its own
      if (!isPingTime || outgoing.is_behind) continue;
      if (open.awaits_pong) socket.terminate();
      else if (socket.readyState === socket.OPEN) {
        open.awaits_pong = true;
        socket.ping();
      }
    }
  }
}

function ignore(): void {
  // a connection may fail before it is served
}

const TOO_MANY = 'too many messages: send fewer, and open a new socket';

/** Codes of ws. */
const TOO_MANY_BYTES: ReadonlySet<unknown> = new Set([
  'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH',
  'WS_ERR_TOO_MANY_BUFFERED_PARTS',
]);

/** A socket has one greeting, and an operation is counted where it can be refused alone. */
const COUNTED_ELSEWHERE: ReadonlySet<unknown> = new Set(['connection_init', 'subscribe']);

/** Messages that only servers send. graphql-ws would report an internal error for them. */
const SERVER_MESSAGES: ReadonlySet<unknown> = new Set(['next', 'error', 'connection_ack']);

/** Undefined when there is none, as in what is not JSON. */
function typeOf(text: string): unknown {
  try {
    const message: unknown = JSON.parse(text);
    return Object(message).type;
  } catch {
    return undefined;
  }
}

function textOf(data: RawData): string {
  return Array.isArray(data)
    ? Buffer.concat(data).toString()
    : data instanceof ArrayBuffer
      ? Buffer.from(data).toString()
      : data.toString();
}

/** Resolves when the text is written, or its socket is closed. */
function send(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState === socket.OPEN) socket.send(text, () => resolve());
    else resolve();
  });
}

function refuseLate(socket: Duplex, message: string, seconds = 1): void {
  const headers = { 'retry-after': String(seconds) };
  setTimeout(() => refuse(socket, 429, 'RATE_LIMITED', message, headers), REFUSAL_DELAY_MS);
}

function refuse(
  socket: Duplex,
  status: number,
  code: ErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  endWith(socket, { status, body: errorBody(code, message), headers });
}
