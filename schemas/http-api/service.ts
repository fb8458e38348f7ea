/** Parts of the OpenAPI documents of all services: headers, and the routes of `runtime/http`. */
import { Type, type TSchema } from 'typebox';
import { record, type Json } from './answer.ts';
import { json, type Answer, type Header, type Operation, type Schema } from './document.ts';

export type Answers = Readonly<Record<number, Answer | string>>;

export function header(
  description: string,
  schema: Schema,
  example: Json,
  required = true,
): Header {
  return { description, required, schema: { type: 'string', ...schema }, example };
}

export const RETRY_SECONDS: Schema = { pattern: '^[1-9][0-9]*$' };

export const HEADERS = {
  RequestId: header(
    'Identifies the request in the log of the service; quote it in a report.',
    { minLength: 1 },
    '6f1d2c3b4a59-1',
  ),
  ETag: header(
    'A hash of the body. If-None-Match with it is answered 304 while the body is the same.',
    { pattern: '^W/"[A-Za-z0-9_-]{27}"$' },
    'W/"L9ThxnotKPzthJ7hu3bnORuT6xI"',
  ),
  Vary: header(
    'The content coding depends on the request.',
    { const: 'accept-encoding' },
    'accept-encoding',
  ),
  RetryAfter: header('Seconds to wait before the next request.', RETRY_SECONDS, '1'),
  CacheControl: header(
    'How long caches may keep the answer.',
    { pattern: '^public, max-age=' },
    'public, max-age=300',
  ),
};

type Names = Readonly<Record<string, string>>;

/** Makes answers with these headers; the body of an error is of this schema. */
export function answering(
  on_all: Names,
  schema: TSchema,
  bodyOf: (code: string, message: string) => Json,
) {
  const on_cached = { ...on_all, 'cache-control': 'CacheControl', etag: 'ETag', vary: 'Vary' };
  const error = (
    description: string,
    code: string,
    message: string,
    headers: Names = {},
  ): Answer => ({
    description,
    headers: { ...on_all, ...headers },
    content: json(schema, { example: bodyOf(code, message) }),
  });
  return {
    on_cached,
    error,
    uncached: (description: string, content: Answer['content']): Answers => ({
      200: { description, headers: on_all, content },
    }),
    /** Answers that caches may keep, asking whether they have changed. */
    cached: (description: string, content: Answer['content']): Answers => ({
      200: { description, headers: on_cached, content },
      304: 'NotModified',
    }),
    /** answers that `runtime/http` gives by itself */
    shared: {
      NotModified: {
        description: 'The body is still the one that If-None-Match names.',
        headers: on_cached,
        content: {},
      },
      MethodNotAllowed: error(
        'The path does not support this method.',
        'method_not_allowed',
        'this path answers GET, HEAD only',
        { allow: 'Allow' },
      ),
      TooLarge: error(
        'The body of the request is too large.',
        'too_large',
        'the body is too large',
      ),
      RateLimited: error(
        'Too many requests from this client.',
        'rate_limited',
        'too many requests: try again in 1 s',
        { 'retry-after': 'RetryAfter' },
      ),
      InternalError: error('Internal error.', 'internal_error', 'something is wrong on our side'),
    },
  };
}

/** Makes the answer of a status of its own, and of those that belong to it. */
type Answering = (description: string, content: Answer['content']) => Answers;

/** `ready`: in the words of the service, and the answer while it is not. */
export function serviceOperations(
  uncached: Answering,
  cached: Answering,
  ready: { readonly operationId: string; readonly summary: string; readonly unready: string },
): readonly Operation[] {
  const health = record('Health', { status: Type.Literal('ok') });
  const readiness = record('Ready', { status: Type.Literal('ready') });
  const service = { tag: 'Service', parameters: [], is_open: true };
  return [
    {
      ...service,
      path: '/health',
      operationId: 'getHealth',
      summary: 'Whether the process runs',
      answers: uncached('The process runs.', json(health)),
    },
    {
      ...service,
      path: '/ready',
      operationId: ready.operationId,
      summary: ready.summary,
      answers: { ...uncached('The service is ready.', json(readiness)), 503: ready.unready },
    },
    {
      ...service,
      path: '/openapi.json',
      operationId: 'getOpenApi',
      summary: 'This document',
      answers: cached('OpenAPI 3.1.', json(Type.Unsafe({ type: 'object' }), {})),
    },
    {
      ...service,
      path: '/docs',
      operationId: 'getDocs',
      summary: 'This document as a page for people',
      answers: cached('Swagger UI.', { 'text/html': { schema: Type.String() } }),
    },
  ];
}
