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
  | 'frozen'
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

/**
 * Custody that is not frozen, by liability, to 4 decimals; where there is a surplus, without what
 * is owed to others. Undefined: there is no liability.
 */
export function coverOf(run: Amounts): string | undefined {
  const liability = BigInt(run.ledger_liability);
  if (liability <= 0n) return undefined;
  const surplus = BigInt(run.surplus);
  const free = BigInt(run.custody_reported) - BigInt(run.frozen);
  const usable = surplus >= 0n && liability + surplus < free ? liability + surplus : free;
  const cut = ((usable > 0n ? usable : 0n) * 10_000n) / liability;
  return `${grouped(cut / 10_000n)}.${String(cut % 10_000n).padStart(4, '0')}`;
}

/** False where a gateway of an older version leaves figures out. */
export function isWhole(run: Partial<RecordedRun>): boolean {
  return run.surplus !== undefined && run.uncovered !== undefined;
}

/** Supply on the chain that genesis and liability do not explain. */
export function unexplainedOf(
  run: Pick<RecordedRun, 'onchain_supply' | 'genesis_allocation' | 'ledger_liability'>,
): bigint {
  const expected = BigInt(run.genesis_allocation) + BigInt(run.ledger_liability);
  return BigInt(run.onchain_supply) - expected;
}
