/** The half of the treasury that mints: what it reads of the chain, requests in the ledger and sends to the node. */
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { retrying } from '../../runtime/process/retry.ts';
import type { Books } from '../ledger/books.ts';
import { Broadcaster } from './broadcaster.ts';
import { ChainBook } from './chain-book.ts';
import type { Figures } from '../metrics.ts';
import type { LedgerWriter } from '../ledger/ledger-writer.ts';
import { assertAuthority } from './mint-authority.ts';
import { Minter } from './minter.ts';
import type { MintSigner } from './mint-signer.ts';
import type { News } from '../news.ts';

export interface MintingOptions {
  readonly signer: MintSigner;
  readonly node: ChainNode;
  readonly chain_id: number;
  /** why nothing may be minted now; undefined when it may */
  readonly allowed: () => string | undefined;
  /** how often it is looked whether time alone has made something due */
  readonly every_ms: number;
  /** how long after it was sent a mint that no block has is sent again */
  readonly again_ms: number;
  /** how long after it was requested a mint that no block has is a matter for a person */
  readonly late_ms: number;
  /** another name than that of `chain.blocks` */
  readonly chain_topic?: string;
  /** Unix milliseconds, by default the clock's */
  readonly now?: () => number;
}

export function chainTopicOf({ chain_topic: topic }: MintingOptions): string {
  return topic ?? CHAIN_BLOCKS.name;
}

interface Surroundings {
  readonly books: Books;
  readonly news: News;
  readonly figures: Figures;
  readonly appender: LedgerWriter;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** resolves once the ledger, the addresses and the chain are read to where they end now, or the signal is aborted */
  readonly catchUp: () => Promise<void>;
}

export class Minting {
  readonly topic: string;
  readonly chain: ChainBook;
  readonly #minter: Minter;
  readonly #broadcaster: Broadcaster;
  readonly #everyMs: number;
  readonly #news: News;
  readonly #signal: AbortSignal;

  constructor(options: MintingOptions, around: Surroundings) {
    const { signer, now = Date.now } = options;
    this.topic = chainTopicOf(options);
    this.chain = new ChainBook(this.topic, signer.address);
    const { log, signal } = around;
    const look = (): Promise<void> =>
      retrying({ what: 'asking the node for its chain', log, signal }, () =>
        assertAuthority(options),
      );
    this.#minter = new Minter({ ...around, ...options, look, chain: this.chain, now });
    this.#broadcaster = new Broadcaster({
      ...around,
      ...options,
      chain: this.chain,
      minter: this.#minter,
      now,
    });
    this.#everyMs = options.every_ms;
    this.#news = around.news;
    this.#signal = around.signal;
  }

  /** That the reserve keeps minting closed is told by the reconciliation. */
  get problem(): HealthProblem | undefined {
    const { halted } = this.#minter;
    if (halted !== undefined) return { status: 'halted', phase: 'minting', message: halted };
    return this.#broadcaster.problem;
  }

  /** Why nothing is minted at this moment; undefined when it is. */
  get closed(): string | undefined {
    return this.#minter.closed;
  }

  /** Requests and concludes what is due; false when nothing was. */
  round(): Promise<boolean> {
    return this.#minter.round();
  }

  /** Sends what counts, until the signal is aborted. */
  async run(): Promise<void> {
    await this.#minter.begin();
    this.#news.tell();
    // a window moves and a mint is due again without anything to read
    const ticking = setInterval(() => this.#news.tell(), this.#everyMs);
    try {
      while (!this.#signal.aborted) {
        const { next } = this.#news;
        await this.#broadcaster.pass();
        await next;
      }
    } finally {
      clearInterval(ticking);
    }
  }
}
