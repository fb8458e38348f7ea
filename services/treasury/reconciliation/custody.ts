/**
 * What is in custody: the USDT of every deposit address that ever received, and of the addresses
 * where swept money lies. All or nothing: a balance that cannot be read is a fault, never 0.
 */
import type { TronGrid } from '../../runtime/trongrid/trongrid.ts';

/** Micro-USDT by the address' bytes in latin1. */
export type Balances = ReadonlyMap<string, bigint>;

export type BalanceProvider = Pick<TronGrid, 'head' | 'balance' | 'list' | 'receipt'>;

/** Who wants to know how far the reading of balances is. */
export interface Progress {
  /** it begins: so many balances are to be read, and a few more of those that change meanwhile */
  planned(balances: number): void;
  read(): void;
}

/** One after the other: the provider allows no more. */
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

/** Later readings replace earlier ones of the same address. */
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
