/** What every account owns of every TRC-20 contract. Only the USDT contract keeps its supply: a counterfeit one may write what it likes. */
import { AMOUNT_MAX } from '../../../schemas/money.ts';
import type { TokenLog } from './transaction.ts';

/** Who stands behind the USDT contract's money. */
export interface Mint {
  readonly contract: string;
  /** gives what a sender lacks, so that anybody can pay without being paid before */
  readonly holder: string;
}

export class Balances {
  readonly #mint: Mint;
  readonly #below: Balances | undefined;
  readonly #amounts = new Map<string, bigint>();

  /** On top of others, these begin as those are and leave them as they are. */
  constructor(mint: Mint, below?: Balances) {
    this.#mint = mint;
    this.#below = below;
  }

  at(contract: string, account: string): bigint {
    return this.#amounts.get(`${contract}:${account}`) ?? this.#below?.at(contract, account) ?? 0n;
  }

  set(contract: string, account: string, amount: bigint): void {
    this.#amounts.set(`${contract}:${account}`, amount);
  }

  /** What one transaction's logs did; what counts of it is the difference in the end, so that a self-transfer needs nothing. */
  move(logs: readonly TokenLog[]): void {
    for (const contract of new Set(logs.map((log) => log.contract))) {
      const deltas = new Map<string, bigint>();
      const add = (account: string, delta: bigint): unknown =>
        deltas.set(account, (deltas.get(account) ?? 0n) + delta);
      for (const log of logs) {
        if (log.event !== 'Transfer' || log.contract !== contract) continue;
        add(log.from, -log.value);
        add(log.to, log.value);
      }
      for (const [account, delta] of deltas) this.#change(contract, account, delta);
    }
  }

  #change(contract: string, account: string, delta: bigint): void {
    const after = this.at(contract, account) + delta;
    if (contract !== this.#mint.contract) {
      this.set(contract, account, after & AMOUNT_MAX);
      return;
    }
    this.set(contract, account, after > 0n ? after : 0n);
    if (after < 0n) {
      const rest = this.at(contract, this.#mint.holder) + after;
      if (account === this.#mint.holder || rest < 0n)
        throw new Error('more USDT was moved than there is');
      this.set(contract, this.#mint.holder, rest);
    }
  }
}
