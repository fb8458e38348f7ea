/** Puts responses on the wire: those of handlers, of the cache and of libraries. */
import type { ServerResponse } from 'node:http';
import type { Response } from 'express';
import { Answer, isNamed } from './answer.ts';
import type { ErrorShape, Failure } from './handler.ts';
import { JSON_TYPE, type HttpResponse } from './response.ts';
import { assert } from '../process/errors.ts';
import { REFUSAL_DELAY_MS } from '../limits/rate.ts';

type Headers = Readonly<Record<string, string | number>>;

const TOO_MANY_REQUESTS = 429;

export interface ReplyOptions {
  /** of every response */
  readonly headers?: Headers;
  readonly shape: ErrorShape;
  /** ms; a client that does not read for so long is disconnected */
  readonly idle_ms: number;
}

export class Replies {
  readonly #always: Headers;
  readonly #shape: ErrorShape;
  readonly #idleMs: number;

  constructor({ headers, shape, idle_ms: idleMs }: ReplyOptions) {
    this.#always = {
      ...headers,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    };
    this.#shape = shape;
    this.#idleMs = idleMs;
  }

  /**
   * Sends a response, or gives it to the cache that waits for it. Rejects with the error of a
   * piece.
   */
  send(response: Response, answer: HttpResponse | Answer): void | Promise<void> {
    const { exchange } = response.req;
    if (answer instanceof Answer) return this.#sendWhole(response, answer);
    const { body } = answer;
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) {
      assert(!exchange.is_taken, 'an answer in pieces is made for one request');
      const head = { ...answer.headers, 'content-type': answer.content_type ?? JSON_TYPE };
      const writeHead = (): void => this.#writeHead(response, answer.status, head);
      return sendPieces(response, body, writeHead, this.#idleMs);
    }
    return this.#sendWhole(response, new Answer(answer, body, exchange.route));
  }

  fail(response: Response, failure: Failure, headers: Readonly<Record<string, string>> = {}): void {
    const body = this.#shape.body(failure);
    const all = { ...failure.headers, ...headers };
    void this.send(response, { status: failure.status, body, headers: all });
  }

  #sendWhole(response: Response, answer: Answer): void | Promise<void> {
    const { exchange } = response.req;
    // others wait for it, also when this client has left
    if (exchange.give(answer)) return undefined;
    exchange.matched(answer.route);
    if (response.headersSent || response.destroyed) return undefined;
    if (answer.status === TOO_MANY_REQUESTS)
      return void setTimeout(() => {
        this.#sendBytes(response, answer, answer.headers, answer.bytes);
      }, REFUSAL_DELAY_MS);
    if (!answer.is_public) return this.#sendBytes(response, answer, answer.headers, answer.bytes);
    const given = response.req.headers;
    const { etag } = answer;
    const others = answer.headers['vary'];
    const vary = others === undefined ? 'accept-encoding' : `${others}, accept-encoding`;
    const headers = { ...answer.headers, etag, vary };
    if (isNamed(given['if-none-match'], etag)) {
      this.#writeHead(response, 304, headers);
      return void response.end();
    }
    const coding = answer.codingFor(given['accept-encoding']);
    if (coding === undefined) return this.#sendBytes(response, answer, headers, answer.bytes);
    const coded = { ...headers, 'content-encoding': coding };
    return answer.coded(coding).then((bytes) => this.#sendBytes(response, answer, coded, bytes));
  }

  #sendBytes(
    response: Response,
    { status, content_type: contentType }: Answer,
    headers: Headers,
    bytes: Buffer,
  ): void {
    if (response.headersSent || response.destroyed) return;
    const { length } = bytes;
    if (status === 204) {
      this.#writeHead(response, status, headers);
      return void response.end();
    }
    const head = { 'content-type': contentType, 'content-length': length, ...headers };
    this.#writeHead(response, status, head);
    response.end(bytes);
  }

  #writeHead(response: Response, status: number, headers: Headers): void {
    const { id } = response.req.exchange;
    response.writeHead(status, { ...this.#always, 'x-request-id': id, ...headers });
  }
}

/**
 * Sends the pieces until they end or the client has left, then ends their iterator. HEAD reads
 * none. A piece is made when the client has taken the one before, so memory depends neither on the
 * number of pieces nor on the pace of the client. `writeHead` is called once the first piece is
 * made; a client that does not read for `idleMs` is disconnected. Throws the pieces' error: before
 * the first piece nothing is sent, later the response must be broken off.
 */
async function sendPieces(
  response: Response,
  pieces: AsyncIterable<string | Buffer>,
  writeHead: () => void,
  idleMs: number,
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  const { method, socket } = response.req;
  try {
    if (method === 'HEAD') {
      if (isOver(response)) return;
      writeHead();
      return void response.end();
    }
    response.on('timeout', () => breakOff(response));
    while (!isOver(response)) {
      // the client is not to blame for the time that a piece takes to be made
      socket.setTimeout(0);
      const piece = await iterator.next().finally(() => socket.setTimeout(idleMs));
      if (isOver(response)) return;
      if (!response.headersSent) writeHead();
      if (piece.done === true) return void response.end();
      if (piece.value.length > 0 && !response.write(piece.value)) await drained(response);
    }
  } finally {
    await iterator.return?.();
  }
}

/** The client has left, or what it sent behind the request was refused in place of an answer. */
function isOver({ destroyed, writableEnded }: Response): boolean {
  return destroyed || writableEnded;
}

/**
 * Resets the connection, so that the client cannot take half a response for a whole one: in
 * HTTP/1.0 the end of the connection is the end of the body.
 */
export function breakOff(response: ServerResponse): void {
  response.req.socket.resetAndDestroy();
  response.destroy();
}

/** Resolves when the written text has gone out, or the client has left. */
function drained(response: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
