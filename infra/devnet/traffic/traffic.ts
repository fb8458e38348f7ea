/** Makes blocks at an interval, transactions at a rate, and large blocks on demand. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Block } from '../clt/block.ts';
import { verifiedByUs, type VerifiedTransaction } from '../clt/execute.ts';
import { signCall } from '../clt/keys.ts';
import type { CltNode } from '../clt/node.ts';
import { nextIntention, seededRandom } from './rider.ts';

/** Makes a block each interval while enabled, which it is not at first. */
export function blockTimer(
  chain: { produce(now: number): unknown },
  interval_ms: number,
  now: () => number,
): (enabled: boolean) => void {
  let timer: NodeJS.Timeout | undefined;
  return (enabled) => {
    clearInterval(timer);
    if (enabled) timer = setInterval(() => chain.produce(now()), interval_ms);
  };
}

const TICK_MS = 50;
/** A tick signs and checks these in about 100 ms; more would delay the node's answers. */
const TICK_TRANSACTIONS_MAX = 50;

export type TrafficOutcome = 'taken' | 'refused';

/** Lets the devnet's people act at a steady rate. */
export class Traffic {
  readonly #node: CltNode;
  readonly #count: (outcome: TrafficOutcome) => void;
  readonly #random: () => number;
  #credit = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `seed` and the height at the start determine every transaction. */
  constructor(node: CltNode, seed: string, count: (outcome: TrafficOutcome) => void) {
    this.#node = node;
    this.#count = count;
    this.#random = seededRandom(`traffic:${seed}:${node.head.height}`);
  }

  /** Transactions per second; 0 stops it. */
  setRate(perSecond: number): void {
    clearInterval(this.#timer);
    this.#credit = 0;
    if (perSecond > 0) this.#timer = setInterval(() => this.#tick(perSecond), TICK_MS);
  }

  #tick(perSecond: number): void {
    this.#credit = Math.min(this.#credit + (perSecond * TICK_MS) / 1000, TICK_TRANSACTIONS_MAX);
    for (; this.#credit >= 1; this.#credit--) this.#count(this.#act());
  }

  #act(): TrafficOutcome {
    const { chain, genesis } = this.#node;
    const { key, call } = nextIntention(chain.state.rows, genesis.cast, this.#random);
    const nonce = chain.mempool.account(key.address).nonce;
    const result = this.#node.submit(signCall(key, chain.parameters.chain_id, nonce, call));
    // two people may want the same offer within one block: the later one is refused
    return 'refused' in result ? 'refused' : 'taken';
  }
}

/** Signatures between two turns of the event loop: about 10 ms of work. */
const SIGNED_PER_TURN = 25;

/**
 * Makes a block of the waiting transactions and `count` transfers of one base unit, all from one
 * account. Signing takes about 0.5 ms each. Only one call at a time.
 */
export async function makeBulkBlock(
  node: CltNode,
  count: number,
  now: () => number,
): Promise<Block> {
  const { bulk, passengers, drivers } = node.genesis.cast;
  const recipients = [...passengers, ...drivers];
  const { chain_id } = node.chain.parameters;
  const first = node.chain.mempool.account(bulk.address).nonce;
  const signed: VerifiedTransaction[] = [];
  for (let index = 0; index < count; index++) {
    const to = recipients[index % recipients.length]?.address ?? bulk.address;
    const call = { function_call_type: 'Transfer', arguments: { to, amount: 1n } } as const;
    signed.push(verifiedByUs(signCall(bulk, chain_id, first + index, call), bulk.address));
    if (index % SIGNED_PER_TURN === 0) await nextTurn();
  }
  for (const transaction of signed) {
    const result = node.enqueue(transaction);
    if ('refused' in result)
      throw new Error(`the node refused a transaction of a bulk block: ${result.message}`);
  }
  return node.produce(now());
}
