/**
 * Holds the refunds of the ledger against TRON. A refund is a person's word that money left
 * custody; it explains missing money once TRON shows it.
 */
import { isOurs } from '../../../projections/deposits/domain/confirmation.ts';
import { whyNotPaidBack } from '../../../projections/deposits/domain/proof.ts';
import { transfersIn, type TronReceipt } from '../../../schemas/trongrid.ts';
import type { Receiving, TreasuryContext } from '../ledger/ledger-writer.ts';

export interface RefundProofsOptions
  extends Receiving, Pick<TreasuryContext, 'books' | 'signal' | 'log'> {
  /** what TRON shows of a transaction, once it is solidified; when missing, the log is believed */
  readonly receipt?: ((txId: Buffer) => Promise<TronReceipt | undefined>) | undefined;
}

type Options = RefundProofsOptions & { readonly again_ms: number };

export class RefundProofs {
  readonly #options: Options;
  /** by deposit: undefined where TRON shows that it was paid back, else why not */
  readonly #shown = new Map<string, string | undefined>();
  /** by deposit that TRON did not show, when it was asked last, on the monotonic clock */
  readonly #asked = new Map<string, number>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Without a provider the ledger is believed. */
  isPaidBack(depositId: string): boolean {
    if (this.#options.receipt === undefined) return true;
    return this.#shown.has(depositId) && this.#shown.get(depositId) === undefined;
  }

  /** Asks TRON once for each refund that it has not shown; true when it showed one. */
  async ask(): Promise<boolean> {
    const { books, receipt, signal, again_ms: againMs, log } = this.#options;
    let found = false;
    if (receipt === undefined) return found;
    for (const [id, refund] of books.ledger.refunds) {
      const at = performance.now();
      if (this.#shown.has(id) || at - (this.#asked.get(id) ?? Number.NEGATIVE_INFINITY) < againMs)
        continue;
      if (signal.aborted) return found;
      const shown = await receipt(refund.tron_tx_id);
      this.#asked.set(id, at);
      if (shown === undefined) continue;
      const read = transfersIn(shown, this.#options.usdt_contract);
      const why =
        'problem' in read ? read.problem : whyNotPaidBack(refund, read.value, this.#isOurs);
      this.#shown.set(id, why);
      found = true;
      if (why !== undefined)
        log.error(
          { deposit_id: id, tron_tx_id: refund.tron_tx_id.toString('hex'), reason: why },
          'a refund in the ledger is not what TRON shows: find out who recorded it',
        );
    }
    return found;
  }

  readonly #isOurs = (address: Buffer): boolean =>
    isOurs(this.#options.books.ledger, address, this.#options);
}
