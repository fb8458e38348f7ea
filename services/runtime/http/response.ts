/** Responses of HTTP handlers, as values; `reply.ts` puts them on the wire. */

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * `body` is text, bytes, or pieces that are made at the pace of the client. An error of the first
 * piece becomes an error response; an error of a later one breaks the response off. `return` of the
 * pieces' iterator is always called, also when no piece was wanted.
 */
export interface HttpResponse {
  readonly status: number;
  readonly body: string | Buffer | AsyncIterable<string | Buffer>;
  /** default: JSON */
  readonly content_type?: string;
  /** `cache-control` is no-store if not given; with it, a 200 is sent as `answer.ts` says */
  readonly headers?: Readonly<Record<string, string>>;
  /** made from the read model and the key of the request alone: others may have it */
  readonly is_shared?: boolean;
  /** a limit of the client refused a part: others that wait for this answer make their own */
  readonly is_refusal?: boolean;
}
