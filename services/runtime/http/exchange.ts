/** A request and its response, as the middleware of `app.ts` shares it in `response.locals`. */
import { randomBytes } from 'node:crypto';
import type { Answer } from './answer.ts';
import type { Clients } from '../limits/clients.ts';

export interface Exchange {
  readonly id: string;
  /** ms of a monotonic clock */
  readonly started: number;
  /** whom limits count it for: an address or a network */
  readonly client: string;
  /** the template that matched */
  route: string;
  /** all that a shared answer is made for; default: `client` */
  clients?: Clients;
  /** of an answer that a library makes: `is_shared` of the response */
  is_shared?: boolean;
  /** takes the answer in place of the client: the cache sends it */
  made?: ((answer: Answer) => void) | undefined;
  /** the status of the error that broke off its response */
  broken_off_as?: number;
}

declare global {
  // eslint-disable-next-line typescript/no-namespace -- the package declares its types in it
  namespace Express {
    interface Locals {
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
