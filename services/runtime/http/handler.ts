/** Routes and requests of HTTP handlers, and how they refuse. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Request, RequestHandler } from 'express';
import type { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import type { HttpResponse } from './response.ts';
import type { Fault, Refusal } from '../process/errors.ts';

/** Why a request is not served, before it takes the service's shape. */
export interface Failure {
  readonly status: number;
  /**
   * the reason of a refusal, the code of a fault, or: not_found, method_not_allowed,
   * invalid_request, too_large, not_ready, internal_error
   */
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The error responses of a service. */
export interface ErrorShape {
  /** the HTTP status of each reason */
  readonly statuses: Readonly<Record<string, number>>;
  /** never with the fault's message, which may name hosts */
  readonly fault: (fault: Fault) => Failure;
  /** for a path whose % sequences are not UTF-8; default: 400 */
  readonly undecodable?: Failure;
  /** the body, JSON text */
  readonly body: (failure: Failure) => string;
}

/** The part of Express' request that a handler reads. */
export interface HttpRequest {
  readonly method: string;
  /** without the query */
  readonly path: string;
  /** the URL as sent */
  readonly originalUrl: string;
  /** as `node:querystring` parses it: a repeated parameter is an array */
  readonly query: Readonly<Record<string, unknown>>;
  /** the named parts of the route's path */
  readonly params: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  readonly exchange: Pick<Exchange, 'client' | 'waiting'>;
}

export type Answered = HttpResponse | Refusal;
/** An `Answer` is made once for all requests. */
type Served = Answered | Answer;

/** Serves HEAD as well. */
export interface GetRoute {
  readonly method: 'get';
  /** Express' template, also the label in metrics */
  readonly path: string;
  readonly handle: (request: HttpRequest) => Served | Promise<Served>;
}

export interface PostRoute {
  readonly method: 'post';
  readonly path: string;
  /** `body`: the bytes of one that was sent as JSON, otherwise undefined */
  readonly handle: (request: Request) => Served | Promise<Served>;
}

/** Thrown by middleware to refuse a request, which a handler does by its value. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
  /** a reason of the `ErrorShape` */
  readonly refused: string;

  constructor(refused: string, message: string) {
    super(message);
    this.refused = refused;
  }
}

/** Answered by middleware of a library, which calls `send` of Express' response. */
export interface MountedRoute {
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly middleware: readonly RequestHandler[];
}

export type Route = GetRoute | PostRoute | MountedRoute;

/** Answers in place of the route, or lets the request pass. */
export type Guard = (
  request: HttpRequest,
) => HttpResponse | undefined | Promise<HttpResponse | undefined>;

/** `{code, message}`, faults as 503. */
export const PLAIN_ERRORS: ErrorShape = {
  statuses: { invalid_request: 400, not_found: 404 },
  fault: ({ code }) => ({ status: 503, code, message: 'temporarily unavailable; try again later' }),
  body: ({ code, message }) => JSON.stringify({ code, message }),
};

/**
 * The headers of every response; a page may read those that are `exposed`, and the server's time.
 * Any web page may read: no service uses cookies, and a page sends its token itself. Source: Fetch
 * standard, "CORS protocol". They never change, so the package cors, which sets each anew, would
 * only cost time.
 */
export function corsHeaders(exposed: string): Readonly<Record<string, string>> {
  return {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': `date, ${exposed}`,
  };
}

/** Answers a browser's OPTIONS request before a request that a form could not send. */
export function preflight(methods: string): Guard {
  const answer: HttpResponse = {
    status: 204,
    body: '',
    headers: {
      'access-control-allow-methods': methods,
      // the wildcard does not include authorization
      'access-control-allow-headers': 'authorization, *',
      'access-control-max-age': '86400',
    },
  };
  return ({ method, headers }) =>
    method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
      ? answer
      : undefined;
}
