/** What a caller learns of what went wrong: `extensions.code` for programs, a sentence that says what to do for people; of faults and bugs neither detail nor stack. */
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { ErrorShape } from '../../runtime/http/handler.ts';
import { Fault, messageOf, type Refusal } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';

export type ErrorCode =
  | 'UNAUTHENTICATED'
  | 'BAD_USER_INPUT'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'UPSTREAM_ERROR'
  | 'RATE_LIMITED'
  | 'INTERNAL_SERVER_ERROR';

/** A refusal on its way out of a resolver, where GraphQL knows no other. */
export class Refused extends GraphQLError {
  constructor(code: ErrorCode, message: string) {
    super(message, { extensions: { code } });
  }
}

/** Hands on what is no refusal. */
export function unlessRefused<Value extends object>(value: Value | Refusal<ErrorCode>): Value {
  if ('refused' in value) throw new Refused(value.refused, value.message);
  return value;
}

const UPSTREAM: GraphQLFormattedError = {
  message: 'a server behind this one did not answer: try again shortly',
  extensions: { code: 'UPSTREAM_ERROR' },
};
const INTERNAL: GraphQLFormattedError = {
  message: 'something is wrong on our side',
  extensions: { code: 'INTERNAL_SERVER_ERROR' },
};

export const VALIDATION_FAILED = 'GRAPHQL_VALIDATION_FAILED';

/** What Apollo and graphql-js say of a document or its variables is about the caller's own text: it is passed on. */
const OF_THE_DOCUMENT: ReadonlySet<unknown> = new Set([
  'GRAPHQL_PARSE_FAILED',
  VALIDATION_FAILED,
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

const SUGGESTION = / ?Did you mean[^?]*\?/g;

export interface Formatting {
  readonly log: Logger;
  /** whether names of the schema that were not asked for may be told */
  readonly suggestions: boolean;
}

/** The error as it leaves the hub, over HTTP and over a socket alike. `error` is what was thrown, `formatted` how GraphQL would show it. */
export function shownError(
  { log, suggestions }: Formatting,
  formatted: GraphQLFormattedError,
  error: unknown,
): GraphQLFormattedError {
  const cause = error instanceof GraphQLError ? (error.originalError ?? error) : error;
  const { path, locations } = formatted;
  const place = {
    ...(locations === undefined ? {} : { locations }),
    ...(path === undefined ? {} : { path }),
  };
  if (cause instanceof Fault) {
    log.warn({ err: cause, path }, cause.message);
    return { ...UPSTREAM, ...place };
  }
  const code = formatted.extensions?.['code'];
  if (cause instanceof Refused || (OF_THE_DOCUMENT.has(code) && cause instanceof GraphQLError)) {
    const message = suggestions ? formatted.message : formatted.message.replaceAll(SUGGESTION, '');
    return {
      message,
      ...place,
      extensions: { code: cause instanceof Refused ? cause.extensions['code'] : code },
    };
  }
  log.error({ err: cause, path }, messageOf(cause));
  return { ...INTERNAL, ...place };
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  not_found: 'NOT_FOUND',
  not_ready: 'UPSTREAM_ERROR',
  rate_limited: 'RATE_LIMITED',
  internal_error: 'INTERNAL_SERVER_ERROR',
  upstream_error: 'UPSTREAM_ERROR',
};

/** What the server around GraphQL says, in the shape of GraphQL. */
export const HUB_ERRORS: ErrorShape = {
  statuses: {
    invalid_request: 400,
    not_found: 404,
    rate_limited: 429,
    too_large: 413,
    unsupported_media_type: 415,
  },
  fault: () => ({ status: 503, code: 'upstream_error', message: UPSTREAM.message }),
  body: ({ code, message }) => errorBody(CODES[code] ?? 'BAD_USER_INPUT', message),
};

export function errorBody(code: ErrorCode, message: string): string {
  return JSON.stringify({ errors: [{ message, extensions: { code } }] });
}
