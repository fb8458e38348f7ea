/** Makes a block each interval, while switched on. */
import type { CltNode } from './clt/node.ts';

export class Producer {
  readonly #node: CltNode;
  readonly #interval_ms: number;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(node: CltNode, interval_ms: number, now: () => number) {
    this.#node = node;
    this.#interval_ms = interval_ms;
    this.#now = now;
  }

  get enabled(): boolean {
    return this.#timer !== undefined;
  }

  enable(enabled: boolean): void {
    clearInterval(this.#timer);
    this.#timer = enabled ? setInterval(() => this.#node.produce(this.#now()), this.#interval_ms) : undefined;
  }
}
