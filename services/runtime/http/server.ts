/** The HTTP server of every service: listens, watches what is in flight, drains. */
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buildHttpApp, hostFailure, IDLE_MS, type HttpAppOptions } from './app.ts';
import { clientOf } from './client-address.ts';
import { PLAIN_ERRORS, type ErrorShape, type Failure, type Route } from './handler.ts';
import { ownRoutes, type OwnRoutesOptions } from './own-routes.ts';
import { requestIds } from './exchange.ts';
import { endWith, headersOf, type LastAnswer } from './last-answer.ts';
import { breakOff } from './reply.ts';
import { CONNECTIONS_PER_CLIENT_MAX, Held, PIPELINED_MAX } from '../limits/held.ts';
import { ON } from '../limits/limits.ts';
import { assert, Fault } from '../process/errors.ts';

/** Where a service listens, and how long it may take to stop. */
export interface ListenSettings {
  readonly http_host: string;
  /** 0: any free one */
  readonly http_port: number;
  /** where `/status` and `/metrics` are; default: on the port of the other routes */
  readonly ops_port?: number;
  /** time for a shutdown; after most of it, responses are broken off; default: awaited */
  readonly drain_ms?: number;
}

export interface HttpOptions extends Omit<HttpAppOptions, 'metrics'>, OwnRoutesOptions {
  /** to a head of more than 16 KiB, which may be a token; default: 431 */
  readonly overflow?: LastAnswer;
  /** open at once, of all clients */
  readonly http_connections_max?: number;
  /** of one client that no proxy is in front of */
  readonly http_connections_per_client_max?: number;
  /**
   * Takes over connections that ask for a WebSocket, and closes them before the server drains.
   * Requests for other protocols are served as HTTP.
   */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

export interface HttpServer {
  /** `http://host:port` as listened on */
  readonly url: string;
  /** `http://host:port` of `/status` and `/metrics` */
  readonly ops_url: string;
  /** stops accepting, finishes requests in flight, closes connections; breaks off late ones */
  drain(): Promise<void>;
}

const LIMITS = {
  requestTimeout: 10_000,
  headersTimeout: 5_000,
  keepAliveTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;
/** A client that has sent more at once opens no connection for so long. */
const BARRED_MS = 10_000;
/** Share of `drain_ms` for responses: resources closed after the server have the rest. */
const LATE_SHARE = 0.8;
/**
 * Listens, and returns once it does. `/health`, `/ready`, `/status` and `/metrics` are there
 * besides the routes. Throws a `Fault` when a port cannot be opened.
 */
export async function openHttp(
  { http_host: httpHost, http_port, ops_port: opsPort, drain_ms: drainMs }: ListenSettings,
  options: HttpOptions,
): Promise<HttpServer> {
  const { log, errors: shape = PLAIN_ERRORS, routes = [] } = options;
  const { probes, figures } = ownRoutes(options, opsPort !== undefined, shape);
  const ops =
    opsPort === undefined
      ? undefined
      : await openOps(httpHost, opsPort, log, [...probes, ...figures]);
  let draining = false;
  const served = [...probes, ...(ops === undefined ? figures : []), ...routes];
  const app = buildHttpApp(options, served);
  const server = createServer({
    ...LIMITS,
    // the application checks it, for an answer in the service's shape
    requireHostHeader: false,
    // clients that offer HTTP/2 expect a response when the offer is not taken
    shouldUpgradeCallback: ({ headers }) =>
      options.upgrade !== undefined && headers.upgrade?.toLowerCase() === 'websocket',
  });
  server.setTimeout(options.idle_ms ?? IDLE_MS);
  const connections = openConnections(server);
  const unanswered = (): readonly ServerResponse[] => [...connections.values()].flat();

  const { is_on: isOn } = options.http_limits?.connections ?? ON;
  const { trust_proxy_hops = 0 } = options;
  const nextId = requestIds();
  const always = (): Headers => ({ ...options.headers, 'x-request-id': nextId() });
  const ofOne = limitConnections(server, options);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const before = connections.get(socket);
    if (before === undefined) return void socket.destroy();
    if (before.length >= PIPELINED_MAX && isOn) {
      // Node goes through all that it has read before
      if (!socket.destroyed && trust_proxy_hops === 0) ofOne.bar(clientOf({ socket }), BARRED_MS);
      return void socket.destroy();
    }
    before.push(response);
    if (draining) response.setHeader('connection', 'close');
    // `close` comes once
    response.on('close', () => {
      before.splice(before.indexOf(response), 1);
      if (draining) socket.destroySoon();
    });
    app(request, response);
  };
  server.on('request', serve);
  // Node's own answer to an unknown expectation has no body
  server.on('checkExpectation', serve);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const failure = hostFailure(request);
    if (failure !== undefined) endWith(socket, answerOf(failure, shape), always());
    else options.upgrade?.(request, socket, head);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const response = connections.get(socket)?.[0];
    const isOverflow = error.code === 'HPE_HEADER_OVERFLOW';
    const answer =
      (isOverflow ? options.overflow : undefined) ?? answerOf(failureOfParser(error), shape);
    if (error.code === 'ECONNRESET' || response?.headersSent === true) socket.destroy();
    else if (response === undefined) endWith(socket, answer, always());
    else response.writeHead(answer.status, headersOf(answer, always())).end(answer.body);
  });

  try {
    await listening(server, httpHost, http_port, 'APP_HTTP_PORT');
  } catch (error) {
    ops?.close();
    throw error;
  }
  server.on('error', (error) => log.error({ err: error }, 'HTTP server'));
  const url = urlOf(server, httpHost);
  const ops_url = ops === undefined ? url : urlOf(ops, httpHost);
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
            : setTimeout(() => breakOffLate(unanswered(), log), drainMs * LATE_SHARE);
        server.close(() => {
          clearTimeout(late);
          ops?.close();
          ops?.closeAllConnections();
          resolve();
        });
        for (const response of unanswered())
          if (!response.headersSent) response.setHeader('connection', 'close');
      }),
  };
}

/** Breaks off an export, a long answer to a slow client, or one that waits its turn. */
function breakOffLate(late: readonly ServerResponse[], log: HttpOptions['log']): void {
  if (late.length > 0)
    log.warn({ responses: late.length }, 'shutdown breaks off responses that are not sent yet');
  for (const response of late) breakOff(response);
}

/**
 * The open connections, with the responses of each that are not sent yet, oldest first. A Map of
 * the responses themselves would grow and be rebuilt all the time, and what its old tables refer to
 * stays in memory until V8 collects the whole heap. `server.close()` spares a connection whose
 * response is written but not yet read.
 */
function openConnections(server: Server): ReadonlyMap<Socket, ServerResponse[]> {
  const connections = new Map<Socket, ServerResponse[]>();
  server.on('connection', (socket) => {
    connections.set(socket, []);
    socket.once('close', () => connections.delete(socket));
  });
  server.closeIdleConnections = () => {
    for (const [socket, { length }] of connections) if (length === 0) socket.destroy();
  };
  return connections;
}

const STATUS_OF_PARSER: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Why Node's parser refuses a request. */
function failureOfParser({ code = '' }: NodeJS.ErrnoException): Failure {
  const status = STATUS_OF_PARSER[code] ?? 400;
  return { status, code: 'invalid_request', message: STATUS_CODES[status] ?? '' };
}

function answerOf(failure: Failure, shape: ErrorShape): LastAnswer {
  return { status: failure.status, body: shape.body(failure) };
}

type Headers = Readonly<Record<string, string>>;

const CONNECTIONS_MAX = 10_000;
/** Connections that the kernel has taken and the process has not: a burst overflows Node's 511. */
const BACKLOG = 4_096;

/** Connections beyond the limits are closed unanswered. Those of a proxy are of many clients. */
function limitConnections(
  server: Server,
  {
    http_connections_max: httpConnectionsMax = CONNECTIONS_MAX,
    http_connections_per_client_max: httpConnectionsPerClientMax = CONNECTIONS_PER_CLIENT_MAX,
    trust_proxy_hops: trustProxyHops = 0,
    http_limits: httpLimits,
  }: HttpOptions,
): Held {
  const ofOne = new Held(
    trustProxyHops > 0 ? Number.POSITIVE_INFINITY : httpConnectionsPerClientMax,
    httpLimits?.connections,
  );
  let open = 0;
  // Node's own limit counts those that it closes at once, with which one client could fill it
  server.on('connection', (socket) => {
    if (open >= httpConnectionsMax) httpLimits?.connections.refused();
    const closed = open < httpConnectionsMax ? ofOne.take(clientOf({ socket })) : undefined;
    if (closed === undefined) return void socket.destroy();
    open++;
    return socket.once('close', () => {
      open--;
      closed();
    });
  });
  return ofOne;
}

/** The server of the operators' routes, which no client of the service can reach or fill. */
async function openOps(
  host: string,
  port: number,
  log: HttpOptions['log'],
  routes: readonly Route[],
): Promise<Server> {
  const server = createServer(LIMITS, buildHttpApp({ log }, routes));
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
    server.listen(port, host, BACKLOG, () => {
      server.off('error', refused);
      resolve();
    });
  });
}
