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
import { JSON_TYPE, PLAIN_ERRORS, type ErrorShape, type Route } from './handler.ts';
import { ownRoutes, type OwnRoutesOptions } from './own-routes.ts';
import { assert, Fault } from '../process/errors.ts';
import { breakOff, buildHttpApp, IDLE_MS, type HttpAppOptions, type InFlight } from './app.ts';

export interface HttpOptions extends HttpAppOptions, OwnRoutesOptions {
  readonly http_host: string;
  /** 0: any free one */
  readonly http_port: number;
  /** time for a shutdown; after most of it, streams are broken off; default: streams are awaited */
  readonly drain_ms?: number;
  /** of a request's line and headers; a larger head is answered 431 at once; default: 16 KiB */
  readonly header_bytes_max?: number;
  /**
   * Sees each request before the application, and either answers it or calls `next`. It does the
   * application's work itself (guards, headers, limits) and sets `context.route`.
   */
  readonly front?: (
    request: IncomingMessage,
    response: ServerResponse,
    context: InFlight,
    next: () => void,
  ) => void;
  /**
   * Takes over connections that ask for a WebSocket, and closes them before the server drains.
   * Requests for other protocols are served as HTTP.
   */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

export interface HttpServer {
  /** `http://host:port` as listened on */
  readonly url: string;
  /** the same of `/status` and `/metrics` */
  readonly ops_url: string;
  /** stops accepting, finishes requests in flight, closes connections; breaks off late streams */
  drain(): Promise<void>;
}

const LIMITS = {
  requestTimeout: 10_000,
  headersTimeout: 5_000,
  keepAliveTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;
/** Share of `drain_ms` for streams, so that resources closed after the server have time left. */
const STREAMS_SHARE = 0.8;

/**
 * Listens, and returns once it does. `/health`, `/ready`, `/status` and `/metrics` are there
 * besides the routes. Throws a `Fault` when a port cannot be opened.
 */
export async function openHttp(options: HttpOptions): Promise<HttpServer> {
  const { http_host: host, log, errors: shape = PLAIN_ERRORS, drain_ms: drainMs } = options;
  const { probes, figures } = ownRoutes(options, shape);
  const { ops_port: opsPort, routes = [] } = options;
  const ops =
    opsPort === undefined ? undefined : await openOps(options, opsPort, [...probes, ...figures]);
  const inFlight = new Map<ServerResponse, InFlight>();
  let draining = false;
  const served = [...probes, ...(ops === undefined ? figures : []), ...routes];
  const app = buildHttpApp({ ...options, routes: served }, inFlight);
  const { header_bytes_max: maxHeaderSize } = options;
  const server = createServer({
    ...LIMITS,
    ...(maxHeaderSize === undefined ? {} : { maxHeaderSize }),
    // clients that offer HTTP/2 expect a response when the offer is not taken
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
  spareUnreadResponses(server, answering);

  try {
    await listening(server, host, options.http_port, 'APP_HTTP_PORT');
  } catch (error) {
    ops?.close();
    throw error;
  }
  server.on('error', (error) => log.error({ err: error }, 'HTTP server'));
  const url = urlOf(server, host);
  const ops_url = ops === undefined ? url : urlOf(ops, host);
  log.info({ url, ops_url }, 'listening');
  return {
    url,
    ops_url,
    drain: () =>
      new Promise((resolve) => {
        draining = true;
        const late =
          drainMs === undefined
            ? undefined
            : setTimeout(() => breakOffStreams(inFlight, log), drainMs * STREAMS_SHARE);
        server.close(() => {
          clearTimeout(late);
          ops?.close();
          ops?.closeAllConnections();
          resolve();
        });
        for (const response of inFlight.keys())
          if (!response.headersSent) response.setHeader('connection', 'close');
      }),
  };
}

function breakOffStreams(
  inFlight: ReadonlyMap<ServerResponse, InFlight>,
  log: HttpOptions['log'],
): void {
  const late = [...inFlight].filter(([, { streams }]) => streams);
  if (late.length > 0)
    log.warn({ streams: late.length }, 'shutdown breaks off responses that are still streaming');
  for (const [response] of late) breakOff(response);
}

/** Keeps `server.close()` from closing connections whose response is written but not yet read. */
function spareUnreadResponses(server: Server, answering: () => ReadonlySet<Socket>): void {
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

/** Labels of metrics: callers cannot add others. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);

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
    seconds.observe(
      { route, method: METHODS.has(method) ? method : 'other', status },
      elapsed / 1_000,
    );
    if (!log.isLevelEnabled('debug')) return;
    const ms = Number(elapsed.toFixed(2));
    log.debug({ request_id: id, method, url: url.slice(0, 200), route, status, ms }, 'request');
  };
}

const STATUS_OF_PARSER: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Requests that Node's parser refuses do not reach the application, but get the same shape. */
function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  shape: ErrorShape,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status = STATUS_OF_PARSER[error.code ?? ''] ?? 400;
  const reason = STATUS_CODES[status] ?? '';
  const body = shape.body({ status, code: 'invalid_request', message: reason });
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** The server of the operators' routes, which no client of the service can reach or fill. */
async function openOps(
  { http_host: host, log }: HttpOptions,
  port: number,
  routes: readonly Route[],
): Promise<Server> {
  const server = createServer(LIMITS, buildHttpApp({ log, routes }, new Map()));
  await listening(server, host, port, 'APP_OPS_PORT');
  server.on('error', (error) => log.error({ err: error }, 'HTTP server of the operators'));
  return server;
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  assert(typeof address === 'object' && address !== null, 'a listening server has an address');
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}

function listening(server: Server, host: string, port: number, setting: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = (cause: NodeJS.ErrnoException): void => {
      const why =
        cause.code === 'EADDRINUSE'
          ? `another process has it (lsof -i :${port} names it); stop that or set ${setting}`
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
