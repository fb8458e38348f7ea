/**
 * Responses that caches may keep: those whose headers have a `cache-control`. They get a validator,
 * and a client that has the same text already gets 304 (RFC 9110, sections 8.8.3 and 13.1.2). All
 * others get the content coding that they prefer. Both are made once for each response, however
 * many requests share it.
 */
import { hash } from 'node:crypto';
import { compress, preferredCoding, type Coding } from './content-coding.ts';
import { JSON_TYPE, type HttpResponse } from './handler.ts';

/** The next block may change the answer. Browsers ask each time, a CDN is at most 5 s late. */
export const AT_HEAD = 'public, max-age=0, s-maxage=1, stale-while-revalidate=4';

export interface Cacheable extends HttpResponse {
  readonly body: string | Buffer;
}

export function isCacheable(answer: HttpResponse): answer is Cacheable {
  const { status, body, headers } = answer;
  return (
    status === 200 &&
    headers?.['cache-control'] !== undefined &&
    (typeof body === 'string' || Buffer.isBuffer(body))
  );
}

/**
 * Made of the body of a response, for all requests that share the response. It is kept in the
 * response itself: a WeakMap of short-lived responses costs more than all else here.
 */
export interface Forms {
  readonly etag: string;
  readonly coded: Partial<Record<Coding, Promise<Buffer>>>;
  /** of a text that is sent again without a coding */
  bytes?: Buffer;
  isSent?: true;
}

function formsOf(answer: Cacheable): Forms {
  return (answer.forms ??= {
    etag: `W/"${hash('sha1', answer.body, 'base64url')}"`,
    coded: {},
  });
}

/**
 * The value of ETag: a hash of the body, the same in all instances. It is weak, since all content
 * codings of the body share it.
 */
export function validatorOf(answer: Cacheable): string {
  return formsOf(answer).etag;
}

/** Whether If-None-Match names this validator, by weak comparison. */
export function isNamed(ifNoneMatch: string | undefined, validator: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const matching = new Set(['*', validator, validator.slice('W/'.length)]);
  return ifNoneMatch.split(',').some((name) => matching.has(name.trim()));
}

/** A shorter body fits into one packet anyway. */
const CODED_BYTES_MIN = 1_024;
const TEXT = /^text\/|json|javascript/;

/** The coding of this response for a client with this Accept-Encoding; undefined: none. */
export function codingOf(
  { body, content_type: type = JSON_TYPE }: Cacheable,
  acceptEncoding: string | undefined,
): Coding | undefined {
  return body.length < CODED_BYTES_MIN || !TEXT.test(type)
    ? undefined
    : preferredCoding(acceptEncoding);
}

/** The body in a coding, or as it is. */
export function bodyIn(
  answer: Cacheable,
  coding: Coding | undefined,
): string | Buffer | Promise<Buffer> {
  const { body } = answer;
  const forms = formsOf(answer);
  if (coding !== undefined) return (forms.coded[coding] ??= compress(body, coding));
  if (typeof body !== 'string') return body;
  if (forms.isSent === true) return (forms.bytes ??= Buffer.from(body));
  forms.isSent = true;
  return body;
}
