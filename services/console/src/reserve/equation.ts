/** Custody as the sum of what it is for: exact, for every run. Amounts are base units, as text. */
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { grouped } from '../format.ts';

export type Part =
  'liability' | 'minting' | 'waiting' | 'held' | 'fees' | 'booked' | 'refunded' | 'surplus';

type Amounts = Pick<
  RecordedRun,
  | 'ledger_liability'
  | 'custody_reported'
  | 'held'
  | 'retained_fees'
  | 'minting'
  | 'waiting'
  | 'booked_surplus'
  | 'refunded'
  | 'surplus'
>;

/** The parts whose sum is `custody_reported`. Rare ones are left out where they are zero. */
export function partsOf(run: Amounts): readonly (readonly [Part, bigint])[] {
  const [minting, waiting] = [BigInt(run.minting), BigInt(run.waiting)];
  const parts: readonly (readonly [Part, bigint])[] = [
    ['liability', BigInt(run.ledger_liability)],
    ['minting', minting],
    ['waiting', waiting],
    ['held', BigInt(run.held) - minting - waiting],
    ['fees', BigInt(run.retained_fees)],
    ['booked', BigInt(run.booked_surplus)],
    ['refunded', -BigInt(run.refunded)],
    ['surplus', BigInt(run.surplus)],
  ];
  return parts.filter(([part, of]) => of !== 0n || (part !== 'booked' && part !== 'refunded'));
}

/** The part of custody that is left for the liability once all other parts are served. */
export function backingOf({ ledger_liability, surplus }: Amounts): bigint {
  return BigInt(ledger_liability) + BigInt(surplus);
}

/** Backing of one unit of liability, cut off after 4 decimals; undefined: nothing is owed. */
export function coverOf(run: Amounts): string | undefined {
  const liability = BigInt(run.ledger_liability);
  if (liability <= 0n) return undefined;
  const backing = backingOf(run);
  const scaled = (backing * 10_000n) / liability;
  // a part of a ten-thousandth that is missing is no cover
  const cut = backing < 0n && (backing * 10_000n) % liability !== 0n ? scaled - 1n : scaled;
  const size = cut < 0n ? -cut : cut;
  return `${cut < 0n ? '−' : ''}${grouped(size / 10_000n)}.${String(size % 10_000n).padStart(4, '0')}`;
}

/** Supply on the chain that genesis and liability do not explain. */
export function unexplainedOf(
  run: Pick<RecordedRun, 'onchain_supply' | 'genesis_allocation' | 'ledger_liability'>,
): bigint {
  const expected = BigInt(run.genesis_allocation) + BigInt(run.ledger_liability);
  return BigInt(run.onchain_supply) - expected;
}
