/** Documents of services whose errors are `{code, message}`. */
import { Type } from 'typebox';
import { record } from './answer.ts';
import { openApi, type Answer, type Api, type OpenApi } from './document.ts';
import {
  answering,
  header,
  HEADERS,
  RETRY_SECONDS,
  serviceOperations,
  type Answers,
} from './service.ts';

const ERROR = record('Error', {
  code: Type.String({ pattern: '^[a-z_]+$', description: 'Stable, for programs.' }),
  message: Type.String({ minLength: 1, description: 'For people: what to do.' }),
});
const { shared, ...kinds } = answering({ 'x-request-id': 'RequestId' }, ERROR, (code, message) => ({
  code,
  message,
}));
export const { error } = kinds;

const ALWAYS: Answers = {
  400: 'Invalid',
  413: 'TooLarge',
  429: 'RateLimited',
  500: 'InternalError',
  503: 'Unavailable',
};

export function uncached(description: string, content: Answer['content']): Answers {
  return { ...kinds.uncached(description, content), ...ALWAYS };
}

export function cached(description: string, content: Answer['content']): Answers {
  return { ...kinds.cached(description, content), ...ALWAYS };
}

/** The document, with the routes that every service has. */
export function plainApi({
  tags,
  operations,
  headers,
  answers,
  ...api
}: Pick<Api, 'info' | 'tags' | 'operations'> & Partial<Api>): OpenApi {
  const own = serviceOperations(uncached, cached, {
    operationId: 'getReady',
    summary: 'Whether the service can answer',
    unready: 'Unavailable',
  });
  return openApi({
    security: [],
    ...api,
    tags: { ...tags, Service: 'Health, metrics and this document.' },
    operations: [...operations, ...own],
    headers: {
      ...HEADERS,
      RetryAfter: header('Seconds to wait, when known.', RETRY_SECONDS, '1', false),
      Allow: header('Methods of this path.', { enum: ['GET, HEAD', 'POST'] }, 'GET, HEAD'),
      ...headers,
    },
    answers: {
      ...shared,
      Invalid: error('The request is malformed.', 'invalid_request', 'the body is a JSON object'),
      NotFound: error('There is no such thing.', 'not_found', 'there is nothing at this path'),
      Unavailable: error(
        'A server behind this one does not answer, or this one has just started.',
        'not_ready',
        'the ledger is being read: try again shortly',
      ),
      ...answers,
    },
  });
}
