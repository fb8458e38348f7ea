/** Which lists of an answer are not whole. The answer says so itself, in GraphQL's own place for what is beside the data: `extensions: { truncated: ["listRideRequests"] }`. */
import type { ExecutionResult } from 'graphql';

export class Truncation {
  readonly #lists = new Set<string>();

  /** As a context's `cut`. */
  readonly cut = (list: string): void => void this.#lists.add(list);

  /** Undefined when all are whole. */
  get extensions(): { readonly truncated: readonly string[] } | undefined {
    return this.#lists.size === 0 ? undefined : { truncated: [...this.#lists].toSorted() };
  }

  /** The result, and what there is to say of it. */
  told(result: ExecutionResult): ExecutionResult {
    const { extensions } = this;
    return extensions === undefined ? result : { ...result, extensions };
  }
}
