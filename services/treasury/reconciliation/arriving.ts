/**
 * Money that is on a deposit address and that the ledger does not know of yet: the watcher asks
 * each address in its turn, a balance shows at once. It is told from money that nobody can explain
 * by its receipts.
 */
import { transfersIn } from '../../../schemas/trongrid.ts';
import type { Received } from '../../../projections/reserve/receipts.ts';
import type { BalanceProvider } from './custody.ts';

/**
 * A transfer may be listed late: so much before the newest known one is looked at again, in block
 * time.
 */
const OVERLAP_MS = 3_600_000;
const RECEIPTS_MAX = 200;

export interface Place {
  readonly address: Buffer;
  readonly balance: bigint;
  /** what the ledger knows came to it */
  readonly known: readonly Received[];
}

export interface ArrivingOptions {
  readonly provider: Pick<BalanceProvider, 'list' | 'receipt'>;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  /**
   * what arrived before should be in the ledger long since: it explains nothing. Unix milliseconds,
   * in TRON's time
   */
  readonly since: number;
  /** so much is enough: nothing more is looked for */
  readonly wanted: bigint;
}

/**
 * How much came to these addresses by transfers that are solid on TRON and not in the ledger; at
 * most what is wanted, which is what is there too much: part of it may have been swept already. An
 * address that is empty is not asked about. Throws the provider's faults.
 */
export async function arrivingAt(
  places: readonly Place[],
  options: ArrivingOptions,
): Promise<bigint> {
  const { wanted } = options;
  const left = { receipts: RECEIPTS_MAX };
  let sum = 0n;
  for (const place of places) {
    if (place.balance === 0n || sum >= wanted || left.receipts === 0) continue;
    sum += await arrivedAt(place, options, left);
  }
  return sum < wanted ? sum : wanted;
}

async function arrivedAt(
  { address, known }: Place,
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
