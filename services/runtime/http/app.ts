/**
 * The HTTP application of every service, on Express: handlers return values, and one place turns
 * refusals, faults and bugs into the service's error body.
 */
import {
  STATUS_CODES,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import express, { type ErrorRequestHandler } from 'express';
import {
  JSON_TYPE,
  PLAIN_ERRORS,
  type HttpRequest,
  type HttpResponse,
  type ErrorShape,
  type Failure,
  type Guard,
  type Route,
} from './handler.ts';
import {
  bodyIn,
  codingOf,
  isCacheable,
  isNamed,
  validatorOf,
  type Cacheable,
} from './cacheable.ts';
import { clientOf, forwardedFor } from './client-address.ts';
import { DirectRoutes, queryOf, type Found } from './direct-routes.ts';
import { FairStarts } from './fair-starts.ts';
import { rateLimited } from './rate-limit.ts';
import { Fault, messageOf, propertyOf, type Refusal } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';

export interface HttpAppOptions {
  readonly log: Logger;
  readonly routes?: readonly Route[];
  readonly errors?: ErrorShape;
  /** run before the routes in this order; the first response counts */
  readonly guards?: readonly Guard[];
  /** when requests start that the guards let pass; default: one for this application alone */
  readonly starts?: FairStarts;
  /** of every response */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body_bytes_max?: number;
  /** trusted proxies in front of this server; each appends an address to x-forwarded-for */
  readonly trust_proxy_hops?: number;
  /** a connection on which nothing moves is closed, such as that of a client that does not read */
  readonly idle_ms?: number;
}

/** Default of `idle_ms`. */
export const IDLE_MS = 60_000;

/** A request being served. */
export interface InFlight {
  readonly id: string;
  readonly response: ServerResponse;
  /** ms of a monotonic clock */
  readonly started: number;
  /** the template that matched */
  route: string;
  /** its body goes out in pieces, at the pace of the client */
  streams: boolean;
  /** the status of the error that broke off its response */
  broken_off_as?: number;
}

type Headers = Readonly<Record<string, string>>;
type Head = Omit<HttpResponse, 'body'>;

/** `contextOf` returns the request that a response answers; undefined once it is answered. */
export function buildHttpApp(
  options: HttpAppOptions,
  contextOf: (response: ServerResponse) => InFlight | undefined,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { log, errors: shape = PLAIN_ERRORS, headers: always = {}, guards = [] } = options;
  const { starts = new FairStarts(), trust_proxy_hops: hops = 0 } = options;
  const app = express();
  app
    .disable('x-powered-by')
    .disable('etag')
    .enable('case sensitive routing')
    .set('query parser', queryOf);
  app.set('trust proxy', hops);

  const standard: Headers = {
    ...always,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  const writeHead = (
    response: ServerResponse,
    { status, content_type: type = JSON_TYPE, headers }: Head,
    bytes?: number,
  ): void => {
    const all: OutgoingHttpHeaders = { ...standard };
    const id = contextOf(response)?.id;
    if (id !== undefined) all['x-request-id'] = id;
    if (!BODILESS.has(status)) {
      all['content-type'] = type;
      if (bytes !== undefined) all['content-length'] = bytes;
    }
    response.writeHead(status, Object.assign(all, headers));
  };
  const sendText = (response: ServerResponse, head: Head, body: string | Buffer): void => {
    if (response.headersSent || response.destroyed) return;
    const bytes = Buffer.byteLength(body);
    writeHead(response, head, bytes);
    // as many bytes as characters: all are ASCII, and latin1 is written without encoding
    if (typeof body === 'string' && bytes === body.length) response.end(body, 'latin1');
    else response.end(body);
  };
  const stream = (
    response: ServerResponse,
    pieces: AsyncIterable<string | Buffer>,
    writeItsHead: () => void,
  ): Promise<void> => {
    const context = contextOf(response);
    if (context !== undefined) context.streams = true;
    return sendPieces(response, pieces, writeItsHead, options.idle_ms ?? IDLE_MS);
  };
  /** of the long bodies that each client has not read to the end */
  const longBytes = new Map<string, number>();
  const sendBody = (
    response: ServerResponse,
    head: Head,
    body: string | Buffer,
  ): void | Promise<void> => {
    if (!isLong(body)) return sendText(response, head, body);
    const { req: request } = response;
    const client = clientOf({ ip: forwardedFor(request, hops), socket: request.socket });
    const before = longBytes.get(client) ?? 0;
    // a body counts as it is, also where others have the same bytes
    if (before > 0 && before + body.length > LONG_BYTES_PER_CLIENT)
      return send(response, rateLimited(1_000, shape, UNREAD));
    const bytes = (head.long ??= Buffer.from(body));
    longBytes.set(client, before + bytes.length);
    const pieces = piecesOf(bytes, () => starts.next(client));
    return stream(response, pieces, () => writeHead(response, head, bytes.length)).finally(() => {
      const left = (longBytes.get(client) ?? 0) - bytes.length;
      if (left > 0) longBytes.set(client, left);
      else longBytes.delete(client);
    });
  };
  const fail = (response: ServerResponse, failure: Failure, headers: Headers = {}): void =>
    sendText(response, { status: failure.status, headers }, shape.body(failure));
  const sendCacheable = (response: ServerResponse, answer: Cacheable): void | Promise<void> => {
    const given = response.req.headers;
    const etag = validatorOf(answer);
    const others = answer.headers?.['vary'];
    const vary = others === undefined ? 'accept-encoding' : `${others}, accept-encoding`;
    const headers = { ...answer.headers, etag, vary };
    if (isNamed(given['if-none-match'], etag))
      return sendText(response, { status: 304, headers }, '');
    const coding = codingOf(answer, given['accept-encoding']);
    const coded = coding === undefined ? headers : { ...headers, 'content-encoding': coding };
    const head = { ...answer, headers: coded };
    const body = bodyIn(answer, coding);
    if (!(body instanceof Promise)) return sendBody(response, head, body);
    return body.then((bytes) => sendBody(response, head, bytes));
  };
  const send = (response: ServerResponse, answer: HttpResponse): void | Promise<void> => {
    if (isCacheable(answer)) return sendCacheable(response, answer);
    const { body } = answer;
    if (typeof body === 'string' || Buffer.isBuffer(body)) return sendBody(response, answer, body);
    return stream(response, body, () => writeHead(response, answer));
  };
  const enterRoute = (response: ServerResponse, path: string): void => {
    const context = contextOf(response);
    if (context !== undefined) context.route = path;
  };
  const reply = (
    response: ServerResponse,
    answer: HttpResponse | Refusal,
  ): void | Promise<void> => {
    if (!('refused' in answer)) return send(response, answer);
    const { refused: code, message } = answer;
    return fail(response, { status: shape.statuses[code] ?? 400, code, message });
  };
  const failed = (error: unknown, method: string | undefined, response: ServerResponse): void => {
    const failure = failureOf(error, shape);
    const context = contextOf(response);
    if (failure.status >= 500 || response.headersSent) {
      const { id: request_id, route } = context ?? {};
      const { status } = failure;
      log.error({ err: error, request_id, method, route, status }, messageOf(error));
    }
    if (!response.headersSent) return fail(response, failure);
    // a client must not take half a response for a whole one
    if (context !== undefined) context.broken_off_as = failure.status;
    breakOff(response);
  };

  const runGuards = async (request: HttpRequest): Promise<HttpResponse | undefined> => {
    for (const guard of guards) {
      const answer = await guard(request);
      if (answer !== undefined) return answer;
    }
    await starts.next(clientOf(request));
    return undefined;
  };
  app.use(async (request, response, next) => {
    const answer = await runGuards(request);
    // its body has turned out to be no HTTP
    if (response.headersSent) return;
    if (answer !== undefined) return send(response, answer);
    const length = Number(request.headers['content-length'] ?? 0);
    if (length > (options.body_bytes_max ?? 16_384))
      return fail(response, TOO_LARGE, { connection: 'close' });
    // a body of unknown length that no handler reads ends with its connection
    if (request.headers['transfer-encoding'] !== undefined)
      response.setHeader('connection', 'close');
    if (request.url.includes('%') && !isDecodable(request.url))
      return fail(response, (!isDecodable(request.path) && shape.undecodable) || UNDECODABLE);
    return next();
  });

  const routes = options.routes ?? [];
  for (const { method, path, handle } of routes) {
    app[method](path, async (request, response) => {
      enterRoute(response, path);
      return reply(response, await handle(request));
    });
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = routes
      .flatMap((route) =>
        route.path !== path ? [] : route.method === 'get' ? ['GET', 'HEAD'] : ['POST'],
      )
      .join(', ');
    app.all(path, (_request, response) => {
      enterRoute(response, path);
      fail(
        response,
        { status: 405, code: 'method_not_allowed', message: `this path answers ${allow} only` },
        { allow },
      );
    });
  }
  app.use((_request, response) =>
    fail(response, { status: 404, code: 'not_found', message: 'there is nothing at this path' }),
  );

  const onError: ErrorRequestHandler = (error: unknown, { method }, response, _next) =>
    failed(error, method, response);
  app.use(onError);

  const direct = new DirectRoutes(routes, hops);
  const serve = async (found: Found, response: ServerResponse): Promise<void> => {
    const { route, request } = found;
    try {
      const answer = await runGuards(request);
      if (answer !== undefined) return await send(response, answer);
      enterRoute(response, route.path);
      return await reply(response, await route.handle(request));
    } catch (error) {
      return failed(error, request.method, response);
    }
  };
  return (request, response) => {
    const found = direct.find(request);
    if (found !== undefined) void serve(found, response);
    // Express would answer an invalid absolute URL by itself, in another shape
    else if (!isAddress(request.url)) fail(response, shape.undecodable ?? NO_ADDRESS);
    else app(request, response);
  };
}

const LONG_LENGTH_MIN = 256 * 1_024;
const PIECE_BYTES = 64 * 1_024;
/** A client may leave so much of long answers unread. */
export const LONG_BYTES_PER_CLIENT = 64 * 1_024 * 1_024;
export const UNREAD = 'too many long answers of yours are not read yet';

/** Such a body goes out in pieces, at the pace of the client. */
export function isLong(body: string | Buffer): boolean {
  return body.length >= LONG_LENGTH_MIN;
}

/** Each when its client may start something, also when the client takes them at once. */
async function* piecesOf(
  bytes: Buffer,
  next: () => Promise<void> | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    await next();
    yield bytes.subarray(from, from + PIECE_BYTES);
  }
}

const BODILESS: ReadonlySet<number> = new Set([204, 304]);
const TOO_LARGE: Failure = { status: 413, code: 'too_large', message: 'the body is too large' };
const INVALID = { status: 400, code: 'invalid_request' } as const;
const NO_ADDRESS: Failure = { ...INVALID, message: 'the address is not well-formed' };
const UNDECODABLE: Failure = {
  ...INVALID,
  message: 'the address is not well-formed: each % must begin the hex digits of UTF-8 text',
};

/** A bug in a handler gives 500, and the process goes on: no state is left half changed. */
function failureOf(error: unknown, shape: ErrorShape): Failure {
  if (error instanceof Fault) return shape.fault(error);
  const status = propertyOf(error, 'status');
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return {
      status,
      code: status === 413 ? 'too_large' : 'invalid_request',
      message: STATUS_CODES[status] ?? 'the request is malformed',
    };
  }
  return { status: 500, code: 'internal_error', message: 'something is wrong on our side' };
}

function isAddress(url = ''): boolean {
  return url.startsWith('/') || url === '*' || URL.canParse(url);
}

function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

/**
 * Sends the pieces until they end or the client has left, then ends their iterator. HEAD reads
 * none. A piece is made when the client has taken the one before, so memory depends neither on the
 * number of pieces nor on the pace of the client. `writeHead` is called once the first piece is
 * made; a client that does not read for `idleMs` is disconnected. Throws the pieces' error: before
 * the first piece nothing is sent, later the response must be broken off.
 */
async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<string | Buffer>,
  writeHead: () => void,
  idleMs: number,
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  const { method, socket } = response.req;
  try {
    if (method === 'HEAD') {
      if (response.destroyed) return;
      writeHead();
      return void response.end();
    }
    response.on('timeout', () => breakOff(response));
    while (!response.destroyed) {
      // the client is not to blame for the time that a piece takes to be made
      socket.setTimeout(0);
      const piece = await iterator.next().finally(() => socket.setTimeout(idleMs));
      if (response.destroyed) return;
      if (!response.headersSent) writeHead();
      if (piece.done === true) return void response.end();
      if (piece.value.length > 0 && !response.write(piece.value)) await drained(response);
    }
  } finally {
    await iterator.return?.();
  }
}

/**
 * Resets the connection, so that the client cannot take half a response for a whole one: in
 * HTTP/1.0 the end of the connection is the end of the body.
 */
export function breakOff(response: ServerResponse): void {
  response.req.socket.resetAndDestroy();
  response.destroy();
}

/** Resolves when the written text has gone out, or the client has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
