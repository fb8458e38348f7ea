/**
 * Any web page may read: no service uses cookies, and a page sends its token itself. Source: Fetch
 * standard, "CORS protocol". The package cors writes to Express' responses, which the fast paths
 * avoid.
 */
import type { HttpResponse, Guard } from './handler.ts';

/** The headers of every response; a page may read those that are `exposed`. */
export function corsHeaders(exposed: string): Readonly<Record<string, string>> {
  return { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed };
}

/** Answers a browser's OPTIONS request before a request that a form could not send. */
export function preflight(methods: string): Guard {
  const answer: HttpResponse = {
    status: 204,
    body: '',
    headers: {
      'access-control-allow-methods': methods,
      // the wildcard does not include authorization
      'access-control-allow-headers': 'authorization, *',
      'access-control-max-age': '86400',
    },
  };
  return ({ method, headers }) =>
    method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
      ? answer
      : undefined;
}
