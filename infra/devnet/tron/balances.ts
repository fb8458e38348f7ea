/** Balances by TRC-20 contract and account. Only the USDT contract conserves its supply. */
import { AMOUNT_MAX } from '../../../schemas/money.ts';
import type { TokenLog } from './transaction.ts';

/** The USDT contract and its source of funds. */
export interface Mint {
  readonly contract: string;
  /** covers a sender's shortfall, so that every account can pay */
  readonly holder: string;
}

export class Balances {
  readonly #mint: Mint;
  readonly #below: Balances | undefined;
  readonly #amounts = new Map<string, bigint>();

  /** With `below`, an overlay that leaves those balances unchanged. */
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

  /** Applies one transaction's logs as net changes, so that a self-transfer needs no funds. */
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
