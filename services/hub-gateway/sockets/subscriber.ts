/** One subscription of one socket, as graphql-ws sees it: results that never come, because they go straight to the socket, until it is over. */
import type { ExecutionResult } from 'graphql';
import type { Body, Entrance, Member } from './groups.ts';
import type { Outlet } from './outlet.ts';

type Step = IteratorResult<ExecutionResult, undefined>;
const OVER: Step = { done: true, value: undefined };

export class Subscriber implements AsyncIterableIterator<ExecutionResult, undefined>, Member {
  readonly #entrance: Entrance;
  readonly #outlet: Outlet;
  /** what its messages begin with */
  readonly #opening: string;
  readonly #over = Promise.withResolvers<Step>();
  #hasBegun = false;

  constructor(id: string, entrance: Entrance, outlet: Outlet) {
    this.#entrance = entrance;
    this.#outlet = outlet;
    this.#opening = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Asked for the first time, it begins. */
  next(): Promise<Step> {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#entrance.join(this);
    }
    return this.#over.promise;
  }

  return(): Promise<Step> {
    this.#entrance.leave(this);
    this.#outlet.forget(this.#opening);
    this.#over.resolve(OVER);
    return Promise.resolve(OVER);
  }

  deliver(body: Body): void {
    this.#outlet.deliver(this.#opening, body, () => this.#entrance.newest());
  }
}
