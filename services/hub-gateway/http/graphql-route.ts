/**
 * POST and GET /graphql: the cache, Apollo behind it, and GraphiQL for browsers. Other caches may
 * keep the answers to GET that depend on no token.
 */
import { createHash } from 'node:crypto';
import type { Request } from 'express';
import type { AnswerCache, Made } from '../../runtime/http/answer-cache.ts';
import { AT_HEAD } from '../../runtime/http/cacheable.ts';
import { clientOf } from '../../runtime/http/client-address.ts';
import type { FairStarts } from '../../runtime/http/fair-starts.ts';
import type { GetRoute, HttpResponse, Route } from '../../runtime/http/handler.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import { GRAPHQL_PATH, SOCKET_PATH } from '../config.ts';
import type { Asker, GraphqlRequest } from '../graphql/apollo.ts';
import { callerOf } from '../graphql/authentication.ts';
import { Clients } from '../graphql/turns.ts';
import { bodyReadBefore, cacheKey, readBody } from './cached-queries.ts';

/** Room for the hex of the largest transaction and the operation around it. */
export const BODY_BYTES_MAX = 320 * 1024;

/** Characters of a body, beside its longest text. */
const BESIDE_TEXT_CHARACTERS_MAX = 16_384;

export interface GraphqlOptions {
  readonly answer: (request: GraphqlRequest, from: Asker) => Promise<Made>;
  readonly cache: AnswerCache;
  readonly starts: FairStarts;
  readonly jwt_secret: string;
  /** Unix milliseconds */
  readonly now: () => number;
}

type Response = HttpResponse | Refusal;

export function graphqlRoutes(options: GraphqlOptions): readonly Route[] {
  const { cache, starts, jwt_secret: secret, now } = options;
  const page = new GraphiqlPage();
  const make = async (
    request: GraphqlRequest,
    client: string,
    clients = new Clients([client]),
  ): Promise<Made> => {
    const caller = await callerOf(request.headers.authorization, secret, now());
    return options.answer(request, { caller, client, clients });
  };
  /** the clients that each answer in the making is for, by key */
  const making = new Map<string, Clients>();
  const shared = async (
    key: string,
    client: string,
    makeFor: (clients: Clients) => Promise<Made>,
  ): Promise<Response> => {
    const makeShared = async (): Promise<Made> => {
      const clients = new Clients([client]);
      making.set(key, clients);
      try {
        return await makeFor(clients);
      } finally {
        if (making.get(key) === clients) making.delete(key);
      }
    };
    // else it would wait as long as the client that asked first
    const joins = (): void => making.get(key)?.add(client);
    return await cache.answer(key, makeShared, joins);
  };

  const post = async (request: Request): Promise<Response> => {
    const { headers } = request;
    if (!isJson(headers['content-type'])) return NOT_JSON;
    const text = bodyReadBefore(request) ?? (await readBody(request, BODY_BYTES_MAX));
    if (typeof text !== 'string') return text;
    const client = clientOf(request);
    // what the body asks for starts apart from the reading of the body
    await starts.next(client);
    const key = cacheKey(headers, `POST ${text}`);
    const cached = key === undefined ? undefined : cache.find(key);
    if (cached !== undefined) return cached;
    const parsed = parseJson(text);
    if (parsed === undefined) return NO_JSON_TEXT;
    if (isTooLarge(text, parsed.value)) return TOO_LARGE;
    const asked: GraphqlRequest = { method: 'POST', headers, search: '', body: parsed.value };
    if (key === undefined || !canBeQuery(parsed.value)) return (await make(asked, client)).answer;
    return shared(key, client, (clients) => make(asked, client, clients));
  };

  const get: GetRoute['handle'] = async (request) => {
    const { headers, originalUrl } = request;
    const at = originalUrl.indexOf('?');
    const search = at === -1 ? '' : originalUrl.slice(at);
    const asked: GraphqlRequest = { method: 'GET', headers, search, body: undefined };
    const client = clientOf(request);
    const makeForCaches = async (clients?: Clients): Promise<Made> => {
      const { answer, isShared } = await make(asked, client, clients);
      return { answer: isShared ? forCaches(answer) : answer, isShared };
    };
    const key = cacheKey(
      headers,
      [`GET ${search}`, ...CSRF_HEADERS.map((name) => headers[name])].join('\n'),
    );
    const answer =
      key === undefined
        ? (await make(asked, client)).answer
        : await shared(key, client, makeForCaches);
    // Apollo recognizes browsers, where introspection is on
    const isPage = 'content_type' in answer && answer.content_type === 'text/html';
    return isPage ? page.response() : answer;
  };
  return [
    { method: 'post', path: GRAPHQL_PATH, handle: post },
    { method: 'get', path: GRAPHQL_PATH, handle: get },
  ];
}

/** Apollo refuses a GET that a form or an image could send, which has none of these. */
const CSRF_HEADERS = ['content-type', 'apollo-require-preflight', 'x-apollo-operation-name'];

function forCaches(answer: Response): Response {
  if ('refused' in answer) return answer;
  const headers = { ...answer.headers, 'cache-control': AT_HEAD, vary: 'accept' };
  return { ...answer, headers };
}

const NOT_JSON: Refusal = {
  refused: 'unsupported_media_type',
  message: 'send the operation as JSON, with content-type application/json',
};
const TOO_LARGE: Refusal = { refused: 'too_large', message: 'the body is too large' };
const NO_JSON_TEXT: Refusal = { refused: 'invalid_request', message: 'the body is not JSON' };

function isJson(type: string | undefined): boolean {
  return type === 'application/json' || /^application\/json *(?:;|$)/i.test(type ?? '');
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Room for one text, which may be a transaction; what is beside it is parsed and checked. */
function isTooLarge(text: string, body: unknown): boolean {
  if (text.length <= BESIDE_TEXT_CHARACTERS_MAX) return false;
  const { variables, query } = Object(body);
  const texts = [query, ...Object.values(Object(variables))];
  const longest = texts.reduce<number>(
    (most, each) => (typeof each === 'string' ? Math.max(most, each.length) : most),
    0,
  );
  return text.length - longest > BESIDE_TEXT_CHARACTERS_MAX;
}

/** False for every mutation, which contains the word: it must never share a response. */
function canBeQuery(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    'query' in body &&
    typeof body.query === 'string' &&
    !body.query.includes('mutation')
  );
}

const EXAMPLE = `# Headers take the token of generateToken:
# {"Authorization": "Bearer <token>"}

query Market {
  chainInfo { chainId txFee totalSupply }
  listRideRequests { txHash fare passengerAddress }
}

subscription Requests {
  rideRequestsUpdated { txHash fare }
}
`;

const GRAPHIQL_OPTIONS = {
  title: 'Hub',
  endpoint: GRAPHQL_PATH,
  // graphql-transport-ws
  subscriptionsProtocol: 'WS',
  subscriptionsEndpoint: SOCKET_PATH,
  defaultQuery: EXAMPLE,
  // a token is a secret: it ends with the page
  shouldPersistHeaders: false,
} as const;

/** GraphiQL, for networks with introspection: one page that loads nothing from other servers. */
class GraphiqlPage {
  #response: Promise<HttpResponse> | undefined;

  /** Made at the first request: the bundle has 9 MB. */
  response(): Promise<HttpResponse> {
    return (this.#response ??= render().catch((error: unknown) => {
      this.#response = undefined;
      throw error;
    }));
  }
}

async function render(): Promise<HttpResponse> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL(GRAPHIQL_OPTIONS);
  const script = html.slice(html.indexOf('<script>') + 8, html.lastIndexOf('</script>'));
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    // the editor runs its language services in workers, and writes its styles at run time
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'font-src data:',
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    status: 200,
    content_type: 'text/html; charset=utf-8',
    headers: { 'content-security-policy': policy.join('; ') },
    body: Buffer.from(html),
  };
}
