/** Custody: USDT of deposit and custody addresses. An unreadable balance is a fault, never 0. */
import { transfersIn } from '../../../schemas/trongrid.ts';
import type { Received } from '../../../projections/reserve/position.ts';
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

/** Block time before the newest known transfer that is listed again, for rows listed late. */
const OVERLAP_MS = 3_600_000;
const RECEIPTS_MAX = 200;

export interface Holding {
  readonly address: Buffer;
  readonly balance: bigint;
  /** its transfers in the ledger */
  readonly known: readonly Received[];
}

export interface ArrivingOptions {
  readonly provider: Pick<BalanceProvider, 'list' | 'receipt'>;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  /** earlier arrivals explain nothing: they should be in the ledger. Unix milliseconds, of TRON */
  readonly since: number;
  /** the search ends at this sum */
  readonly wanted: bigint;
}

/**
 * Sum of the solidified transfers to these addresses that are not in the ledger, read from
 * receipts, so that they do not count as unexplained money; at most `wanted`: part of it may have
 * been swept. Skips empty addresses. Throws the provider's faults.
 */
export async function arrivingAt(
  holdings: readonly Holding[],
  options: ArrivingOptions,
): Promise<bigint> {
  const { wanted } = options;
  const left = { receipts: RECEIPTS_MAX };
  let sum = 0n;
  for (const holding of holdings) {
    if (holding.balance === 0n || sum >= wanted || left.receipts === 0) continue;
    sum += await arrivedAt(holding, options, left);
  }
  return sum < wanted ? sum : wanted;
}

async function arrivedAt(
  { address, known }: Holding,
  { provider, usdt_contract, since }: ArrivingOptions,
  left: { receipts: number },
): Promise<bigint> {
  const seen = new Set(known.map(({ tx_id }) => tx_id.toString('latin1')));
  const newest = known.reduce((latest, { block_timestamp: at }) => Math.max(latest, at), 0);
  const from = Math.max(0, since, newest - OVERLAP_MS);
  let sum = 0n;
  let after: { readonly fingerprint: string; readonly block_timestamp: number } | undefined;
  do {
    const { rows, fingerprint } = await provider.list({ address, min_timestamp: from, after });
    for (const { tx_id, contract } of rows) {
      const key = tx_id.toString('latin1');
      if (seen.has(key) || contract?.equals(usdt_contract) === false || left.receipts === 0)
        continue;
      seen.add(key);
      left.receipts--;
      const receipt = await provider.receipt(tx_id);
      const read = receipt === undefined ? undefined : transfersIn(receipt, usdt_contract);
      if (
        receipt === undefined ||
        receipt.block_timestamp < since ||
        read === undefined ||
        'problem' in read
      )
        continue;
      for (const { from: payer, to, value } of read.value)
        if (to.equals(address) && !payer.equals(address)) sum += value;
    }
    const last = rows.at(-1);
    after =
      fingerprint === undefined || last === undefined
        ? undefined
        : { fingerprint, block_timestamp: last.block_timestamp };
  } while (after !== undefined && left.receipts > 0);
  return sum;
}
