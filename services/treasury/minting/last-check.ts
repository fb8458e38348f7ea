/**
 * The last check before a Mint is signed. It shares no code with the fold, the policy or the
 * prover, so that one fault there mints nothing: a Mint is of more than nothing and of at most what
 * arrived less the fee, and all Mints together are of at most what arrived for them less the fees.
 */
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';

/** Micro-USDT, which are CLT base units. */
interface Terms {
  readonly gross: bigint;
  readonly fee: bigint;
}

export interface MintToSign {
  readonly deposit_id: string;
  readonly amount: bigint;
}

export class LastCheck {
  #state = {
    terms: new Map<string, Terms>(),
    /** the Mints of each deposit that were requested and not given up, the newest last */
    mints: new Map<string, readonly bigint[]>(),
    /** of all Mints that were requested and not given up */
    minted: 0n,
    /** what arrived, less the fees, for the deposits of those Mints, each counted once */
    covered: 0n,
  };

  /** Everything that was folded, to be copied at once: it changes with the next record. */
  get state() {
    return this.#state;
  }

  /** Goes on from the state of another. */
  restore(state: LastCheck['state']): void {
    this.#state = state;
  }

  /** Takes every event of the ledger that counts, in order. */
  apply(event: TreasuryEvent): void {
    // several deposits are decided together only where none has a mint
    if (!('deposit_id' in event)) return;
    const { deposit_id: depositId } = event;
    switch (event.type) {
      case 'DepositConfirmed':
        this.#state.terms.set(depositId, { gross: event.gross, fee: event.fee });
        return;
      case 'MintIntended':
        this.#set(depositId, [...this.#of(depositId), event.amount]);
        return;
      case 'MintDead':
      case 'MintVoided':
      case 'DepositHeld':
      case 'DepositRejected':
        // a deposit without a mint has none to give up
        this.#set(depositId, this.#of(depositId).slice(0, -1));
        return;
      case 'DepositApproved':
      case 'MintCredited':
      case 'RefundRecorded':
    }
  }

  /** Why the Mint must not be signed. `arrived`: as its transfer says, micro-USDT. */
  whyNot(
    { deposit_id: depositId, amount }: MintToSign,
    arrived: bigint | undefined,
  ): string | undefined {
    const terms = this.#state.terms.get(depositId);
    if (terms === undefined || arrived === undefined) return 'nothing shows that it has arrived';
    const { gross, fee } = terms;
    if (arrived !== gross) return `${arrived} arrived, and the ledger says ${gross}`;
    if (fee < 0n) return `its fee is ${fee}`;
    if (amount <= 0n || amount > arrived - fee)
      return `it is of ${amount}, and ${arrived} arrived less a fee of ${fee}`;
    return this.#state.minted <= this.#state.covered
      ? undefined
      : `all mints together are of ${this.#state.minted}, and ${this.#state.covered} arrived for them less fees`;
  }

  #of(id: string): readonly bigint[] {
    return this.#state.mints.get(id) ?? [];
  }

  #set(id: string, mints: readonly bigint[]): void {
    const before = this.#of(id);
    if (mints.length === before.length) return;
    const { gross, fee } = this.#state.terms.get(id) ?? { gross: 0n, fee: 0n };
    const net = gross > fee ? gross - fee : 0n;
    this.#state.minted += sumOf(mints) - sumOf(before);
    this.#state.covered += (mints.length > 0 ? net : 0n) - (before.length > 0 ? net : 0n);
    if (mints.length > 0) this.#state.mints.set(id, mints);
    else this.#state.mints.delete(id);
  }
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
