/**
 * Errors as callers see them: `extensions.code` for programs, a sentence with the remedy for
 * people. Details of faults and bugs go to the log only.
 */
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { ErrorShape } from '../../runtime/http/handler.ts';
import { LimitReached } from '../../runtime/limits/limits.ts';
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';

export type ErrorCode =
  | 'UNAUTHENTICATED'
  | 'BAD_USER_INPUT'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'UPSTREAM_ERROR'
  | 'RATE_LIMITED'
  | 'INTERNAL_SERVER_ERROR';

/** A refusal thrown by a resolver, which has no other way to return one. */
export class Refused extends GraphQLError {
  /** `retryAfter`: seconds after which the same operation may pass; undefined: no time helps. */
  constructor(code: ErrorCode, message: string, retryAfter?: number) {
    super(message, { extensions: { code, ...(retryAfter !== undefined && { retryAfter }) } });
  }
}

export function invalid(message: string): Refused {
  return new Refused('BAD_USER_INPUT', message);
}
export function forbidden(message: string): Refused {
  return new Refused('FORBIDDEN', message);
}
export function notFound(message: string): Refused {
  const remedy = 'one that was sent just now is there once a block holds it';
  return new Refused('NOT_FOUND', `${message}; ${remedy}`);
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

/** Documents that a client names by a hash or an id. */
export const TEXT_NEEDED =
  'this hub keeps no documents: send the text of the operation as "query", without documentId or a persisted query';
const NOT_KEPT = 'PERSISTED_QUERY_NOT_SUPPORTED';

/** Codes of Apollo and graphql-js for errors in the caller's own document or variables. */
const DOCUMENT_CODES: ReadonlySet<unknown> = new Set([
  'GRAPHQL_PARSE_FAILED',
  VALIDATION_FAILED,
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  NOT_KEPT,
]);

/** graphql-js stops at one error more than it may report, with an error without a place. */
const MORE_ERRORS = /^Too many errors processing variables/;

const SUGGESTION = / ?Did you mean[^?]*\?/g;
/** Messages of graphql-js repeat what the caller sent. */
const MESSAGE_CHARACTERS_MAX = 500;

export interface ErrorFormatting {
  readonly log: Logger;
  /** whether messages may suggest names of the schema */
  readonly suggestions: boolean;
}

/** The error as it is sent. `error` is what was thrown, `formatted` GraphQL's own form of it. */
export function formatError(
  { log, suggestions }: ErrorFormatting,
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
  const code = MORE_ERRORS.test(formatted.message)
    ? 'BAD_USER_INPUT'
    : formatted.extensions?.['code'];
  if (cause instanceof LimitReached)
    return { message: cause.message, ...place, extensions: { code: 'RATE_LIMITED' } };
  if (cause instanceof Refused || (DOCUMENT_CODES.has(code) && cause instanceof GraphQLError)) {
    const text = shortened(formatted.message);
    const message = suggestions ? text : text.replaceAll(SUGGESTION, '');
    return {
      message,
      ...place,
      extensions:
        cause instanceof Refused
          ? cause.extensions
          : // clients look for its message alone, and then send the text
            { code, ...(code === NOT_KEPT && { remedy: TEXT_NEEDED }) },
    };
  }
  log.error({ err: cause, path }, messageOf(cause));
  return { ...INTERNAL, ...place };
}

function shortened(message: string): string {
  return message.length <= MESSAGE_CHARACTERS_MAX
    ? message
    : `${message.slice(0, MESSAGE_CHARACTERS_MAX)}…`;
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  not_found: 'NOT_FOUND',
  not_ready: 'UPSTREAM_ERROR',
  rate_limited: 'RATE_LIMITED',
  internal_error: 'INTERNAL_SERVER_ERROR',
  upstream_error: 'UPSTREAM_ERROR',
};

/** Errors of the HTTP server in GraphQL's shape. */
export const HUB_ERRORS: ErrorShape = {
  statuses: {
    invalid_request: 400,
    not_found: 404,
    rate_limited: 429,
    unsupported_media_type: 415,
  },
  fault: () => ({ status: 503, code: 'upstream_error', message: UPSTREAM.message }),
  body: ({ code, message }) => errorBody(CODES[code] ?? 'BAD_USER_INPUT', message),
};

export function errorBody(code: ErrorCode, message: string): string {
  return JSON.stringify({ errors: [{ message, extensions: { code } }] });
}
