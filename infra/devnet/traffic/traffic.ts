/** Makes the people of the devnet act at a steady rate: signed with their keys, submitted like anybody's transaction. */
import { signCall } from '../clt/keys.ts';
import type { CltNode } from '../clt/node.ts';
import { randomOf } from '../random.ts';
import { nextIntention } from './rider.ts';

const TICK_MS = 50;
/** a tick signs and checks about this many in a tenth of a second; more would keep the node from answering */
const TICK_TRANSACTIONS_MAX = 50;

export type TrafficOutcome = 'taken' | 'refused';

export class Traffic {
  readonly #node: CltNode;
  readonly #count: (outcome: TrafficOutcome) => void;
  readonly #random: () => number;
  #perSecond = 0;
  #credit = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `seed` and the height at which it begins decide all that happens. */
  constructor(node: CltNode, seed: string, count: (outcome: TrafficOutcome) => void) {
    this.#node = node;
    this.#count = count;
    this.#random = randomOf(`traffic:${seed}:${node.head.height}`);
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /** 0 stops it. */
  setRate(perSecond: number): void {
    this.#perSecond = perSecond;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#credit = 0;
    if (perSecond > 0) this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** One transaction of somebody. */
  act(): TrafficOutcome {
    const { chain, genesis } = this.#node;
    const { key, call } = nextIntention(chain.state.rows, genesis.cast, this.#random);
    const nonce = chain.mempool.account(key.address).nonce;
    const result = this.#node.submit(signCall(key, chain.parameters.chain_id, nonce, call));
    // two people may want the same offer within one block: the later one is refused, as on any chain
    return 'refused' in result ? 'refused' : 'taken';
  }

  #tick(): void {
    this.#credit = Math.min(
      this.#credit + (this.#perSecond * TICK_MS) / 1000,
      TICK_TRANSACTIONS_MAX,
    );
    for (; this.#credit >= 1; this.#credit--) this.#count(this.act());
  }
}
