/**
 * The fast path: queries whose answer is kept are answered before anything else is done for them. It takes only requests of the plainest kind, with what the application
 * would have looked at; all others, and all whose answer is not there, go on to the application as they came.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AnswerCache, KeptResponse } from '../../runtime/http/answer-cache.ts';
import { JSON_TYPE } from '../../runtime/http/handler.ts';
import { corsHeaders } from '../../runtime/http/cors.ts';
import type { InFlight } from '../../runtime/http/app.ts';
import type { HttpOptions } from '../../runtime/http/server.ts';
import { clientOf, forwardedFor } from '../../runtime/http/client-address.ts';
import type { RateLimit } from '../../runtime/http/rate-limit.ts';
import { GRAPHQL_PATH } from './paths.ts';
import { takeBody } from './request-body.ts';

/** A longer body is never one that many send. */
const BODY_CHARACTERS_MAX = 4_096;
const ACCEPT_CHARACTERS_MAX = 256;

/** Of every answer of the hub. */
export const CORS_HEADERS = corsHeaders('retry-after, x-request-id');
const HEADERS = {
  ...CORS_HEADERS,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

export interface FrontOptions {
  readonly cache: Pick<AnswerCache, 'find'>;
  /** undefined: no limit */
  readonly rate: RateLimit | undefined;
  readonly trust_proxy_hops: number;
  /** ms of a clock that never goes back */
  readonly now: () => number;
}

/** Bodies that were read here, for the application, which cannot read them again. */
const bodies = new WeakMap<IncomingMessage, string>();

export function knownBody(request: IncomingMessage): string | undefined {
  return bodies.get(request);
}

/** Under which the answer to a body is kept; undefined: under nothing, since it may be somebody's own. */
export function keptKey(
  { authorization, accept = '' }: IncomingHttpHeaders,
  body: string,
): string | undefined {
  const isShared =
    authorization === undefined &&
    body.length <= BODY_CHARACTERS_MAX &&
    accept.length <= ACCEPT_CHARACTERS_MAX;
  return isShared ? `${accept}\n${body}` : undefined;
}

export function keptAnswers({
  cache,
  rate,
  trust_proxy_hops: hops,
  now,
}: FrontOptions): NonNullable<HttpOptions['front']> {
  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    context: InFlight,
    body: string,
  ): boolean => {
    const key = keptKey(request.headers, body);
    const kept = key === undefined ? undefined : cache.find(key);
    if (kept === undefined) return false;
    // the application refuses it, in its own words
    if (
      rate !== undefined &&
      rate.take(clientOf({ ip: forwardedFor(request, hops), socket: request.socket }), now()) > 0
    )
      return false;
    context.route = GRAPHQL_PATH;
    const { head, body: bytes } = wireFormOf(kept);
    response.writeHead(kept.status, [...head, 'x-request-id', context.id]).end(bytes);
    return true;
  };
  return (request, response, context, next) => {
    if (!isPlain(request)) return next();
    takeBody(request, BODY_CHARACTERS_MAX, (body) => {
      // the client is gone
      if (body === undefined) return void response.destroy();
      if (answer(request, response, context, body)) return;
      bodies.set(request, body);
      next();
    });
  };
}

interface WireForm {
  /** names and values of the headers, in turns */
  readonly head: readonly string[];
  readonly body: Buffer;
}

/** Encoded once for each cached response: encoding it for each request would cost more than all the rest. */
const wireForms = new WeakMap<KeptResponse, WireForm>();

function wireFormOf(cached: KeptResponse): WireForm {
  const known = wireForms.get(cached);
  if (known !== undefined) return known;
  const { content_type: type = JSON_TYPE, body: text } = cached;
  const body = Buffer.from(text);
  const headers = { ...HEADERS, 'content-type': type, 'content-length': String(body.length) };
  const wireForm = { head: Object.entries(headers).flat(), body };
  wireForms.set(cached, wireForm);
  return wireForm;
}

function isPlain({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    url === GRAPHQL_PATH &&
    headers.authorization === undefined &&
    headers['content-type'] === 'application/json' &&
    headers['transfer-encoding'] === undefined &&
    Number(headers['content-length'] ?? Number.NaN) <= BODY_CHARACTERS_MAX
  );
}
