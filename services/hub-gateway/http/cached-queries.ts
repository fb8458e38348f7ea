/**
 * The hot path: anonymous queries with a cached response are answered in front of Express. Only
 * plain requests take it. All others, and those without a cached response, go on to the
 * application.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AnswerCache, KeptResponse } from '../../runtime/http/answer-cache.ts';
import { isLong, type InFlight } from '../../runtime/http/app.ts';
import { clientOf, forwardedFor } from '../../runtime/http/client-address.ts';
import { corsHeaders, JSON_TYPE } from '../../runtime/http/handler.ts';
import type { RateLimit } from '../../runtime/http/rate-limit.ts';
import type { HttpOptions } from '../../runtime/http/server.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import { GRAPHQL_PATH } from '../config.ts';

/** A longer body is never one that many clients send. */
const BODY_CHARACTERS_MAX = 4_096;
const ACCEPT_CHARACTERS_MAX = 256;

/** On every response of the hub. */
export const CORS_HEADERS = corsHeaders('etag, retry-after, x-request-id');
const HEADERS = {
  ...CORS_HEADERS,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** The whole body as text, or why there is none. */
export type Body = string | Refusal;

const TOO_LARGE: Refusal = { refused: 'too_large', message: 'the body is too large' };
const NOT_UTF8: Refusal = { refused: 'invalid_request', message: 'the body is not UTF-8' };

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bodies that were read here, for the application, which cannot read them again. */
const bodies = new WeakMap<IncomingMessage, Body>();

export function bodyReadBefore(request: IncomingMessage): Body | undefined {
  return bodies.get(request);
}

/**
 * The cache key of a request; undefined when its response may depend on the caller. `body`: or
 * everything of a GET that matters.
 */
export function cacheKey(
  { authorization, accept = '' }: IncomingHttpHeaders,
  body: string,
): string | undefined {
  const isShared =
    authorization === undefined &&
    body.length <= BODY_CHARACTERS_MAX &&
    accept.length <= ACCEPT_CHARACTERS_MAX;
  return isShared ? `${accept}\n${body}` : undefined;
}

export function cachedQueries({
  cache,
  rate,
  trust_proxy_hops: hops,
  now,
}: {
  readonly cache: Pick<AnswerCache, 'find'>;
  /** undefined: no limit */
  readonly rate: RateLimit | undefined;
  readonly trust_proxy_hops: number;
  /** ms of a monotonic clock */
  readonly now: () => number;
}): NonNullable<HttpOptions['front']> {
  const mayPass = (request: IncomingMessage): boolean => {
    if (rate === undefined) return true;
    const client = clientOf({ ip: forwardedFor(request, hops), socket: request.socket });
    return rate.take(client, now()) === 0;
  };
  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    context: InFlight,
    body: string,
  ): boolean => {
    const key = cacheKey(request.headers, `POST ${body}`);
    const cached = key === undefined ? undefined : cache.find(key);
    // the application sends long bodies in pieces, and refuses beyond the rate limit
    if (cached === undefined || isLong(cached.body) || !mayPass(request)) return false;
    context.route = GRAPHQL_PATH;
    const { head, body: bytes } = wireFormOf(cached);
    response.writeHead(cached.status, [...head, 'x-request-id', context.id]).end(bytes);
    return true;
  };
  return (request, response, context, next) => {
    if (!isPlain(request)) return next();
    takeBody(request, BODY_CHARACTERS_MAX, (body) => {
      // the client disconnected
      if (body === undefined) return void response.destroy();
      if (typeof body === 'string' && answer(request, response, context, body)) return;
      bodies.set(request, body);
      next();
    });
  };
}

type WireForm = Readonly<{ head: readonly string[]; body: Buffer }>;
/** Encoded once for all requests, since encoding is slow; `head`: names and values in turns. */
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

/** The client disconnected in the middle of its body. */
class BodyAborted extends Error {
  override readonly name = 'BodyAborted';
  readonly status = 400;
}

/** Rejects when the client disconnects. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Body> {
  return new Promise((resolve, reject) => collect(request, [], bytesMax, resolve, reject));
}

/**
 * Reads a body as `readBody` does. A body that came with its headers is taken without stream
 * events, which cost more than the rest of a cached response. `done` is also called with undefined
 * when the client disconnects.
 */
function takeBody(
  request: IncomingMessage,
  bytesMax: number,
  done: (body: Body | undefined) => void,
): void {
  // by then everything that came with the headers is parsed, but for the end of the message
  process.nextTick(() => {
    const bytes: unknown = request.read();
    const chunks = Buffer.isBuffer(bytes) ? [bytes] : [];
    const length = chunks[0]?.length ?? 0;
    if (length === Number(request.headers['content-length']))
      return done(bodyOf(chunks, length, bytesMax));
    return collect(request, chunks, bytesMax, done, () => done(undefined));
  });
}

function collect(
  request: IncomingMessage,
  chunks: Buffer[],
  bytesMax: number,
  done: (body: Body) => void,
  failed: (error: BodyAborted) => void,
): void {
  let bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  });
  request.once('end', () => done(bodyOf(chunks, bytes, bytesMax)));
  request.once('error', (cause) => failed(new BodyAborted('the body was broken off', { cause })));
}

function bodyOf(chunks: readonly Buffer[], bytes: number, bytesMax: number): Body {
  if (bytes > bytesMax) return TOO_LARGE;
  try {
    return UTF8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  } catch {
    return NOT_UTF8;
  }
}
