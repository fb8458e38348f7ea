/** Minting: follows the chain, requests mints in the ledger and broadcasts them to the node. */
import {
  Sender,
  type SenderOptions,
  type SentTransaction,
} from '../../../projections/chain/sender.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import type { Append, TreasuryContext } from '../ledger/ledger-writer.ts';
import { Broadcaster } from './broadcaster.ts';
import type { MintSigner } from './mint-signer.ts';
import { Minter } from './minter.ts';
import { SecondNode } from './second-node.ts';

export interface MintingOptions {
  readonly signer: MintSigner;
  readonly node: ChainNode;
  /** has to show the same final blocks before anything is minted or concluded */
  readonly second_node?: ChainNode | undefined;
  readonly chain_id: number;
  /** why nothing may be minted now; undefined when it is allowed */
  readonly allowed: () => string | undefined;
  /** interval of the checks for mints that time alone makes due */
  readonly every_ms: number;
  /** a mint in no block is broadcast again after this time */
  readonly again_ms: number;
  /** a mint in no block this long after its request needs a person */
  readonly late_ms: number;
  /** the clock may be this far from the newest final block's time; 0: any distance */
  readonly clock_apart_max_ms: number;
  /** another name than that of `chain.blocks` */
  readonly chain_topic?: string;
  /** Unix milliseconds, by default the clock's */
  readonly now?: () => number;
}

export function chainTopicOf({ chain_topic: topic }: MintingOptions): string {
  return topic ?? CHAIN_BLOCKS.name;
}

export interface MintingContext extends TreasuryContext {
  readonly append: Append;
  /** resolves once ledger, addresses and chain are read to their ends, or at the abort */
  readonly catchUp: () => Promise<void>;
}

/** Shared by the parts of minting. */
export interface MintingParts extends MintingContext, MintingOptions {
  readonly chain: ChainBook;
  readonly second: SecondNode | undefined;
  readonly now: () => number;
}

export class Minting {
  readonly topic: string;
  readonly chain: ChainBook;
  readonly second: SecondNode | undefined;
  readonly #minter: Minter;
  readonly #broadcaster: Broadcaster;
  readonly #parts: MintingParts;

  constructor(options: MintingOptions, context: MintingContext) {
    const { chain_id, second_node: node, now = Date.now } = options;
    const { ledger } = context.books;
    const { address } = options.signer;
    this.topic = chainTopicOf(options);
    this.chain = new ChainBook(this.topic, {
      address,
      chain_id,
      hasSigned: (txHash) => ledger.requestedBy(txHash) !== undefined,
    });
    const { sender } = this.chain;
    const live = (): Iterable<number> => ledger.live.keys();
    const { log } = context;
    this.second = node && new SecondNode({ node, chain_id, address, sender, live, log });
    this.#parts = { ...context, ...options, chain: this.chain, second: this.second, now };
    this.#minter = new Minter(this.#parts);
    this.#broadcaster = new Broadcaster(this.#parts, this.#minter);
  }

  /** Without the reserve's closing of minting, which the reconciliation reports. */
  get problem(): HealthProblem | undefined {
    const { halted, clock } = this.#minter;
    const phase = 'minting';
    if (halted !== undefined) return { status: 'halted', phase, message: halted };
    if (clock !== undefined) return { status: 'waiting', phase, message: clock };
    return this.second?.problem ?? this.#broadcaster.problem;
  }

  /** Why nothing is minted at this moment; undefined when minting is open. */
  get closed(): string | undefined {
    return this.#minter.closed ?? this.#minter.clock;
  }

  /** Requests and concludes due mints; false when nothing was due. */
  round(): Promise<boolean> {
    return this.#minter.round();
  }

  /** Broadcasts requested mints until the signal is aborted. */
  async run(): Promise<void> {
    const { changes, signal, every_ms } = this.#parts;
    await this.#minter.begin();
    await Promise.all([
      this.second?.run(every_ms, signal, () => changes.notify()),
      this.#broadcast(),
    ]);
  }

  async #broadcast(): Promise<void> {
    const { changes, signal, every_ms } = this.#parts;
    changes.notify();
    // time alone makes mints due: the window moves, a broadcast is repeated
    const ticking = setInterval(() => changes.notify(), every_ms);
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

/** The mint authority's transactions, and those of its Mints that the ledger does not explain. */
export class ChainBook {
  readonly sender: Sender;
  readonly #topic: string;
  /** final Mints without a known intent */
  #unexplained: SentTransaction[] = [];

  constructor(topic: string, authority: Omit<SenderOptions, 'onFinal'>) {
    this.#topic = topic;
    this.sender = new Sender({
      ...authority,
      onFinal: (transaction) => {
        if (transaction.function_call_type === 'Mint') this.#unexplained.push(transaction);
      },
    });
  }

  /** Throws `log_damaged` for an impossible log. */
  fold({ events }: Decoded<ChainEvent>): void {
    for (const { event, offset } of events) {
      const verdict = this.sender.apply(event, offset);
      if (verdict === undefined) continue;
      throw new Fault(
        'log_damaged',
        `${this.#topic} cannot be right: ${verdict.broken}. What to do: restore the topic from a replica or a backup, then start the treasury again; nothing is minted meanwhile`,
        { retry: false },
      );
    }
  }

  /** Final Mints without a live intent. Reliable once the ledger is read to its end. */
  unexplained(ledger: Ledger): readonly SentTransaction[] {
    this.#unexplained = this.#unexplained.filter((sent) => !isExplained(ledger, sent));
    return this.#unexplained;
  }
}

function isExplained(ledger: Ledger, { tx_hash, minted }: SentTransaction): boolean {
  const mint = ledger.requestedBy(tx_hash);
  if (mint === undefined) return false;
  // a failed mint is requested again, with other bytes
  if (minted === undefined) return true;
  const deposit = ledger.deposit(mint.deposit_id);
  return 'mint' in deposit && deposit.mint.tx_hash.equals(tx_hash);
}
