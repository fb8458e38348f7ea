/** Any web page may ask the hub: it knows no cookies, and who sends a token does so itself. */
import type { Answer, Guard } from '../runtime/answers.ts';

export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'retry-after, x-request-id',
} as const;

const PREFLIGHT: Answer = {
  status: 204,
  body: '',
  headers: {
    'access-control-allow-methods': 'GET, HEAD, POST',
    // a star would leave authorization out
    'access-control-allow-headers': 'authorization, content-type, apollo-require-preflight, x-apollo-operation-name',
    'access-control-max-age': '86400',
  },
};

/** A browser asks before it sends what a form could not. */
export const answerPreflight: Guard = (request) => (request.method === 'OPTIONS' ? PREFLIGHT : undefined);
