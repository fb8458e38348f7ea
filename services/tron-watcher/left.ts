/** The money that has left the deposit addresses, from their balances and the log. */
import type { Entry } from './read-model.ts';

/** The most that a node's balance may be behind the log: a head that old is reported. */
const LAG_MS = 300_000;

interface Compared {
  /** micro-USDT: the balance, and the transfers in the log */
  readonly balance: bigint;
  readonly observed: bigint;
  /** Unix milliseconds */
  readonly at: number;
}

/**
 * The least that has left each address: what it had received by the log a while ago, less its
 * balance now, so that a node which lags counts no deposit as gone. It only grows: a balance above
 * the log's sum less this has money that the log lacks. An address that nothing has left takes no
 * memory, each other one about 150 bytes. It begins anew with the process: what arrives before an
 * address was compared twice is left to cross-checks and the treasury.
 */
export class Left {
  /** micro-USDT, by derivation index */
  readonly #left = new Map<number, bigint>();
  /** the log's sum at a comparison before, where the balance was less */
  readonly #before = new Map<number, Pick<Compared, 'observed' | 'at'>>();

  /** micro-USDT */
  of({ derivation_index: derivationIndex }: Entry): bigint {
    return this.#left.get(derivationIndex) ?? 0n;
  }

  compared(
    { derivation_index: derivationIndex }: Entry,
    { balance, observed, at }: Compared,
  ): void {
    const before = this.#before.get(derivationIndex);
    if (observed <= balance) this.#before.delete(derivationIndex);
    else if (before === undefined) this.#before.set(derivationIndex, { observed, at });
    else if (at - before.at >= LAG_MS) {
      const left = before.observed - balance;
      if (left > (this.#left.get(derivationIndex) ?? 0n)) this.#left.set(derivationIndex, left);
      this.#before.set(derivationIndex, { observed, at });
    }
  }

  /** No list explains the balance by this: a node was behind for longer, or a row never comes. */
  forget({ derivation_index: derivationIndex }: Entry): void {
    this.#left.delete(derivationIndex);
    this.#before.delete(derivationIndex);
  }
}
