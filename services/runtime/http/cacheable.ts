/**
 * Responses that caches may keep: those whose headers have a `cache-control`. They get a validator,
 * and a client that has the same text already gets 304 (RFC 9110, sections 8.8.3 and 13.1.2). All
 * others get the content coding that they prefer. Both are made once for each response, however
 * many requests share it.
 */
import { hash } from 'node:crypto';
import { compress, preferredCoding, type Coding } from './content-coding.ts';
import { JSON_TYPE, type HttpResponse } from './handler.ts';

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

/** The forms in which a response goes out. */
interface Forms {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly coded: Map<Coding, Promise<Buffer>>;
}

const formsOf = new WeakMap<Cacheable, Forms>();

function forms(answer: Cacheable): Forms {
  const known = formsOf.get(answer);
  if (known !== undefined) return known;
  const bytes = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  const etag = `W/"${hash('sha1', bytes, 'base64url')}"`;
  const made: Forms = { bytes, etag, coded: new Map() };
  formsOf.set(answer, made);
  return made;
}

/**
 * The value of ETag: a hash of the body, the same in all instances. It is weak, since all content
 * codings of the body share it.
 */
export function validatorOf(answer: Cacheable): string {
  return forms(answer).etag;
}

/** The body in a coding; undefined: in none. */
export function bodyIn(answer: Cacheable, coding: Coding | undefined): Buffer | Promise<Buffer> {
  const { bytes, coded } = forms(answer);
  if (coding === undefined) return bytes;
  const known = coded.get(coding);
  if (known !== undefined) return known;
  const body = compress(bytes, coding);
  coded.set(coding, body);
  return body;
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
