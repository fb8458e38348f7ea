/**
 * POST and GET /graphql: the body, the document, and Apollo's own middleware for Express; GraphiQL
 * for browsers. Other caches may keep the answers to GET that depend on no token.
 */
import { expressMiddleware } from '@as-integrations/express5';
import type { Request, RequestHandler } from 'express';
import { turnOf } from '../../runtime/limits/clients.ts';
import { RefusedRequest, type Guard, type Route } from '../../runtime/http/handler.ts';
import { jsonIn } from '../../runtime/http/json-body.ts';
import type { HttpResponse } from '../../runtime/http/response.ts';
import { GRAPHQL_PATH, SOCKET_PATH } from '../config.ts';
import { graphiql } from './graphiql.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import type { Callers } from '../graphql/authentication.ts';
import { errorBody, TEXT_NEEDED } from '../graphql/errors.ts';
import { SUBSCRIPTIONS_HERE, type OperationContext, type Pipeline } from '../graphql/pipeline.ts';

/** Room for the hex of the largest transaction and the operation around it. */
export const BODY_BYTES_MAX = 320 * 1024;

/** A longer body or header is never one that many clients send. */
const KEY_BYTES_MAX = 4_096;
const ACCEPT_CHARACTERS_MAX = 256;

/** The cache key of a request; undefined when its answer may depend on the caller. */
export function cacheKeyOf({
  method,
  path,
  originalUrl,
  headers,
  body,
}: Request): string | undefined {
  const { authorization, accept = '' } = headers;
  if (path !== GRAPHQL_PATH || authorization !== undefined) return undefined;
  if (accept.length > ACCEPT_CHARACTERS_MAX) return undefined;
  if (method === 'GET') {
    if (originalUrl.length > KEY_BYTES_MAX) return undefined;
    // Apollo refuses a GET of another type than JSON
    return `GET ${originalUrl}\n${accept}\n${headers['content-type'] ?? ''}`;
  }
  if (method !== 'POST' || !Buffer.isBuffer(body) || body.length > KEY_BYTES_MAX) return undefined;
  const text = body.toString('latin1');
  // no mutation shares a response; with an escape the text may be one
  return text.includes('mutation') || text.includes('\\u') ? undefined : `${accept}\n${text}`;
}

/** The types of answers. */
const TYPES = ['application/json', 'application/graphql-response+json'].flatMap((type) => [
  type,
  `${type}; charset=utf-8`,
]);
const SOCKETS_HERE: Refusal = {
  refused: 'not_found',
  message: `this is the path of WebSockets, with the subprotocol graphql-transport-ws: send queries and mutations to ${GRAPHQL_PATH}`,
};
/** The package graphql-sse begins with PUT there, where all operations share a connection. */
const STREAM_PATH = `${GRAPHQL_PATH}/stream`;
const NO_STREAMS: HttpResponse = {
  status: 404,
  body: errorBody(
    'NOT_FOUND',
    `there are no server-sent events here: ${SUBSCRIPTIONS_HERE}; queries and mutations are at ${GRAPHQL_PATH}`,
  ),
};

/** Before the routes, since it answers every method. */
export const noStreams: Guard = ({ path }) => (path === STREAM_PATH ? NO_STREAMS : undefined);

export interface GraphqlOptions {
  readonly pipeline: Pipeline;
  readonly introspection: boolean;
  readonly callers: Callers;
}

export function graphqlRoutes({
  pipeline,
  introspection,
  callers,
}: GraphqlOptions): readonly Route[] {
  const context = async ({
    req: request,
  }: {
    readonly req: Request;
  }): Promise<OperationContext> => {
    const { exchange } = request;
    const { client } = exchange;
    const caller = await callers.of(request);
    const asker = {
      caller,
      client,
      clients: () => exchange.waiting(turnOf(client, caller?.account)),
      refuses: () => exchange.markRefusal(),
      // another cache would give its answer to callers whose token is valid
      ...(request.headers.authorization === undefined && {
        shares: () => exchange.markShared(),
      }),
    };
    const { query: text, operationName } = parametersOf(request);
    const read =
      typeof text === 'string' && text !== ''
        ? pipeline.readOverHttp(text, operationName)
        : undefined;
    return pipeline.contextOf(asker, read);
  };
  const apollo = expressMiddleware(pipeline.server, { context });
  return [
    {
      method: 'post',
      path: GRAPHQL_PATH,
      middleware: [parseBody, textAtLeast, jsonAtLeast, apollo],
    },
    {
      method: 'get',
      path: GRAPHQL_PATH,
      middleware: introspection
        ? [headAsGet, graphiql(), textAtLeast, jsonAtLeast, apollo]
        : [headAsGet, textAtLeast, jsonAtLeast, apollo],
    },
    { method: 'get', path: SOCKET_PATH, handle: () => SOCKETS_HERE },
    { method: 'post', path: SOCKET_PATH, handle: () => SOCKETS_HERE },
  ];
}

/** Apollo refuses HEAD. Node leaves the body out, since the request was HEAD when it came. */
const headAsGet: RequestHandler = (request, _response, next) => {
  request.method = 'GET';
  next();
};

function parametersOf({ method, body, query }: Request): Readonly<Record<string, unknown>> {
  return method === 'POST' ? Object(body) : query;
}

/** Apollo would name a hash as another way; it refuses one itself, in words that clients know. */
const textAtLeast: RequestHandler = (request, _response, next) => {
  const { query: text, extensions } = parametersOf(request);
  // of a GET the text; written as one, extensions of a POST could be too deep for the stack
  const isHash =
    typeof extensions === 'string'
      ? extensions.includes('persistedQuery')
      : 'persistedQuery' in Object(extensions);
  if ((text === undefined || text === null || text === '') && !isHash)
    throw new RefusedRequest('invalid_request', TEXT_NEEDED);
  next();
};

/** Apollo would tell a client that takes streams or pages alone nothing but that. */
const jsonAtLeast: RequestHandler = (request, _response, next) => {
  if (request.accepts(TYPES) === false) delete request.headers.accept;
  next();
};

/** The bytes of the body become JSON. */
const parseBody: RequestHandler = (request, _response, next) => {
  if (!Buffer.isBuffer(request.body))
    throw new RefusedRequest(
      'unsupported_media_type',
      'send the operation as JSON, with content-type application/json',
    );
  const read = jsonIn(request.body);
  if ('not' in read) throw new RefusedRequest('invalid_request', `the body is not ${read.not}`);
  if (Array.isArray(read.json))
    throw new RefusedRequest('invalid_request', 'a request holds one operation: do not batch them');
  request.body = read.json;
  next();
};
