/**
 * Violations that are known and not mended yet: each is recognized by its cause, so that none hides
 * another. A row goes when the code is mended.
 */
import { transferPartition } from '../../../schemas/tron-partition.ts';
import type { Violation } from './oracle.ts';
import type { World } from './world.ts';

interface Known {
  readonly why: string;
  readonly is: (violation: Violation, world: World) => boolean;
}

const KNOWN: readonly Known[] = [
  {
    why: 'a treasury that starts reads a partition from the newest confirmation on that is true: a forged one behind undecided transfers leaves these out',
    is: ({ kind }, { logs, depositors }) =>
      kind === 'a deposit stays absent and nobody is told' &&
      [...logs.confirmed.values()].some(
        ({ event, forged }) =>
          forged !== undefined &&
          event.transfer_offset > 0 &&
          depositors.some(({ address }) => transferPartition(address) === event.transfer_partition),
      ),
  },
  {
    why: 'an address of a payer that a stranger writes to deposit.addresses makes its deposits internal transfers, which custody need not cover',
    is: ({ invariant }, { logs, tron }) =>
      invariant === 'I-c' &&
      logs.of_addresses.some(
        ({ event, forged, counts }) =>
          forged !== undefined &&
          counts &&
          event.type === 'AddressRequested' &&
          tron.paid.some(({ from }) => event.deposit_address?.equals(from) === true),
      ),
  },
];

export const ENDLESS = 'a record makes the treasury work without end';

/** The violation, and why it is known, if it is. */
export function judged(violation: Violation, world: World): Violation {
  const known = KNOWN.find(({ is }) => is(violation, world))?.why;
  return known === undefined ? violation : { ...violation, known };
}
