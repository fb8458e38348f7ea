/**
 * The operations of one socket that have begun and have no result yet. A client may complete one and use its id again before the result is there: graphql-ws would then take the result of the first for
 * that of the second, and never end what it has lost sight of. So a result whose id has been taken over never arrives.
 */
export class Running {
  readonly #newest = new Map<string, symbol>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The result, unless the id begins anew before it is there: then it is given to `discard`, and the promise stays open for good. */
  async resultOf<Result>(
    id: string,
    result: Promise<Result>,
    discard: (result: Result) => void = () => undefined,
  ): Promise<Result> {
    const turn = Symbol(id);
    this.#newest.set(id, turn);
    this.#count++;
    let isTakenOver = false;
    let come: Result;
    try {
      come = await result;
    } finally {
      this.#count--;
      isTakenOver = this.#newest.get(id) !== turn;
      if (!isTakenOver) this.#newest.delete(id);
    }
    if (!isTakenOver) return come;
    discard(come);
    return await new Promise<never>(() => undefined);
  }
}
