/**
 * Sends what was requested and counts, in the order of its nonces, again and again until a block has it: the same bytes each time, so that it does not matter how often,
 * nor by how many treasuries. What the node answers is counted and believed in nothing: a mint ends with a final block.
 */
import { toHex } from '../../../schemas/address.ts';
import type { RequestedMint } from '../../../projections/deposits/domain/ledger.ts';
import { mintCallOf, whyNotSigned } from '../../../projections/deposits/domain/minting.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { waitingFor, type HealthProblem } from '../../runtime/process/health.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Books } from '../ledger/books.ts';
import type { ChainBook } from './chain-book.ts';
import type { Figures } from '../metrics.ts';
import type { Minter } from './minter.ts';
import type { MintSigner } from './mint-signer.ts';

export interface BroadcasterOptions {
  readonly books: Books;
  readonly chain: ChainBook;
  readonly minter: Minter;
  readonly signer: MintSigner;
  readonly node: ChainNode;
  readonly figures: Figures;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** resolves once the ledger, the addresses and the chain are read to where they end now, or the signal is aborted */
  readonly catchUp: () => Promise<void>;
  /** how long after it was sent a mint that no block has is sent again */
  readonly again_ms: number;
  /** how long after it was requested a mint that no block has is a matter for a person */
  readonly late_ms: number;
  /** Unix milliseconds */
  readonly now: () => number;
}

export class Broadcaster {
  readonly #options: BroadcasterOptions;
  /** when each mint under way was last sent, by nonce, by the process' own clock */
  readonly #sent = new Map<number, number>();
  #fault: Fault | undefined;
  #notSigned: string | undefined;

  constructor(options: BroadcasterOptions) {
    this.#options = options;
  }

  /** What keeps mints from being sent; undefined when nothing does. */
  get problem(): HealthProblem | undefined {
    const phase = 'minting';
    if (this.#notSigned !== undefined) return { status: 'halted', phase, message: this.#notSigned };
    if (this.#fault !== undefined)
      return waitingFor(this.#fault, {
        message: `mints are not sent: ${this.#fault.message}`,
        phase,
      });
    const late = this.#late;
    return late === undefined
      ? undefined
      : { status: 'waiting', phase, waits_for: 'node', message: late };
  }

  /** Of a mint that is in no block though it was requested long ago. While nothing may be sent, whoever keeps it from being sent says so. */
  get #late(): string | undefined {
    const { books, chain, minter, late_ms: most, now } = this.#options;
    if (minter.closed !== undefined) return undefined;
    const at = now();
    for (const {
      deposit_id: id,
      nonce,
      tx_hash: hash,
      at: requested,
    } of books.ledger.live.values()) {
      if (at - requested <= most || chain.sender.has(nonce, hash)) continue;
      return `the mint of deposit ${id}, with nonce ${nonce}, was requested ${Math.round((at - requested) / 1_000)} s ago and is in no block: it is sent again and again. What to do: look what the node answers (treasury_broadcasts_total on /metrics), whether the chain-ingester works, and at the node's transactions of the mint authority before that nonce`;
    }
    return undefined;
  }

  /** Sends what is due, once. */
  async pass(): Promise<void> {
    const { books, minter, signal, catchUp } = this.#options;
    if (books.ledger.live.size === 0) this.#notSigned = undefined;
    for (const nonce of this.#sent.keys())
      if (!books.ledger.live.has(nonce)) this.#sent.delete(nonce);
    if (this.#due().length === 0) this.#fault = undefined;
    if (minter.closed !== undefined || this.#due().length === 0) return;
    await catchUp();
    try {
      for (const mint of this.#due()) {
        // asked anew before each: while one was sent, the reserve may have been found short
        if (signal.aborted || minter.closed !== undefined) return;
        await this.#send(mint);
      }
      this.#fault = undefined;
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry) throw error;
      // the rest waits for the next pass: a nonce without the one before it is of no use to the node
      this.#noteFault(error);
    }
  }

  /** Mints under way that no block has, as far as the log goes, and that were not sent a moment ago. */
  #due(): readonly RequestedMint[] {
    const { books, chain, again_ms: again } = this.#options;
    const now = performance.now();
    return [...books.ledger.live.values()].filter(
      ({ nonce, tx_hash }) =>
        !chain.sender.has(nonce, tx_hash) &&
        now - (this.#sent.get(nonce) ?? Number.NEGATIVE_INFINITY) >= again,
    );
  }

  async #send(mint: RequestedMint): Promise<void> {
    const { books, signer, node, figures, log } = this.#options;
    const why = whyNotSigned(books.ledger, mint);
    const { raw, tx_hash } = signer.sign(mintCallOf(mint));
    if (why !== undefined || !tx_hash.equals(mint.tx_hash)) {
      const reason = why ?? 'the key makes other bytes of it';
      this.#notSigned = `the mint of deposit ${mint.deposit_id} is not sent: ${reason}. What to do: look at the deposit with \`ops deposit show\`, and run \`ops audit\``;
      this.#sent.set(mint.nonce, performance.now());
      figures.broadcast('not_signed');
      log.error(
        { deposit_id: mint.deposit_id, nonce: mint.nonce, reason },
        'a mint was not signed',
      );
      return;
    }
    this.#sent.set(mint.nonce, performance.now());
    const { code: answer } = await node.submit(toHex(raw));
    if (answer === undefined)
      throw new Fault('chain_node', 'the CLT node refused a mint without a code', { retry: true });
    figures.broadcast(answer);
    log.debug(
      { deposit_id: mint.deposit_id, nonce: mint.nonce, tx_hash: toHex(tx_hash), answer },
      'a mint was sent',
    );
  }

  #noteFault(fault: Fault): void {
    const { log, figures } = this.#options;
    figures.broadcast('no_answer');
    if (this.#fault === undefined)
      log.warn({ err: fault }, 'the node did not take a mint, it is sent again');
    this.#fault = fault;
  }
}
