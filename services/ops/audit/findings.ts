/** The checks of an audit, and the violations that it found. */
import { brokenRule, type TopicRules } from '../../../schemas/rules.ts';

/** I9 and I10 are about answers and log lines, which no topic has. */
export const INVARIANTS = {
  I1: 'every USDT transfer to a deposit address is one deposit, on the terms of the policy in force, and every deposit is such a transfer',
  I2: 'a deposit is minted at most once, and nothing is minted that the ledger did not request or acknowledge',
  I3: 'what is minted is what the ledger credits, to the owner of the deposit address',
  I4: 'within 24 hours at most the rolling cap is minted, and outside the limits of a single mint, or of money that was among ours, only with an approval',
  I5: 'what arrived is minted, kept as fee, held or paid back, to the micro-USDT, at every offset',
  I6: 'a status moves only along the arrows of its machine',
  I7: 'what a projection has applied is the log, every record of it once and in order',
  I8: 'the read model of deposits is what the ledger says at the same offset',
  I11: 'only the first block and Mints create supply, only burns destroy it, and all other balance effects add up to nothing',
  I12: 'a reserve run says what follows from its ledger offset, its final block and its reading of custody',
  I13: 'no mint is requested after a reserve run that forbids it, until one that allows it',
  I14: 'every decision of a person has the signature of an operator in force, or of the mint authority where only it may decide',
  I15: 'every record keeps the rules of its fields',
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

/** For each invariant, so that many violations of one hide none of another. */
const VIOLATIONS_MAX = 20;

const NONE: Readonly<Record<Invariant, number>> = {
  I1: 0,
  I2: 0,
  I3: 0,
  I4: 0,
  I5: 0,
  I6: 0,
  I7: 0,
  I8: 0,
  I11: 0,
  I12: 0,
  I13: 0,
  I14: 0,
  I15: 0,
};

export class Findings {
  /** the first ones of each invariant, in the order in which they were found */
  readonly violations: Violation[] = [];
  /** how many checks were made, by invariant */
  readonly checked = { ...NONE };
  /** how many did not hold */
  readonly violated = { ...NONE };

  get violation_count(): number {
    return Object.values(this.violated).reduce((sum, count) => sum + count, 0);
  }

  /** `check` at one position. */
  at(position: LogPosition) {
    return (invariant: Invariant, holds: boolean, what: () => string): void =>
      this.check(invariant, position, holds, what);
  }

  /** Checks the rules of an event's fields; true when it keeps them. */
  rules<Event extends { readonly type: string }>(
    rules: TopicRules<Event>,
    event: Event,
    position: LogPosition,
  ): boolean {
    const rule = brokenRule(rules, event);
    this.check('I15', position, rule === undefined, () => `${event.type} has no effect: ${rule}`);
    return rule === undefined;
  }

  /** Counts a check; without `holds` it is a violation. */
  check(invariant: Invariant, position: LogPosition, holds: boolean, what: () => string): void {
    this.checked[invariant]++;
    if (holds) return;
    this.violated[invariant]++;
    if (this.violated[invariant] <= VIOLATIONS_MAX)
      this.violations.push({ ...position, invariant, what: what() });
  }
}
