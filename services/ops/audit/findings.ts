/** The checks of an audit, and the violations that it found. */

export const INVARIANTS = {
  I1: 'every USDT transfer to a deposit address is one deposit, on the terms of the policy in force, and every deposit is such a transfer',
  I2: 'a deposit is minted at most once, and nothing is minted that the ledger did not request',
  I3: 'what is minted is what the ledger credits, to the owner of the deposit address',
  I4: 'within 24 hours at most the rolling cap is minted, and outside the limits of a single mint only with an approval',
  I5: 'what arrived is minted, kept as fee, or held, to the micro-USDT, at every offset',
  I6: 'a status moves only along the arrows of its machine',
  I7: 'what a projection has applied is the log, every record of it once and in order',
  I8: 'the read model of deposits is what the ledger says at the same offset',
} as const;

export type Invariant = keyof typeof INVARIANTS;

/** A place in the log that a finding is about. */
export interface LogPosition {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

export interface Violation extends LogPosition {
  readonly invariant: Invariant;
  readonly what: string;
}

const VIOLATIONS_MAX = 100;

export class Findings {
  /** the first ones, in the order in which they were found */
  readonly violations: Violation[] = [];
  violationCount = 0;
  /** how many checks were made, by invariant */
  readonly checked = { I1: 0, I2: 0, I3: 0, I4: 0, I5: 0, I6: 0, I7: 0, I8: 0 };

  /** `check` at one position. */
  at(position: LogPosition) {
    return (invariant: Invariant, holds: boolean, what: () => string): void =>
      this.check(invariant, position, holds, what);
  }

  /** Counts a check; without `holds` it is a violation. */
  check(invariant: Invariant, position: LogPosition, holds: boolean, what: () => string): void {
    this.checked[invariant]++;
    if (holds) return;
    this.violationCount++;
    if (this.violations.length < VIOLATIONS_MAX)
      this.violations.push({ ...position, invariant, what: what() });
  }
}
