/** The HTTP server of every service: listens, watches what is in flight, drains. */
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { performance } from 'node:perf_hooks';
import { JSON_TYPE, PLAIN_ERRORS, type ErrorShape } from './handler.ts';
import { assert, Fault } from '../process/errors.ts';
import { buildHttpApp, IDLE_MS, type HttpAppOptions, type InFlight } from './app.ts';
import { breakOff } from './streamed-body.ts';

export interface HttpOptions extends HttpAppOptions {
  readonly http_host: string;
  /** 0: any free one */
  readonly http_port: number;
  /** how long the process may take to stop: what still streams after the greater part of it is cut off. Without it, streams are waited for */
  readonly drain_ms?: number;
  /** of a request's line and headers together; 16 KiB when not given. More is answered 431 before anything else is looked at */
  readonly header_bytes_max?: number;
  /**
   * Sees each request before the application does, and either answers it or calls `next`. What the application makes sure of (guards, headers, limits) it has to see to
   * itself; `context.route` is for it to set.
   */
  readonly front?: (
    request: IncomingMessage,
    response: ServerResponse,
    context: InFlight,
    next: () => void,
  ) => void;
  /** takes over connections that ask for a WebSocket; without it, and when they ask for another protocol, they are answered as ordinary requests. What it took over it closes itself, before the server is drained */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

export interface HttpServer {
  /** `http://host:port` as listened on */
  readonly url: string;
  /** stops accepting, lets requests in flight finish, closes their connections; streams that take too long are cut off */
  drain(): Promise<void>;
}

const LIMITS = {
  requestTimeout: 10_000,
  headersTimeout: 5_000,
  keepAliveTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;
/** Of `drain_ms`, so that what has to be closed after the server still has its time. */
const STREAMS_SHARE = 0.8;

/**
 * Listens, and returns once it does. `/health`, `/ready`, `/status` and `/metrics` are there besides
 * the routes. Throws a `Fault` when the port cannot be opened.
 */
export async function openHttp(options: HttpOptions): Promise<HttpServer> {
  const { http_host: host, log, errors: shape = PLAIN_ERRORS, drain_ms: drainMs } = options;
  const inFlight = new Map<ServerResponse, InFlight>();
  let draining = false;
  const app = buildHttpApp(options, inFlight);
  const { header_bytes_max: maxHeaderSize } = options;
  const server = createServer({
    ...LIMITS,
    ...(maxHeaderSize === undefined ? {} : { maxHeaderSize }),
    // many a client offers HTTP/2 with its first request, and wants the answer when it is not taken up
    shouldUpgradeCallback: ({ headers }) =>
      options.upgrade !== undefined && headers.upgrade?.toLowerCase() === 'websocket',
  });
  server.setTimeout(options.idle_ms ?? IDLE_MS);

  const observe = observer(options);
  const prefix = randomBytes(6).toString('hex');
  let count = 0;
  server.on('request', (request, response) => {
    const { socket } = request;
    const context = {
      id: `${prefix}-${(++count).toString(36)}`,
      socket,
      started: performance.now(),
      route: 'unmatched',
      streams: false,
    };
    inFlight.set(response, context);
    if (draining) response.setHeader('connection', 'close');
    response.once('close', () => {
      inFlight.delete(response);
      observe(context, request, response);
      if (draining) socket.destroySoon();
    });
    if (options.front === undefined) app(request, response);
    else options.front(request, response, context, () => app(request, response));
  });
  const answering = (): ReadonlySet<Socket> =>
    new Set(inFlight.values().map(({ socket }) => socket));
  if (options.upgrade !== undefined) server.on('upgrade', options.upgrade);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (answering().has(socket)) socket.destroy();
    else answerBrokenRequest(error, socket, shape);
  });
  spareUnreadAnswers(server, answering);

  await listening(server, host, options.http_port);
  server.on('error', (error) => log.error({ err: error }, 'HTTP server'));
  const address = server.address();
  assert(typeof address === 'object' && address !== null, 'a listening server has an address');
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  log.info({ url }, 'listening');
  return {
    url,
    drain: () =>
      new Promise((resolve) => {
        draining = true;
        const late =
          drainMs === undefined
            ? undefined
            : setTimeout(() => cutOffStreams(inFlight, log), drainMs * STREAMS_SHARE);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        for (const response of inFlight.keys())
          if (!response.headersSent) response.setHeader('connection', 'close');
      }),
  };
}

function cutOffStreams(
  inFlight: ReadonlyMap<ServerResponse, InFlight>,
  log: HttpOptions['log'],
): void {
  const late = [...inFlight].filter(([, { streams }]) => streams);
  if (late.length > 0)
    log.warn(
      { streams: late.length },
      'answers that were still streaming are cut off: the process stops',
    );
  for (const [response] of late) breakOff(response);
}

/** Makes `server.close()` spare answers that are handed over but not yet read: Node takes their connections for idle and would cut them short. */
function spareUnreadAnswers(server: Server, answering: () => ReadonlySet<Socket>): void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.closeIdleConnections = () => {
    const busy = answering();
    for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
  };
}

/** Counts each request, and logs it at level debug. */
function observer({ log, metrics }: HttpOptions) {
  const seconds = metrics.histogram('http_request_seconds', 'Duration of requests', [
    'route',
    'method',
    'status',
  ]);
  return (
    { id, started, route, broken_off_as: brokenOffAs }: InFlight,
    { method = '', url = '' }: IncomingMessage,
    response: ServerResponse,
  ): void => {
    const elapsed = performance.now() - started;
    // 499: the client left before the answer
    const status = response.writableFinished ? response.statusCode : (brokenOffAs ?? 499);
    seconds.observe({ route, method, status }, elapsed / 1_000);
    if (!log.isLevelEnabled('debug')) return;
    log.debug(
      {
        request_id: id,
        method,
        url: url.slice(0, 200),
        route,
        status,
        ms: Number(elapsed.toFixed(2)),
      },
      'request',
    );
  };
}

const STATUS_OF_PARSER: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** What Node's parser refuses never reaches the application; it gets the same shape. */
function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  shape: ErrorShape,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status = STATUS_OF_PARSER[error.code ?? ''] ?? 400;
  const reason = STATUS_CODES[status] ?? '';
  const body = shape.body({ status, code: 'invalid_request', message: reason });
  const head = `HTTP/1.1 ${status} ${reason}\r\ncontent-type: ${JSON_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = (cause: NodeJS.ErrnoException): void => {
      const why =
        cause.code === 'EADDRINUSE'
          ? 'another process has it; stop that or set APP_HTTP_PORT'
          : cause.message;
      reject(
        new Fault('http_port', `cannot listen on ${host}:${port}: ${why}`, { retry: false, cause }),
      );
    };
    server.once('error', refused);
    server.listen(port, host, () => {
      server.off('error', refused);
      resolve();
    });
  });
}
