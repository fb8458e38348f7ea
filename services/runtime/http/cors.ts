/** Any web page may ask: no service here knows cookies, and who sends a token does so itself. Source: Fetch standard, "CORS protocol". */
import type { HttpResponse, Guard } from './handler.ts';

/** Of every answer; `exposed` are headers that a page may read. */
export function corsHeaders(exposed: string): Readonly<Record<string, string>> {
  return { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed };
}

/** A browser asks before it sends what a form could not. */
export function preflight(methods: string): Guard {
  const answer: HttpResponse = {
    status: 204,
    body: '',
    headers: {
      'access-control-allow-methods': methods,
      // a star alone would leave authorization out
      'access-control-allow-headers': 'authorization, *',
      'access-control-max-age': '86400',
    },
  };
  return ({ method, headers }) =>
    method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
      ? answer
      : undefined;
}
