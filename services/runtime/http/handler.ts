/** What an HTTP handler hears and says, as values; `http-app.ts` puts them on the wire. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import type { Fault, Refusal } from '../process/errors.ts';

/**
 * An answer; `body` is the finished text, or the bytes of one that is sent often, or its pieces, each made when the client has taken the one before: see `streamed-body.ts`. What the first piece throws
 * becomes an error answer, what a later one throws breaks the answer off. `return` of the pieces' iterator is called in every case, also when none was wanted.
 */
export interface HttpResponse {
  readonly status: number;
  readonly body: string | Buffer | AsyncIterable<string>;
  /** JSON when not given */
  readonly content_type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why a request is not served, before a service gives it its own shape. */
export interface Failure {
  readonly status: number;
  /** a refusal's reason, or: not_found, method_not_allowed, invalid_request, too_large, not_ready, a fault's code, internal_error */
  readonly code: string;
  readonly message: string;
}

/** What is a service's own about its error answers. */
export interface ErrorShape {
  /** the HTTP status of each reason of a refusal */
  readonly statuses: Readonly<Record<string, number>>;
  /** what a caller learns of a fault: never its message, which may name hosts */
  readonly fault: (fault: Fault) => Failure;
  /** for an address whose % sequences are no text; 400 when not given */
  readonly undecodable?: Failure;
  /** the body, JSON text */
  readonly body: (failure: Failure) => string;
}

/** What handlers and guards see of a request. */
export interface HttpRequest {
  readonly method: string;
  /** of the address, without its parameters */
  readonly path: string;
  /** the address as it came */
  readonly originalUrl: string;
  /** its parameters as `node:querystring` gives them: a repeated one is an array */
  readonly query: Readonly<Record<string, unknown>>;
  /** the parts of the path that the route names */
  readonly params: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  /** the client's address, as a trusted proxy says if there is one */
  readonly ip?: string | undefined;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

type Answered = HttpResponse | Refusal | Promise<HttpResponse | Refusal>;

/** Answers HEAD as well. */
export interface GetRoute {
  readonly method: 'get';
  /** Express' template, also the label in metrics */
  readonly path: string;
  readonly handle: (asked: HttpRequest) => Answered;
}

export interface PostRoute {
  readonly method: 'post';
  readonly path: string;
  /** reads the body itself */
  readonly handle: (request: Request) => Answered;
}

export type Route = GetRoute | PostRoute;

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

export const JSON_TYPE = 'application/json; charset=utf-8';
