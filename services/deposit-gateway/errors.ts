/** The error responses of deposits: `{error}`. Everything that is not there has the same bytes. */
import type { ErrorShape, Failure } from '../runtime/http/handler.ts';
import type { HttpResponse } from '../runtime/http/response.ts';
import type { Fault, Refusal } from '../runtime/process/errors.ts';

export const NOT_FOUND: Refusal<'not_found'> = { refused: 'not_found', message: 'not found' };

const UNREADABLE: Failure = {
  status: 503,
  code: 'storage_error',
  message: 'deposits cannot be read at the moment: try again shortly',
};
const UNWRITABLE: Failure = {
  status: 503,
  code: 'log_error',
  message:
    'the request could not be recorded: send it again shortly, it gives one address however often it is sent',
};

const FORGED: Failure = {
  status: 503,
  code: 'address_error',
  message:
    'the address cannot be shown at the moment, and a person has to look at it: no deposit is lost, so try again later',
};

export const DEPOSIT_ERRORS: ErrorShape = {
  statuses: { not_found: 404 },
  undecodable: { status: 404, code: NOT_FOUND.refused, message: NOT_FOUND.message },
  fault: ({ code }: Fault) =>
    code === 'address_forged' ? FORGED : code.startsWith('storage_') ? UNREADABLE : UNWRITABLE,
  body: ({ code, message }) => errorBody(code === 'not_found' ? NOT_FOUND.message : message),
};

export function errorBody(error: string): string {
  return JSON.stringify({ error });
}

/** 503, to be retried in a second. */
export function unavailable(error: string): HttpResponse {
  return { status: 503, body: errorBody(error), headers: { 'retry-after': '1' } };
}
