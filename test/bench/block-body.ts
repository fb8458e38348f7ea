import type { BalanceEffect } from '../../schemas/chain.blocks/events.ts';
import type { Random } from '../support/random.ts';
import { carryOut, NOBODY, WHALE, type Call, type Scene } from './calls.ts';
import type { Ledger } from './ledger.ts';
import type { Plan } from './plan.ts';

type BlockEffectKind = Parameters<Scene['move']>[1] | 'tx_fee_earned' | 'block_reward';

/** The balance effects of the block being made. */
export class BlockBody implements Scene {
  readonly random: Random;
  readonly addresses: readonly Buffer[];
  readonly effects: BalanceEffect[] = [];
  readonly #ledger: Ledger;
  sender = NOBODY;
  other = NOBODY;
  /** of the transaction being made; null: of the block itself */
  index: number | null = null;

  constructor(random: Random, ledger: Ledger, addresses: readonly Buffer[]) {
    this.random = random;
    this.#ledger = ledger;
    this.addresses = addresses;
  }

  /** The transaction at `index`. */
  carryOut({ type, sender, other }: Plan): Call {
    this.sender = sender;
    this.other = other;
    return carryOut(type, this);
  }

  balance(account: number): number {
    return this.#ledger.balance(account);
  }

  changeSupply(delta: number): void {
    this.#ledger.changeSupply(BigInt(delta));
  }

  move(account: number, kind: BlockEffectKind, delta: number, counterparty: number | null): void {
    if (delta === 0) return;
    this.#ledger.move(account, delta);
    this.#effect(account, kind, BigInt(delta), counterparty);
  }

  mint(account: number, amount: number): void {
    this.changeSupply(amount);
    this.move(account, 'mint', amount, null);
  }

  mintToWhale(amount: bigint): void {
    this.#ledger.changeSupply(amount);
    this.#ledger.moveUncounted(WHALE);
    this.#effect(WHALE, 'mint', amount, null);
  }

  #effect(
    account: number,
    kind: BlockEffectKind,
    delta: bigint,
    counterparty: number | null,
  ): void {
    const address = this.addresses[account];
    if (address === undefined) throw new Error(`there is no account ${account}`);
    const other = counterparty === null ? null : (this.addresses[counterparty] ?? null);
    this.effects.push({ address, kind, delta, tx_index: this.index, counterparty: other });
  }
}
