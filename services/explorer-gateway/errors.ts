/**
 * The explorer's error responses: `{code, message}` with the codes of its interface, and three
 * others: `rate_limited` (429), `internal_error` (500) and `picture_failed` (503).
 */
import type { ErrorShape, Failure } from '../runtime/http/handler.ts';

/** Codes of the HTTP application, in the interface's words; others stay. */
const CODES: Readonly<Record<string, string>> = {
  method_not_allowed: 'invalid_request',
  too_large: 'invalid_request',
  not_ready: 'storage_error',
};

const UNREADABLE: Failure = {
  status: 503,
  code: 'storage_error',
  message: 'the index cannot be read at the moment: try again shortly',
};
const TOO_SLOW: Failure = {
  status: 503,
  code: 'storage_error',
  message:
    'the query took too long: narrow it with other filters, for example a block, or a smaller offset',
};
const UPSTREAM: Failure = {
  status: 502,
  code: 'upstream_error',
  message: 'a server behind this one did not answer: try again shortly',
};

const UNDRAWN: Failure = {
  status: 503,
  code: 'picture_failed',
  message: 'the picture cannot be drawn at the moment: try again shortly',
  headers: { 'retry-after': '1' },
};

export const EXPLORER_ERRORS: ErrorShape = {
  statuses: { invalid_request: 400, not_found: 404 },
  fault: ({ code }) => {
    if (code === 'storage_timeout') return TOO_SLOW;
    if (code === UNDRAWN.code) return UNDRAWN;
    return code.startsWith('storage_') ? UNREADABLE : UPSTREAM;
  },
  body: ({ code, message }) => JSON.stringify({ code: CODES[code] ?? code, message }),
};
