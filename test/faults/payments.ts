/** Payments of a run to deposit addresses on TRON, and the deposits that are compared with them. */
import { parseTronAddress } from '../../schemas/tron-address.ts';

/** A transfer log that is a deposit. */
export interface Payable {
  /** the deposit address, in base58 */
  readonly to: string;
  readonly value: bigint;
}

/** A deposit as the read model has it. */
export interface DepositRow {
  readonly tx_id: Buffer;
  readonly log_index: number;
  readonly deposit_address: Buffer;
  readonly gross: string;
}

type Admin = (path: string, body: object) => Promise<Readonly<Record<string, unknown>>>;

const TOLD_MAX = 5;

export class Payments {
  /** by `keyOf` */
  readonly payables = new Map<string, Payable>();
  readonly #admin: Admin;

  /** `admin` asks the devnet's operator. */
  constructor(admin: Admin) {
    this.#admin = admin;
  }

  /** How many transfer logs that are deposits. */
  get made(): number {
    return this.payables.size;
  }

  /** Pays these in one block, each by a transaction of its own. */
  async pay(payables: readonly Payable[]): Promise<void> {
    if (payables.length === 0) return;
    const transfers = payables.map(({ to, value }) => ({ to, value: String(value) }));
    const { transaction_ids: ids } = await this.#admin('/tron/block', { transfers });
    if (!Array.isArray(ids) || ids.length !== payables.length)
      throw new Error('the devnet has not made all transactions');
    for (const [at, payable] of payables.entries()) this.count(String(ids[at]), 0, payable);
  }

  count(transaction: string, logIndex: number, payable: Payable): void {
    this.payables.set(keyOf(transaction, logIndex), payable);
  }

  /**
   * Payments that are no deposit, or one of another amount or address; and deposits that nobody
   * paid, but for so many that somebody forged.
   */
  unlike(rows: readonly DepositRow[], forged = 0): readonly string[] {
    const found = new Map(
      rows.map((row) => [keyOf(row.tx_id.toString('hex'), row.log_index), row]),
    );
    const wrong: string[] = [];
    for (const [key, { to, value }] of this.payables) {
      const row = found.get(key);
      if (row === undefined) wrong.push(`${key} was paid and is no deposit`);
      else if (
        BigInt(row.gross) !== value ||
        parseTronAddress(to)?.equals(row.deposit_address) !== true
      )
        wrong.push(
          `${key} paid ${value} to ${to}, and is a deposit of ${row.gross} to ${row.deposit_address.toString('hex')}`,
        );
    }
    const unpaid = [...found.keys()].filter((key) => !this.payables.has(key));
    if (unpaid.length !== forged)
      wrong.push(
        `${unpaid.length} deposits were not paid, ${forged} were forged: ${unpaid.slice(0, TOLD_MAX).join(', ')}`,
      );
    if (found.size !== rows.length) wrong.push('a payment is a deposit twice');
    return wrong.length > TOLD_MAX
      ? [
          ...wrong.slice(0, TOLD_MAX),
          `${wrong.length} payments and deposits in all are not the same`,
        ]
      : wrong;
  }
}

function keyOf(transaction: string, logIndex: number): string {
  return `${transaction}/${logIndex}`;
}
