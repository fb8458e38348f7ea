/** A request and its response, as the middleware of `app.ts` shares it in the request. */
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Response } from 'express';
import type { Answer } from './answer.ts';
import { Clients } from '../limits/clients.ts';

export class Exchange {
  readonly id: string;
  /** ms of a monotonic clock */
  readonly started = performance.now();
  /** whom limits count it for: an address or a network */
  readonly client: string;
  /** as it was sent */
  readonly method: string;
  readonly #response: Response;
  #route = 'unmatched';
  #isShared = false;
  #isRefusal = false;
  #taker: ((answer: Answer) => void) | undefined;
  #brokenOffAs: number | undefined;
  #clients: Clients | undefined;

  constructor(id: string, client: string, response: Response) {
    this.id = id;
    this.client = client;
    this.method = response.req.method;
    this.#response = response;
  }

  /** The template that matched. */
  get route(): string {
    return this.#route;
  }

  matched(route: string): void {
    this.#route = route;
  }

  /** `is_shared` and `is_refusal` of the response, for an answer that a library makes. */
  get marks(): Pick<Answer, 'is_shared' | 'is_refusal'> {
    return { is_shared: this.#isShared, is_refusal: this.#isRefusal };
  }

  markShared(): void {
    this.#isShared = true;
  }

  markRefusal(): void {
    this.#isRefusal = true;
  }

  /** Has the cache take the answer, and send it, in place of the client. */
  giveTo(taker: (answer: Answer) => void): void {
    this.#taker = taker;
  }

  get is_taken(): boolean {
    return this.#taker !== undefined;
  }

  /** Gives the answer to the cache where it takes it; once. */
  give(answer: Answer): boolean {
    const taker = this.#taker;
    this.#taker = undefined;
    taker?.(answer);
    return taker !== undefined;
  }

  /** The status of the error that broke off the response. */
  get broken_off_as(): number | undefined {
    return this.#brokenOffAs;
  }

  breaksOff(status: number): void {
    this.#brokenOffAs = status;
  }

  /** The clients that wait for the answer; only this one, as `turn`, unless it joined others. */
  waiting(turn = this.client): Clients {
    return (this.#clients ??= this.#untilLeft(new Clients([turn]), turn));
  }

  /** Tells that this client is one of those that wait for the answer, until it leaves. */
  waitsWith(clients: Clients): void {
    this.#clients = this.#untilLeft(clients, this.client);
  }

  #untilLeft(clients: Clients, turn: string): Clients {
    if (this.#response.destroyed) clients.delete(turn);
    else this.#response.once('close', () => clients.delete(turn));
    return clients;
  }
}

declare global {
  // eslint-disable-next-line typescript/no-namespace -- the package declares its types in it
  namespace Express {
    interface Request {
      exchange: Exchange;
    }
  }
}

/** Ids of requests, each other than those of any other process. */
export function requestIds(): () => string {
  const prefix = randomBytes(6).toString('hex');
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
