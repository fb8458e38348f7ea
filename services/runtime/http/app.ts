/**
 * The HTTP application of every service, on Express. A request goes through five middlewares in
 * this order: it is identified, admitted, answered from the cache or started in the turn of its
 * client, answered by its route; and what fails becomes an error response of the service.
 */
import {
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { parse } from 'node:querystring';
import { performance } from 'node:perf_hooks';
import express, {
  type ErrorRequestHandler,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import type { AnswerCache } from './answer-cache.ts';
import { clientOf, forwardedFor } from './client-address.ts';
import { Exchange, requestIds } from './exchange.ts';
import {
  PLAIN_ERRORS,
  RefusedRequest,
  type ErrorShape,
  type Failure,
  type Guard,
  type HttpRequest,
  type Route,
} from './handler.ts';
import { JSON_TYPE, type HttpResponse } from './response.ts';
import { breakOff, Replies } from './reply.ts';
import { BodyBytes, TOO_LARGE } from '../limits/bytes.ts';
import type { Limits } from '../limits/limits.ts';
import { Starts } from '../limits/starts.ts';
import { Fault, messageOf, propertyOf, type Refusal } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import { NO_TRACING, type Tracing } from '../process/tracing.ts';

export interface HttpAppOptions {
  readonly log: Logger;
  /** counts requests; default: they are not counted */
  readonly metrics?: Metrics;
  /** continues the traces of requests; off when not given */
  readonly tracing?: Tracing | undefined;
  readonly routes?: readonly Route[];
  /** answers where no route does; undefined, or not given: 404 in the shape of errors */
  readonly nothingHere?: ((request: HttpRequest) => HttpResponse | undefined) | undefined;
  readonly errors?: ErrorShape;
  /** run before the routes in this order; the first response counts */
  readonly guards?: readonly Guard[];
  /** of every response */
  readonly headers?: Readonly<Record<string, string>>;
  /** a longer body is refused */
  readonly body_bytes_max?: number;
  /** answers requests that have a key; default: nothing is cached */
  readonly cache?: CacheOptions | undefined;
  /** trusted proxies in front of this server; each appends an address to x-forwarded-for */
  readonly trust_proxy_hops?: number;
  /** a connection on which nothing moves is closed, such as that of a client that does not read */
  readonly idle_ms?: number;
  /** default: all, and none is counted */
  readonly http_limits?: Limits;
  /** of requests; default: of this server alone */
  readonly starts?: Starts;
}

export interface CacheOptions {
  readonly answers: AnswerCache;
  /** requests of the same key have the same answer; undefined: the answer is never shared */
  readonly keyOf: (request: Request) => string | undefined;
}

/** Default of `idle_ms`. */
export const IDLE_MS = 60_000;
const BODY_BYTES_MAX = 16_384;

export function buildHttpApp(
  options: Omit<HttpAppOptions, 'routes'>,
  routes: readonly Route[],
): RequestListener {
  const {
    errors: shape = PLAIN_ERRORS,
    headers = {},
    idle_ms = IDLE_MS,
    http_limits: httpLimits,
  } = options;
  const replies = new Replies({ headers, shape, idle_ms });
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing');
  app.set('query parser', queryOf);
  app.set('trust proxy', options.trust_proxy_hops ?? 0);
  app.use(identify(options), ...admit(options, shape, replies));
  app.use(start(options.starts ?? new Starts(httpLimits?.starts), options.cache, replies));
  app.use(route(routes, shape, replies, options.nothingHere));
  app.use(fail(options.log, shape, replies));
  return (request, response) => {
    // Express would answer it by itself, in another shape: it is refused like this one
    if (!isAddress(request.url)) request.url = NO_ADDRESS;
    app(request, response);
  };
}

const NO_ADDRESS = '/%';

function isAddress(url = ''): boolean {
  return url.startsWith('/') || url === '*' || (/^https?:/i.test(url) && URL.canParse(url));
}

/** Without a limit on their number: an ignored parameter could not be refused. */
function queryOf(text: string): ReturnType<typeof parse> {
  return parse(text, '&', '=', { maxKeys: 0 });
}

/** Gives a request its id and client, and counts, logs and traces it once it is over. */
function identify({
  log,
  metrics,
  tracing = NO_TRACING,
  trust_proxy_hops: trustProxyHops = 0,
}: Pick<HttpAppOptions, 'log' | 'metrics' | 'tracing' | 'trust_proxy_hops'>): RequestHandler {
  const observe = observer(log, metrics);
  const nextId = requestIds();
  return (request, response, next) => {
    const client = clientOf({ ip: forwardedFor(request, trustProxyHops), socket: request.socket });
    const exchange = new Exchange(nextId(), client, response);
    request.exchange = exchange;
    // a request without a trace begins none
    const span = tracing.continued(request.method, [request]);
    // `close` comes once
    response.on('close', () => {
      observe(exchange, request, response);
      span.set('http.route', exchange.route);
      span.set('http.response.status_code', response.statusCode);
      span.end();
    });
    span.run(next);
  };
}

/** Refuses what is no proper request, and what a guard refuses; then reads the body. */
function admit(
  { guards = [], body_bytes_max = BODY_BYTES_MAX, http_limits: httpLimits }: HttpAppOptions,
  shape: ErrorShape,
  replies: Replies,
): readonly RequestHandler[] {
  const bytes = new BodyBytes(body_bytes_max, httpLimits?.bytes);
  const admitted = (request: Request, response: Response, next: NextFunction): void => {
    // its body has turned out to be no HTTP
    if (response.headersSent) return undefined;
    if (bytes.refuses(request)) return replies.fail(response, TOO_LARGE, CLOSING);
    if (request.url.includes('%') && !isDecodable(request.url)) {
      const isPath = !isDecodable(request.path);
      return replies.fail(response, (isPath ? shape.undecodable : undefined) ?? UNDECODABLE);
    }
    return next();
  };
  /** Asks the guards from this one on: at once, as long as they answer at once. */
  const ask = (from: number, request: Request, response: Response, next: NextFunction): unknown => {
    for (let at = from; at < guards.length; at++) {
      const answer = guards[at]?.(request);
      if (answer instanceof Promise)
        return answer.then((later) =>
          later === undefined
            ? ask(at + 1, request, response, next)
            : replies.send(response, later),
        );
      if (answer !== undefined) return replies.send(response, answer);
    }
    return admitted(request, response, next);
  };
  const check: RequestHandler = (request, response, next) => {
    // a body of unknown length that is not read ends with its connection
    if (request.headers['transfer-encoding'] !== undefined)
      response.setHeader('connection', 'close');
    const malformed = malformedHead(request);
    if (malformed !== undefined) return replies.fail(response, malformed, CLOSING);
    return ask(0, request, response, next);
  };
  return [check, bytes.reader()];
}

/**
 * Answers what the cache has. Else the request waits for the turn of its client; then it takes the
 * answer that is being made for another, or it is made behind this and sent here for all.
 */
function start(starts: Starts, cache: CacheOptions | undefined, replies: Replies): RequestHandler {
  return (request, response, next) => {
    const { exchange } = request;
    const key = cache?.keyOf(request);
    if (cache === undefined || key === undefined) {
      const turn = starts.next(exchange.client);
      return turn === undefined ? next() : nextAfter(turn, response, next);
    }
    const found = cache.answers.found(key);
    if (found !== undefined) return replies.send(response, found);
    const share = async (): Promise<void> => {
      if (response.destroyed) return;
      const answer = await cache.answers.answer(key, {
        client: exchange.client,
        waitsWith: (clients) => exchange.waitsWith(clients),
        make: () =>
          new Promise((resolve) => {
            exchange.giveTo(resolve);
            next();
          }),
      });
      await replies.send(response, answer);
    };
    const turn = starts.next(exchange.client);
    return turn === undefined ? share() : turn.then(share);
  };
}

async function nextAfter(
  turn: Promise<void>,
  response: Response,
  next: NextFunction,
): Promise<void> {
  await turn;
  if (!response.destroyed) next();
}

/** Answers by the route of the request; 405 for another method of its path, otherwise 404. */
function route(
  routes: readonly Route[],
  shape: ErrorShape,
  replies: Replies,
  nothingHere: HttpAppOptions['nothingHere'],
): Router {
  const router = express.Router({ caseSensitive: true });
  for (const each of routes) {
    if ('middleware' in each) {
      const enter: RequestHandler = (request, response, next) => {
        request.exchange.matched(each.path);
        response.send = (body: string | Buffer) => {
          void replies.send(response, answerIn(response, body));
          return response;
        };
        next();
      };
      router[each.method](each.path, enter, ...each.middleware);
      continue;
    }
    const { handle } = each;
    router[each.method](each.path, async (request: Request, response: Response) => {
      request.exchange.matched(each.path);
      const answer = await handle(request);
      if (!('refused' in answer)) return replies.send(response, answer);
      return replies.fail(response, refusalOf(answer, shape));
    });
  }
  for (const path of new Set(routes.map((each) => each.path))) {
    const allow = routes
      .flatMap((each) => (each.path !== path ? [] : ALLOWED[each.method]))
      .join(', ');
    router.all(path, (request, response) => {
      request.exchange.matched(path);
      const message = `this path answers ${allow} only`;
      replies.fail(response, { status: 405, code: 'method_not_allowed', message }, { allow });
    });
  }
  router.use((request, response) => {
    const answer = nothingHere?.(request);
    return answer === undefined
      ? replies.fail(response, NOTHING_HERE)
      : replies.send(response, answer);
  });
  return router;
}

/** The answer that a library has put into the response, which is left without it. */
function answerIn(response: Response, body: string | Buffer): HttpResponse {
  const { statusCode: status } = response;
  const headers: Record<string, string> = {};
  for (const name of response.getHeaderNames()) {
    // of this client alone
    if (name === 'connection') continue;
    headers[name] = String(response.getHeader(name));
    response.removeHeader(name);
  }
  const { 'content-type': content_type = JSON_TYPE, 'content-length': _bytes, ...others } = headers;
  const { is_shared, is_refusal } = response.req.exchange.marks;
  return { status, body, content_type, headers: others, is_shared, is_refusal };
}

const ALLOWED = { get: ['GET', 'HEAD'], post: ['POST'] } as const;

/** Turns what was thrown into an error response, or breaks off a response that has begun. */
function fail(log: Logger, shape: ErrorShape, replies: Replies): ErrorRequestHandler {
  return (error: unknown, { exchange }, response, _next) => {
    const failure = failureOf(error, shape);
    if (failure.status >= 500 || response.headersSent) {
      const { id: request_id, method, route: path } = exchange;
      const { status } = failure;
      log.error({ err: error, request_id, method, route: path, status }, messageOf(error));
    }
    if (!response.headersSent || exchange.is_taken) return replies.fail(response, failure);
    // a client must not take half a response for a whole one
    exchange.breaksOff(failure.status);
    breakOff(response);
  };
}

const CLOSING = { connection: 'close' } as const;
const INVALID = { status: 400, code: 'invalid_request' } as const;
const NOTHING_HERE: Failure = {
  status: 404,
  code: 'not_found',
  message: 'there is nothing at this path',
};
const UNDECODABLE: Failure = {
  ...INVALID,
  message: 'the address is not well-formed: each % must begin the hex digits of UTF-8 text',
};
const HOSTS: Failure = { ...INVALID, message: 'a request has exactly one Host header' };
const UNEXPECTED: Failure = {
  status: 417,
  code: 'invalid_request',
  message: 'the only expectation that is met is 100-continue',
};

/** RFC 9112, 3.2: one Host, which HTTP/1.0 may leave out. */
export function hostFailure({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): Failure | undefined {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts++;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0') ? undefined : HOSTS;
}

function malformedHead(request: Request): Failure | undefined {
  const { expect } = request.headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') return UNEXPECTED;
  return hostFailure(request);
}

function refusalOf({ refused: code, message }: Refusal, shape: ErrorShape): Failure {
  return { status: shape.statuses[code] ?? 400, code, message };
}

/** A bug in a handler gives 500, and the process goes on: no state is left half changed. */
function failureOf(error: unknown, shape: ErrorShape): Failure {
  if (error instanceof Fault) return shape.fault(error);
  if (error instanceof RefusedRequest) return refusalOf(error, shape);
  const status = propertyOf(error, 'status');
  if (typeof status === 'number' && status >= 400 && status < 500) {
    if (status === 413) return TOO_LARGE;
    return {
      status,
      code: 'invalid_request',
      message: STATUS_CODES[status] ?? 'the request is malformed',
    };
  }
  return { status: 500, code: 'internal_error', message: 'something is wrong on our side' };
}

function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

/** Labels of metrics: callers cannot add others. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);

/** Counts each request, and logs it at level debug. */
function observer(log: Logger, metrics: Metrics | undefined) {
  const seconds = metrics?.histogram('http_request_seconds', 'Duration of requests', [
    'route',
    'method',
    'status',
  ]);
  return (
    { id, started, method, route: path, broken_off_as: brokenOffAs }: Exchange,
    { originalUrl }: HttpRequest,
    response: ServerResponse,
  ): void => {
    const elapsed = performance.now() - started;
    // 499: the client left before the answer, or the process ended
    const status = response.writableFinished ? response.statusCode : (brokenOffAs ?? 499);
    const label = METHODS.has(method) ? method : 'other';
    seconds?.observe({ route: path, method: label, status }, elapsed / 1_000);
    if (!log.isLevelEnabled('debug')) return;
    const ms = Number(elapsed.toFixed(2));
    const url = originalUrl.slice(0, 200);
    log.debug({ request_id: id, method, url, route: path, status, ms }, 'request');
  };
}
