/**
 * Responses that caches may keep: those whose headers have a `cache-control`. They get a validator,
 * and a client that has the same text already gets 304 (RFC 9110, sections 8.8.3 and 13.1.2).
 */
import { hash } from 'node:crypto';
import type { HttpResponse } from './handler.ts';

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

const validators = new WeakMap<Cacheable, string>();

/**
 * The value of ETag: a hash of the body, the same in all instances. It is weak, since all content
 * codings of the body share it.
 */
export function validatorOf(answer: Cacheable): string {
  const known = validators.get(answer);
  if (known !== undefined) return known;
  const validator = `W/"${hash('sha1', answer.body, 'base64url')}"`;
  validators.set(answer, validator);
  return validator;
}

/** Whether If-None-Match names this validator, by weak comparison. */
export function isNamed(ifNoneMatch: string | undefined, validator: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const names = ifNoneMatch.split(',').map((name) => name.trim());
  return names.includes('*') || names.includes(validator) || names.includes(validator.slice(2));
}
