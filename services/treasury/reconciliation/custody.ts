/**
 * Custody: the USDT of all deposit addresses that ever received, and of the custody addresses. A
 * balance that cannot be read is a fault, never 0.
 */
import type { TronGrid } from '../../runtime/trongrid/trongrid.ts';

/** Micro-USDT by the address' bytes in latin1. */
export type Balances = ReadonlyMap<string, bigint>;

export type BalanceProvider = Pick<TronGrid, 'head' | 'balance' | 'list' | 'receipt'>;

/** The progress of reading balances. */
export interface Progress {
  /** the balances to read at the beginning; a few that change meanwhile are added */
  planned(balances: number): void;
  read(): void;
}

/** One at a time, as the provider demands. */
export async function readBalances(
  provider: Pick<BalanceProvider, 'balance'>,
  addresses: readonly Buffer[],
  progress: Pick<Progress, 'read'>,
): Promise<Balances> {
  const balances = new Map<string, bigint>();
  for (const address of addresses) {
    const key = address.toString('latin1');
    if (balances.has(key)) continue;
    balances.set(key, await provider.balance(address));
    progress.read();
  }
  return balances;
}

/** Later readings of an address replace earlier ones. */
export function totalOf(...readings: readonly Balances[]): bigint {
  const newest = new Map<string, bigint>();
  for (const reading of readings)
    for (const [address, balance] of reading) newest.set(address, balance);
  return [...newest.values()].reduce((sum, balance) => sum + balance, 0n);
}

export function isSame(one: Balances, other: Balances): boolean {
  return (
    one.size === other.size &&
    [...one].every(([address, balance]) => other.get(address) === balance)
  );
}
