/** The limit of the bytes of a request, and the reading of a body within it. */
import type { Request, RequestHandler } from 'express';
import { RefusedRequest, type Failure } from '../http/handler.ts';
import { ON, type Limit } from './limits.ts';

export const TOO_LARGE: Failure = {
  status: 413,
  code: 'too_large',
  message: 'the body is too large',
};
/** Fragments of a socket's message, and packets of a frame: each costs more than its bytes. */
export const MESSAGE_PARTS_MAX = 256;

/** As errors of Express are read. */
const TOO_LONG = Object.assign(new Error(TOO_LARGE.message), { status: TOO_LARGE.status });
const JSON_BODY = /^application\/json *(?:;|$)/i;
const ABORTED = 'the body was broken off';

export class BodyBytes {
  readonly #max: number;
  readonly #limit: Limit;

  constructor(max: number, limit: Limit = ON) {
    this.#max = limit.is_on ? max : Number.POSITIVE_INFINITY;
    this.#limit = limit;
  }

  /** Whether so many are too many; counts it. */
  exceeds(bytes: number): boolean {
    if (bytes <= this.#max) return false;
    this.#limit.refused();
    return true;
  }

  /** Whether the body is longer than the request may be, by its headers. */
  refuses({ headers }: Pick<Request, 'headers'>): boolean {
    return this.exceeds(Number(headers['content-length'] ?? 0));
  }

  /**
   * Reads a body that is sent as JSON, as bytes. One that came with its headers is taken without
   * stream events, which cost more time.
   */
  reader(): RequestHandler {
    return (request, _response, next) => {
      // Apollo's middleware asks whether a body was looked for
      request.body = undefined;
      if (!JSON_BODY.test(request.headers['content-type'] ?? '')) return next();
      const chunks: Buffer[] = [];
      let bytes = 0;
      const take = (chunk: Buffer): void => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (this.exceeds(bytes)) end(TOO_LONG);
      };
      const done = (): void => {
        request.body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
        end();
      };
      const broken = (): void => end(new RefusedRequest('invalid_request', ABORTED));
      let isOver = false;
      const end = (refused?: Error): void => {
        if (isOver) return;
        isOver = true;
        // its connection is closed after the answer: what is still to come is not read
        if (refused !== undefined) request.off('data', take).pause();
        next(refused);
      };
      // by then everything that came with the headers is parsed, but for the end of the message
      return process.nextTick(() => {
        const came: unknown = request.read();
        if (Buffer.isBuffer(came)) take(came);
        if (bytes === lengthOf(request)) return done();
        if (isOver) return undefined;
        return request.on('data', take).once('end', done).once('error', broken);
      });
    };
  }
}

/** NaN for a body whose length is known at its end. */
function lengthOf({ headers }: Pick<Request, 'headers'>): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : NaN;
}
