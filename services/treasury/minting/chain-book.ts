/**
 * The mint authority's transactions in `chain.blocks`, and those of its Mints that the ledger does
 * not explain.
 */
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { Sender, type SentTransaction } from '../../../projections/chain/sender.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';

export class ChainBook {
  readonly sender: Sender;
  readonly #topic: string;
  /** final Mints without a known intent */
  #unexplained: SentTransaction[] = [];

  constructor(topic: string, authority: Buffer) {
    this.#topic = topic;
    this.sender = new Sender(authority, (transaction) => {
      if (transaction.function_call_type === 'Mint') this.#unexplained.push(transaction);
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
