/** The transfers that deposit addresses received, from the ledger. */
import type { DepositConfirmed } from '../../schemas/treasury.ledger/events.ts';

export interface Received {
  readonly tx_id: Buffer;
  /** offset of its DepositConfirmed in treasury.ledger */
  readonly offset: bigint;
  /** Unix milliseconds, of the block on TRON */
  readonly block_timestamp: number;
}

export class Receipts {
  /** by the address' bytes in latin1, in the order of the ledger */
  readonly #byAddress = new Map<string, Received[]>();
  #newest = 0;

  /** Takes each DepositConfirmed that counts, in order. */
  add({ tx_id, deposit_address, block_timestamp }: DepositConfirmed, offset: bigint): void {
    const key = deposit_address.toString('latin1');
    const received = { tx_id, offset, block_timestamp };
    const known = this.#byAddress.get(key);
    if (known === undefined) this.#byAddress.set(key, [received]);
    else known.push(received);
    this.#newest = Math.max(this.#newest, block_timestamp);
  }

  /** Block time of the newest deposit, 0 before the first: TRON is solid up to there. */
  get newest_block_timestamp(): number {
    return this.#newest;
  }

  /** In the order of first deposits; with an offset, only those with a deposit from there on. */
  addresses(fromOffset = 0n): readonly Buffer[] {
    return [...this.#byAddress]
      .filter(([, received]) => (received.at(-1)?.offset ?? -1n) >= fromOffset)
      .map(([key]) => Buffer.from(key, 'latin1'));
  }

  /** An address' transfers before this ledger offset. */
  of(address: Buffer, beforeOffset: bigint): readonly Received[] {
    return (this.#byAddress.get(address.toString('latin1')) ?? []).filter(
      ({ offset }) => offset < beforeOffset,
    );
  }
}
