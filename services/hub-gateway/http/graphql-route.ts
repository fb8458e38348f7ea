/** POST and GET /graphql: the fast path, and behind it Apollo. */
import type { Request } from 'express';
import type { AnswerCache } from '../../runtime/http/answer-cache.ts';
import type { HttpResponse, Route } from '../../runtime/http/handler.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import type { Answer, Apollo, HttpRequest } from '../graphql/apollo.ts';
import { callerOf, type TokenSettings } from './callers.ts';
import { EXPLORE_POLICY } from './explore-page.ts';
import type { Hub } from '../hub.ts';
import { keptKey, knownBody } from './front.ts';
import { GRAPHQL_PATH } from './paths.ts';
import { readBody } from './request-body.ts';

/** Room for the hex of the largest transaction, and what stands around it. */
export const BODY_BYTES_MAX = 320 * 1024;

export interface GraphqlOptions {
  readonly apollo: Apollo;
  readonly hub: Hub;
  readonly cache: AnswerCache;
  readonly tokens: TokenSettings;
  /** Unix milliseconds */
  readonly now: () => number;
}

type Answered = HttpResponse | Refusal;

export function graphqlRoutes({
  apollo,
  hub,
  cache,
  tokens,
  now,
}: GraphqlOptions): readonly Route[] {
  const make = async (asked: HttpRequest): Promise<Answer> => {
    const caller = await callerOf(asked.headers.authorization, tokens, now());
    return apollo.answer(asked, { hub, caller });
  };

  const post = async (request: Request): Promise<Answered> => {
    const { headers } = request;
    if (!isJson(headers['content-type'])) return NOT_JSON;
    const text = knownBody(request) ?? (await readBody(request, BODY_BYTES_MAX));
    if (text === undefined) return TOO_LARGE;
    const key = keptKey(headers, text);
    const kept = key === undefined ? undefined : cache.find(key);
    if (kept !== undefined) return kept;
    const body = parsed(text);
    if (body === undefined) return NO_JSON_TEXT;
    const asked: HttpRequest = { method: 'POST', headers, search: '', body: body.value };
    if (key === undefined || !canBeQuery(body.value)) return (await make(asked)).answer;
    return cache.answer(key, () => make(asked));
  };
  const get = async ({
    headers,
    originalUrl,
  }: Pick<Request, 'headers' | 'originalUrl'>): Promise<Answered> => {
    const at = originalUrl.indexOf('?');
    const { answer } = await make({
      method: 'GET',
      headers,
      search: at < 0 ? '' : originalUrl.slice(at),
      body: undefined,
    });
    if (answer.content_type !== 'text/html') return answer;
    return {
      ...answer,
      content_type: 'text/html; charset=utf-8',
      headers: { 'content-security-policy': EXPLORE_POLICY },
    };
  };
  return [
    { method: 'post', path: GRAPHQL_PATH, handle: post },
    { method: 'get', path: GRAPHQL_PATH, handle: get },
  ];
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

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Mutations carry their word: what has it is never answered with another's answer. */
function canBeQuery(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    'query' in body &&
    typeof body.query === 'string' &&
    !body.query.includes('mutation')
  );
}
