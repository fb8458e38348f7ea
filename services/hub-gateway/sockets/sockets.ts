/** The hub's sockets: who may open one, how many, whether they are still there, and how they end. What is said on them is graphql-ws' business. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Server } from 'graphql-ws';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { messageOf } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { clientOf, forwardedFor } from '../../runtime/http/client-address.ts';
import type { RateLimit } from '../../runtime/http/rate-limit.ts';
import { errorBody } from '../graphql/errors.ts';
import { Outlet, type OutletSettings } from './outlet.ts';
import { SOCKET_PATH } from '../http/paths.ts';
import { Running } from '../graphql/running.ts';
import type { SocketExtra } from './protocol.ts';

const PROTOCOL = 'graphql-transport-ws';
/** So often it is looked who has drained, and after how many looks who is gone. */
const LOOK_MS = 100;
const PING_LOOKS = 120;
/** How long sockets may take to say goodbye. */
const GOODBYE_MS = 1_000;

const CLOSES = { going_away: 1001, bad_message: 4400, internal: 4500 } as const;

export interface SocketSettings extends OutletSettings {
  readonly sockets_max: number;
  readonly sockets_per_client_max: number;
  readonly socket_message_bytes_max: number;
  readonly trust_proxy_hops: number;
}

export interface SocketsOptions {
  readonly settings: SocketSettings;
  readonly protocol: Server<SocketExtra>;
  /** of operations; undefined: none */
  readonly rate: RateLimit | undefined;
  readonly log: Logger;
  /** ms of a clock that never goes back */
  readonly now: () => number;
}

interface Open {
  readonly socket: WebSocket;
  readonly outlet: Outlet;
  /** a ping is out */
  pinged: boolean;
}

export class Sockets {
  readonly #options: SocketsOptions;
  readonly #server: WebSocketServer;
  readonly #open = new Set<Open>();
  readonly #clients = new Map<string, number>();
  readonly #looking: NodeJS.Timeout;
  #looks = 0;
  #givenUp = 0;
  #closing = false;

  constructor(options: SocketsOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: options.settings.socket_message_bytes_max,
      handleProtocols: (protocols) => (protocols.has(PROTOCOL) ? PROTOCOL : false),
    });
    this.#server.on('wsClientError', (_error, socket) => {
      refuse(
        socket,
        '400 Bad Request',
        errorBody('BAD_USER_INPUT', 'this is no request for a WebSocket of version 13 or 8'),
      );
    });
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** How many have not taken what was sent to them. */
  get behind(): number {
    return [...this.#open].filter(({ outlet }) => outlet.isBehind).length;
  }

  /** How many were closed so far because they did not take it for too long. */
  get givenUp(): number {
    return this.#givenUp;
  }

  /** For Node's event of the same name. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const {
      sockets_max: max,
      sockets_per_client_max: perClient,
      trust_proxy_hops: hops,
    } = this.#options.settings;
    socket.on('error', ignored);
    if (pathOf(request) !== SOCKET_PATH)
      return refuse(
        socket,
        '404 Not Found',
        errorBody('NOT_FOUND', `sockets are at ${SOCKET_PATH}`),
      );
    const client = clientOf({ ip: forwardedFor(request, hops), socket: request.socket });
    const count = this.#clients.get(client) ?? 0;
    if (this.#closing || this.#open.size >= max) {
      return refuse(
        socket,
        '503 Service Unavailable',
        errorBody('RATE_LIMITED', 'no more sockets at the moment: try again shortly'),
      );
    }
    if (count >= perClient)
      return refuse(
        socket,
        '429 Too Many Requests',
        errorBody('RATE_LIMITED', `at most ${perClient} sockets at once`),
      );
    this.#server.handleUpgrade(request, socket, head, (opened) => {
      socket.off('error', ignored);
      this.#clients.set(client, count + 1);
      opened.once('close', () => this.#left(client));
      this.#serve(opened, socket, client);
    });
  }

  /** Says goodbye to all and takes no more. */
  async close(): Promise<void> {
    this.#closing = true;
    const gone = [...this.#open].map(
      ({ socket }) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    for (const { socket } of this.#open) socket.close(CLOSES.going_away, 'going away');
    const late = setTimeout(() => {
      for (const { socket } of this.#open) socket.terminate();
    }, GOODBYE_MS);
    await Promise.all(gone);
    clearTimeout(late);
    clearInterval(this.#looking);
  }

  #left(client: string): void {
    const count = this.#clients.get(client) ?? 0;
    if (count <= 1) this.#clients.delete(client);
    else this.#clients.set(client, count - 1);
  }

  #serve(socket: WebSocket, stream: Duplex, client: string): void {
    const { settings, protocol, rate, log, now } = this.#options;
    const outlet = new Outlet(socket, stream, settings, now);
    const open: Open = { socket, outlet, pinged: false };
    this.#open.add(open);
    const broken = (error: unknown): void => {
      log.error({ err: error }, messageOf(error));
      socket.close(CLOSES.internal, 'internal error');
    };
    // ws closes it by itself, with the code that fits: too large a message, bytes that are no UTF-8
    socket.on('error', (error) => log.debug({ err: error }, 'a socket broke'));
    socket.on('pong', () => {
      open.pinged = false;
    });
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (text) => sent(socket, text),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (take) => {
          socket.on('message', (data, isBinary) => {
            outlet.received();
            if (isBinary) return socket.close(CLOSES.bad_message, 'text only');
            const text = textOf(data);
            if (isServersMessage(text))
              return socket.close(CLOSES.bad_message, 'no message of a client');
            take(text).catch(broken);
          });
        },
      },
      { outlet, wait: () => rate?.take(client, now()) ?? 0, running: new Running() },
    );
    socket.once('close', (code, reason) => {
      this.#open.delete(open);
      closed(code, reason.toString()).catch(broken);
    });
  }

  #look(): void {
    const isTime = ++this.#looks % PING_LOOKS === 0;
    for (const open of this.#open) {
      const { socket, outlet } = open;
      if (outlet.look()) this.#givenUp++;
      // one that is behind is not listened to, and has a deadline of its own
      if (!isTime || outlet.isBehind) continue;
      if (open.pinged) socket.terminate();
      else if (socket.readyState === socket.OPEN) {
        open.pinged = true;
        socket.ping();
      }
    }
  }
}

function ignored(): void {
  // a connection that is not served yet may go as it came
}

/** What only servers say graphql-ws takes for an error of its own; what is no message at all it closes for by itself. */
function isServersMessage(text: string): boolean {
  try {
    const message: unknown = JSON.parse(text);
    if (typeof message !== 'object' || message === null || !('type' in message)) return false;
    return message.type === 'next' || message.type === 'error' || message.type === 'connection_ack';
  } catch {
    return false;
  }
}

function textOf(data: RawData): string {
  return Array.isArray(data)
    ? Buffer.concat(data).toString()
    : data instanceof ArrayBuffer
      ? Buffer.from(data).toString()
      : data.toString();
}

/** Resolves when the text is on its way, also when the socket is gone meanwhile: it then has nobody to miss it. */
function sent(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState === socket.OPEN) socket.send(text, () => resolve());
    else resolve();
  });
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

function refuse(socket: Duplex, status: string, body: string): void {
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}
