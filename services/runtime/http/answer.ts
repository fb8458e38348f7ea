/**
 * A response with a whole body, and what is made of the body once, however many requests share the
 * response: its bytes, its validator and its content codings. Caches may keep a response whose
 * headers have a `cache-control`: a client that has the same text already gets 304 (RFC 9110,
 * sections 8.8.3 and 13.1.2), all others get the content coding that they prefer.
 */
import { hash } from 'node:crypto';
import { compress, preferredCoding, type Coding } from './content-coding.ts';
import { JSON_TYPE, type HttpResponse } from './response.ts';

/** The next block may change the answer. Browsers ask each time, a CDN is at most 5 s late. */
export const AT_HEAD = 'public, max-age=0, s-maxage=1, stale-while-revalidate=4';

/** A shorter body fits into one packet anyway. */
const CODED_BYTES_MIN = 1_024;
const TEXT = /^text\/|json|javascript/;

export class Answer {
  readonly status: number;
  readonly content_type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** the template of the route that made it */
  readonly route: string;
  /** whether requests with the same key may have it */
  readonly is_shared: boolean;
  /** a limit of the client that it was made for refused it, or a part */
  readonly is_refusal: boolean;
  /** whether caches may keep it */
  readonly is_public: boolean;
  readonly #body: string | Buffer;
  readonly #coded: Partial<Record<Coding, Promise<Buffer>>> = {};
  #bytes: Buffer | undefined;
  #etag: string | undefined;

  constructor(response: Omit<HttpResponse, 'body'>, body: string | Buffer, route: string) {
    this.route = route;
    this.status = response.status;
    this.content_type = response.content_type ?? JSON_TYPE;
    this.headers = response.headers ?? {};
    this.is_refusal = response.is_refusal === true || response.status === 429;
    this.is_shared = response.is_shared === true && response.status === 200;
    const { 'cache-control': control = 'private' } = this.headers;
    this.is_public = this.status === 200 && !control.startsWith('private');
    this.#body = body;
  }

  /** Characters of the text, or bytes. */
  get length(): number {
    return this.#body.length;
  }

  get bytes(): Buffer {
    return (this.#bytes ??= typeof this.#body === 'string' ? Buffer.from(this.#body) : this.#body);
  }

  /**
   * The value of ETag: a hash of the body, the same in all instances. It is weak, since all content
   * codings of the body share it.
   */
  get etag(): string {
    return (this.#etag ??= `W/"${hash('sha1', this.#body, 'base64url')}"`);
  }

  /** The coding for a client with this Accept-Encoding; undefined: none. */
  codingFor(acceptEncoding: string | undefined): Coding | undefined {
    return this.length < CODED_BYTES_MIN || !TEXT.test(this.content_type)
      ? undefined
      : preferredCoding(acceptEncoding);
  }

  coded(coding: Coding): Promise<Buffer> {
    return (this.#coded[coding] ??= compress(this.#body, coding));
  }
}

/** Apache adds it where it compresses, and leaves it in the client's If-None-Match. */
const CODING_SUFFIX = /-(?:gzip|br|zstd|deflate)"$/;

/** Whether If-None-Match names this validator, by weak comparison. */
export function isNamed(ifNoneMatch: string | undefined, validator: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const matching = new Set(['*', validator, validator.slice('W/'.length)]);
  return ifNoneMatch
    .split(',')
    .some((name) => matching.has(name.trim().replace(CODING_SUFFIX, '"')));
}
