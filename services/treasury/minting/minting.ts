/** Minting: follows the chain, requests mints in the ledger and broadcasts them to the node. */
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import { retrying } from '../../runtime/process/retry.ts';
import type { LedgerWriter, TreasuryContext } from '../ledger/ledger-writer.ts';
import { Broadcaster } from './broadcaster.ts';
import { ChainBook } from './chain-book.ts';
import { assertAuthority, type MintSigner } from './mint-signer.ts';
import { Minter } from './minter.ts';

export interface MintingOptions {
  readonly signer: MintSigner;
  readonly node: ChainNode;
  readonly chain_id: number;
  /** why nothing may be minted now; undefined when it is allowed */
  readonly allowed: () => string | undefined;
  /** interval of the checks for mints that time alone makes due */
  readonly every_ms: number;
  /** a mint in no block is broadcast again after this time */
  readonly again_ms: number;
  /** a mint in no block this long after its request needs a person */
  readonly late_ms: number;
  /** another name than that of `chain.blocks` */
  readonly chain_topic?: string;
  /** Unix milliseconds, by default the clock's */
  readonly now?: () => number;
}

export function chainTopicOf({ chain_topic: topic }: MintingOptions): string {
  return topic ?? CHAIN_BLOCKS.name;
}

export interface MintingContext extends TreasuryContext {
  readonly appender: LedgerWriter;
  /** resolves once ledger, addresses and chain are read to their ends, or at the abort */
  readonly catchUp: () => Promise<void>;
}

export class Minting {
  readonly topic: string;
  readonly chain: ChainBook;
  readonly #minter: Minter;
  readonly #broadcaster: Broadcaster;
  readonly #everyMs: number;
  readonly #context: MintingContext;

  constructor(options: MintingOptions, context: MintingContext) {
    const { signer, now = Date.now } = options;
    this.topic = chainTopicOf(options);
    this.chain = new ChainBook(this.topic, signer.address);
    this.#everyMs = options.every_ms;
    this.#context = context;
    const { log, signal } = context;
    const checkAuthority = (): Promise<void> =>
      retrying({ what: 'asking the node for its chain', log, signal }, () =>
        assertAuthority(options),
      );
    const parts = { ...context, ...options, chain: this.chain, now };
    this.#minter = new Minter({ ...parts, checkAuthority });
    this.#broadcaster = new Broadcaster({ ...parts, minter: this.#minter });
  }

  /** Without the reserve's closing of minting, which the reconciliation reports. */
  get problem(): HealthProblem | undefined {
    const { halted } = this.#minter;
    if (halted !== undefined) return { status: 'halted', phase: 'minting', message: halted };
    return this.#broadcaster.problem;
  }

  /** Why nothing is minted at this moment; undefined when minting is open. */
  get closed(): string | undefined {
    return this.#minter.closed;
  }

  /** Requests and concludes due mints; false when nothing was due. */
  round(): Promise<boolean> {
    return this.#minter.round();
  }

  /** Broadcasts requested mints until the signal is aborted. */
  async run(): Promise<void> {
    const { changes, signal } = this.#context;
    await this.#minter.begin();
    changes.notify();
    // time alone makes mints due: the window moves, a broadcast is repeated
    const ticking = setInterval(() => changes.notify(), this.#everyMs);
    try {
      while (!signal.aborted) {
        const { next } = changes;
        await this.#broadcaster.pass();
        await next;
      }
    } finally {
      clearInterval(ticking);
    }
  }
}
