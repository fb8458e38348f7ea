/**
 * A second CLT node, which has to show the same final blocks before anything is minted or
 * concluded. `chain.blocks` is the word of one node; two of them would have to lie alike.
 *
 * The newest final block of the log is held against the second node's block at that height, by its
 * hash. An outcome of a mint counts only when the second node's block shows it, too: no rule says
 * how a block's hash follows from its transactions, so a node could show true hashes and false
 * transactions.
 */
import { bytesKey, toHex } from '../../../schemas/address.ts';
import { claimsIn, type Sender, type SentTransaction } from '../../../projections/chain/sender.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import { restartWith } from '../../runtime/process/config.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { untilAborted } from '../../runtime/process/retry.ts';

/** Final blocks that the second node may be behind, about 20 s of a chain with one a second. */
const BEHIND_MAX = 20;

export interface SecondNodeOptions {
  readonly node: Pick<ChainNode, 'chain' | 'block'>;
  readonly chain_id: number;
  /** the transactions of the mint authority in force */
  readonly sender: () => Sender;
  /** the nonces of mints in flight */
  readonly live: () => Iterable<number>;
  readonly log: Logger;
}

export class SecondNode {
  readonly #options: SecondNodeOptions;
  /** the block being asked about, until the second node has it as a final one */
  #asked: { readonly height: number; readonly hash: Buffer } | undefined;
  #agreedHeight = -1;
  /** hashes of transactions with the nonces of mints in flight, which both nodes show */
  #seen: ReadonlySet<string> = new Set();
  #fault: string | undefined;
  #disagreement: string | undefined;

  constructor(options: SecondNodeOptions) {
    this.#options = options;
  }

  /** Height of the newest final block that both nodes show; -1 before the first. */
  get agreed_height(): number {
    return this.#agreedHeight;
  }

  get disagrees(): boolean {
    return this.#disagreement !== undefined;
  }

  /** Why nothing may be minted or concluded. */
  get problem(): HealthProblem | undefined {
    const phase = 'minting';
    if (this.#disagreement !== undefined)
      return { status: 'halted', phase, message: this.#disagreement };
    const message = this.#fault ?? this.#behind;
    return message === undefined
      ? undefined
      : { status: 'waiting', phase, waits_for: 'node', message };
  }

  /** The authority's final transaction with this nonce, once both nodes show it. */
  finalAt(nonce: number): SentTransaction | undefined {
    const found = this.#options.sender().finalAt(nonce);
    return found !== undefined && this.problem === undefined && this.#isSeen(found)
      ? found
      : undefined;
  }

  /** Asks again and again until the signal is aborted; `onAnswer` after each round. */
  async run(every_ms: number, signal: AbortSignal, onAnswer: () => void): Promise<void> {
    while (!signal.aborted) {
      await this.ask();
      onAnswer();
      await untilAborted(every_ms, signal);
    }
  }

  /** Asks about the newest final block and the outcomes in it and below, unless both are known. */
  async ask(): Promise<void> {
    const { sender, log } = this.#options;
    const newest = sender().final_block;
    if (newest === undefined || this.disagrees) return;
    const block = (this.#asked ??= newest);
    const outcomes = this.#outcomes(block.height);
    if (block.height === this.#agreedHeight && outcomes.length === 0 && this.#fault === undefined) {
      this.#asked = undefined;
      return;
    }
    try {
      const isFinal = await this.#isFinal(block.height);
      if (isFinal) this.#disagreement = await this.#compare(block, outcomes);
      this.#fault = undefined;
      if (!isFinal) return;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (this.#fault === undefined) log.warn({ err: error }, 'the second node does not answer');
      this.#fault = `minting waits for the second node (APP_SECOND_NODE_URL): ${error.message}`;
      return;
    }
    this.#asked = undefined;
    if (this.#disagreement !== undefined) {
      log.fatal({ height: block.height }, 'minting halted: the two CLT nodes disagree');
      return;
    }
    this.#agreedHeight = block.height;
    this.#seen = new Set([...this.#seen, ...outcomes.map(({ tx_hash }) => bytesKey(tx_hash))]);
  }

  get #behind(): string | undefined {
    const { final_height: finalHeight } = this.#options.sender();
    const behind = finalHeight - this.#agreedHeight;
    if (finalHeight < 0 || (this.#agreedHeight >= 0 && behind <= BEHIND_MAX)) return undefined;
    return `minting waits for the second node (APP_SECOND_NODE_URL): block ${finalHeight} is final in chain.blocks, and the second node has confirmed ${this.#agreedHeight < 0 ? 'none yet' : `blocks up to ${this.#agreedHeight}`}. What to do: look whether the second node follows the chain`;
  }

  /** The outcomes of mints in flight up to a height that the second node was not asked about. */
  #outcomes(height: number): readonly SentTransaction[] {
    const { sender, live } = this.#options;
    const ended = [...live()].flatMap((nonce) => sender().finalAt(nonce) ?? []);
    this.#seen = new Set(
      ended.filter((each) => this.#isSeen(each)).map(({ tx_hash }) => bytesKey(tx_hash)),
    );
    return ended.filter((each) => each.block_height <= height && !this.#isSeen(each));
  }

  #isSeen({ tx_hash }: SentTransaction): boolean {
    return this.#seen.has(bytesKey(tx_hash));
  }

  async #isFinal(height: number): Promise<boolean> {
    const { node, chain_id } = this.#options;
    const theirs = await node.chain();
    if (theirs.chain_id !== chain_id)
      throw new Fault(
        'another_chain',
        `it serves chain ${theirs.chain_id}, this service is set to ${chain_id}: correct APP_SECOND_NODE_URL`,
        { retry: true },
      );
    return theirs.finalized_height >= height;
  }

  /** How the nodes contradict each other; undefined when they agree. */
  async #compare(
    newest: { readonly height: number; readonly hash: Buffer },
    outcomes: readonly SentTransaction[],
  ): Promise<string | undefined> {
    const { node, sender } = this.#options;
    const heights = new Set([newest.height, ...outcomes.map(({ block_height }) => block_height)]);
    for (const height of heights) {
      const theirs = await node.block(height);
      if (theirs === undefined)
        throw new Fault('chain_node', `it has no block ${height}, which it calls final`, {
          retry: true,
        });
      const sent = outcomes.filter(({ block_height }) => block_height === height);
      const hash = sent[0]?.block_hash ?? newest.hash;
      if (!theirs.hash.equals(hash))
        return disagreement(
          `final block ${height} is ${toHex(hash)} in chain.blocks and ${toHex(theirs.hash)} at the second node`,
        );
      const shown = claimsIn(theirs, sender().address);
      const missing = sent.find((ours) => !shown.some((each) => isSame(each, ours)));
      if (missing !== undefined)
        return disagreement(
          `the second node's final block ${height} does not show the mint authority's transaction ${toHex(missing.tx_hash)} with the outcome that it has in chain.blocks`,
        );
    }
    return undefined;
  }
}

function isSame(one: SentTransaction, other: SentTransaction): boolean {
  return (
    one.nonce === other.nonce &&
    one.tx_hash.equals(other.tx_hash) &&
    one.minted?.amount === other.minted?.amount &&
    (one.minted?.to.equals(other.minted?.to ?? Buffer.alloc(0)) ?? true)
  );
}

function disagreement(how: string): string {
  return `minting halted: the two CLT nodes disagree: ${how}. What to do: ask a third node which of the two is right; correct APP_SECOND_NODE_URL if the second one is wrong (${restartWith('treasury', 'APP_SECOND_NODE_URL=URL')}), else correct APP_NODE_URL, write chain.blocks again (CHN-6), then ${restartWith('treasury', 'APP_NODE_URL=URL')}. Nothing is minted or concluded meanwhile`;
}
