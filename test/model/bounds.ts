/**
 * Bounds of the search of the mint protocol: `npm test` takes the short ones, `npm run test:faults
 * -- model` all.
 */
import type { Bound, Mutant } from './mint-protocol.ts';

export interface NamedBound extends Bound {
  readonly name: string;
  /** fewer would mean that something is no longer tried */
  readonly states_min: number;
  /** there is room for every deposit to be credited */
  readonly credits: boolean;
}

export const SHORT_BOUNDS: readonly NamedBound[] = [
  {
    name: 'two deposits until both are credited',
    deposits: 2,
    records: 4,
    human: 0,
    pending: 2,
    credits: true,
    states_min: 8_000,
  },
  {
    name: 'one deposit, a mint that is not carried out and is approved',
    deposits: 1,
    records: 4,
    human: 0,
    pending: 1,
    failures: 1,
    credits: true,
    states_min: 8_000,
  },
  {
    name: 'one deposit, a rotation and a forged end of a mint, nobody else at the key',
    deposits: 1,
    records: 4,
    human: 0,
    pending: 1,
    rotates: true,
    forged: 1,
    credits: true,
    states_min: 15_000,
  },
  {
    name: 'two deposits, one that waits for an operator and a forged approval',
    deposits: 2,
    records: 3,
    human: 0,
    pending: 1,
    held: true,
    forged: 1,
    credits: false,
    states_min: 5_000,
  },
  {
    name: 'one deposit, a forged mint or a forged credit that is void',
    deposits: 1,
    records: 4,
    human: 0,
    pending: 1,
    forged: 1,
    forges_mints: true,
    credits: true,
    states_min: 15_000,
  },
  {
    name: 'two deposits, no compare-and-set',
    deposits: 2,
    records: 4,
    human: 0,
    pending: 1,
    compare_and_set: false,
    credits: true,
    states_min: 20_000,
  },
];

export const LONG_BOUNDS: readonly NamedBound[] = [
  ...SHORT_BOUNDS,
  {
    name: 'two deposits, an operator who releases mints, nobody else at the key',
    deposits: 2,
    records: 4,
    human: 0,
    pending: 1,
    releases: true,
    credits: true,
    states_min: 25_000,
  },
  {
    name: 'one deposit, a node that lies next to one that does not',
    deposits: 1,
    records: 3,
    human: 1,
    pending: 1,
    lies: true,
    credits: true,
    states_min: 30_000,
  },
  {
    name: 'one deposit',
    deposits: 1,
    records: 4,
    human: 1,
    pending: 1,
    credits: true,
    states_min: 45_000,
  },
  {
    name: 'two deposits',
    deposits: 2,
    records: 3,
    human: 1,
    pending: 1,
    credits: false,
    states_min: 30_000,
  },
  {
    name: 'one deposit, a rotation and a forged end of a mint',
    deposits: 1,
    records: 4,
    human: 1,
    pending: 1,
    rotates: true,
    forged: 1,
    credits: true,
    states_min: 250_000,
  },
  {
    name: 'two deposits, an operator who releases mints and rotates the authority',
    deposits: 2,
    records: 4,
    human: 0,
    pending: 1,
    releases: true,
    rotates: true,
    credits: true,
    states_min: 40_000,
  },
  {
    name: 'two deposits, an operator who releases mints, and a forged end of a mint',
    deposits: 2,
    records: 5,
    human: 0,
    pending: 1,
    releases: true,
    forged: 1,
    credits: true,
    states_min: 200_000,
  },
  {
    name: 'two deposits, a forged mint or a forged credit that is void',
    deposits: 2,
    records: 5,
    human: 0,
    pending: 1,
    forged: 1,
    forges_mints: true,
    credits: true,
    states_min: 200_000,
  },
  {
    name: 'one deposit, a forged mint or a forged credit, and a person at the key',
    deposits: 1,
    records: 5,
    human: 1,
    pending: 1,
    forged: 1,
    forges_mints: true,
    credits: true,
    states_min: 300_000,
  },
  {
    name: 'one deposit, a mint that is not carried out, is approved and credited',
    deposits: 1,
    records: 5,
    human: 1,
    pending: 1,
    failures: 1,
    credits: true,
    states_min: 300_000,
  },
  {
    name: 'one deposit, a person twice, two blocks deep',
    deposits: 1,
    records: 3,
    human: 2,
    pending: 2,
    credits: true,
    states_min: 100_000,
  },
  {
    name: 'one deposit, five records, two blocks deep',
    deposits: 1,
    records: 5,
    human: 1,
    pending: 2,
    credits: true,
    states_min: 100_000,
  },
  {
    name: 'two deposits and a person until both are credited',
    deposits: 2,
    records: 4,
    human: 1,
    pending: 1,
    credits: true,
    states_min: 100_000,
  },
  {
    name: 'one deposit, no compare-and-set',
    deposits: 1,
    records: 4,
    human: 1,
    pending: 1,
    compare_and_set: false,
    credits: true,
    states_min: 250_000,
  },
];

const MUTANT_BOUND: Bound = { deposits: 1, records: 3, human: 1, pending: 1 };

/** Half a million states until it is found: left to `npm run test:faults -- model`. */
export const SLOW_MUTANTS: ReadonlySet<string> = new Set(['one_sequence_of_nonces']);

/** The bound in which a mutant is looked for. */
export function boundOf(mutant: Mutant): Bound {
  const changes: Partial<Record<Mutant, Partial<Bound>>> = {
    dead_by_its_nonce: { human: 0, forged: 1 },
    dead_when_unknown: { human: 0 },
    released_and_approved: { records: 4, human: 0, releases: true },
    one_sequence_of_nonces: { records: 6, rotates: true },
    unsigned_decisions: { human: 0, forged: 1, held: true },
    one_node_believed: { lies: true },
  };
  return { ...MUTANT_BOUND, ...changes[mutant], mutant };
}
