/** Any web page may read the explorer: it is public, read-only and knows no cookies. */
import type { Answer, Guard } from '../runtime/answers.ts';

export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'link, retry-after, x-request-id, x-clt-to-height, x-clt-to-hash',
} as const;

const PREFLIGHT: Answer = {
  status: 204,
  body: '',
  headers: {
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-allow-headers': '*',
    'access-control-max-age': '86400',
  },
};

/** A browser asks before it sends headers of its own. */
export const answerPreflight: Guard = (request) => (request.method === 'OPTIONS' ? PREFLIGHT : undefined);
