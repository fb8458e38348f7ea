/**
 * Money that arrived and is not in the ledger yet, which is no surplus. It is searched where a
 * balance changed since the money in custody was explained last, again after growing pauses while a
 * surplus stays: a provider may list a transfer late, or fail for one address or transaction.
 */
import { bytesKey } from '../../../schemas/address.ts';
import type { FoundTransfer } from '../../../schemas/treasury-api/arrivals.ts';
import { LIST_ARRIVALS } from '../../../schemas/treasury-api/document.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { transfersIn } from '../../../schemas/trongrid.ts';
import type { Holder, Receipts } from '../../../projections/reserve/position.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { served } from '../../runtime/http/served.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { BAD_ANSWER, nextPage, type ListRequest } from '../../runtime/trongrid/trongrid.ts';
import type { BalanceProvider, Readings, Sum } from './readings.ts';

/** Block time before the newest known transfer that is listed again, for rows listed late. */
const OVERLAP_MS = 3_600_000;
/** In one run; the search continues in the next. */
const LISTS_MAX = 40;
const RECEIPTS_MAX = 200;
/** The machines of the provider agree about blocks of this age. */
const SETTLED_MS = 60_000;

interface Arrival {
  readonly holder: Holder;
  readonly tx_id: Buffer;
  readonly value: bigint;
  /** Unix milliseconds, of TRON */
  readonly block_timestamp: number;
}

export interface ArrivalOptions {
  readonly provider: Pick<BalanceProvider, 'list' | 'receipt'>;
  readonly readings: Readings;
  readonly receipts: Receipts;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  /** transfers from these addresses bring nothing */
  readonly isOurs: (address: Buffer) => boolean;
  /** deposits up to this offset are in the ledger */
  readonly ledger_offset: bigint;
  /** earlier arrivals explain nothing: they should be in the ledger. Unix milliseconds, of TRON */
  readonly since: number;
  /** TRON's time when the balances were read */
  readonly read_at: number;
  /** the surplus to explain */
  readonly wanted: bigint;
  /** the provider fails for this address, or for a transfer to it */
  readonly onBadAnswer: (address: Buffer, error: Fault) => void;
}

export class Arrivals {
  readonly #found = new Map<string, Arrival>();

  /** Transfers that the newest run has found, by address and transaction. */
  get found(): readonly FoundTransfer[] {
    return [...this.#found.values()].map(({ holder, tx_id }) => ({
      address: toTronAddress(holder.address),
      tron_tx_id: tx_id.toString('hex'),
    }));
  }

  /**
   * Sum of the solidified transfers to these addresses that are not in the ledger, read from their
   * receipts. The newest may have arrived after the balance was read: they explain at most what is
   * left of `wanted`. `blocked`: the part at addresses that the token blocks. An address or a
   * transaction with a bad answer is left out. Throws the provider's other faults.
   */
  async at(holders: readonly Holder[], options: ArrivalOptions): Promise<Sum> {
    const { readings, wanted, read_at, since } = options;
    const left = { receipts: RECEIPTS_MAX };
    for (const holder of readings.changed(holders, read_at).slice(0, LISTS_MAX)) {
      if (left.receipts === 0) break;
      await tolerant(options, holder, () => this.#search(holder, options, left));
      if (left.receipts > 0) readings.searched(holder, read_at, read_at - since);
    }
    this.#forget(options);
    const settled = { free: 0n, blocked: 0n };
    const newest = { free: 0n, blocked: 0n };
    for (const { holder, value, block_timestamp: blockTimestamp } of this.#found.values()) {
      const sums = blockTimestamp <= read_at - SETTLED_MS ? settled : newest;
      sums[readings.isBlocked(holder) ? 'blocked' : 'free'] += value;
    }
    const sure = settled.free + settled.blocked;
    if (sure + newest.free + newest.blocked >= wanted) readings.settle();
    const counted = smaller(wanted > sure ? wanted - sure : 0n, newest.free + newest.blocked);
    // which of the newest were there is not known: no more is called free than surely is
    const blocked = settled.blocked + counted - smaller(counted, newest.free);
    return { total: sure + counted, blocked };
  }

  /** Forgets what the ledger knows by now, and what should be there. */
  #forget({ receipts, ledger_offset: ledgerOffset, since }: ArrivalOptions): void {
    for (const [key, { holder, tx_id, block_timestamp: blockTimestamp }] of this.#found) {
      const isKnown = receipts.of(holder, ledgerOffset).some((each) => each.tx_id.equals(tx_id));
      if (isKnown || blockTimestamp < since) this.#found.delete(key);
    }
  }

  async #search(
    holder: Holder,
    options: ArrivalOptions,
    left: { receipts: number },
  ): Promise<void> {
    const { provider, usdt_contract, receipts, ledger_offset: ledgerOffset, since } = options;
    const { address } = holder;
    const known = receipts.of(holder, ledgerOffset);
    const seen = new Set(known.map(({ tx_id }) => bytesKey(tx_id)));
    const newest = known.reduce(
      (latest, { block_timestamp: blockTimestamp }) => Math.max(latest, blockTimestamp),
      0,
    );
    const from = Math.max(0, since, newest - OVERLAP_MS);
    let next: ListRequest | undefined = { address, min_timestamp: from, after: undefined };
    while (next !== undefined && left.receipts > 0) {
      const page = await provider.list(next);
      for (const { tx_id, contract } of page.rows) {
        const key = bytesKey(tx_id);
        if (seen.has(key) || contract?.equals(usdt_contract) === false || left.receipts === 0)
          continue;
        seen.add(key);
        left.receipts--;
        await tolerant(options, holder, () => this.#read(tx_id, holder, options));
      }
      next = nextPage(next, page);
    }
  }

  async #read(
    tx_id: Buffer,
    holder: Holder,
    { provider, usdt_contract, since, isOurs }: ArrivalOptions,
  ): Promise<void> {
    const receipt = await provider.receipt(tx_id);
    const read = receipt === undefined ? undefined : transfersIn(receipt, usdt_contract);
    if (receipt === undefined || read === undefined || 'problem' in read) return;
    const { block_timestamp } = receipt;
    if (block_timestamp < since) return;
    const value = read.value
      .filter(({ from, to }) => to.equals(holder.address) && !isOurs(from))
      .reduce((sum, transfer) => sum + transfer.value, 0n);
    const key = `${bytesKey(tx_id)}${holder.key}`;
    if (value > 0n) this.#found.set(key, { holder, tx_id, value, block_timestamp });
  }
}

/** A bad answer about one address or transaction is told, and is no fault of the others. */
async function tolerant(
  { onBadAnswer }: Pick<ArrivalOptions, 'onBadAnswer'>,
  { address }: Holder,
  ask: () => Promise<void>,
): Promise<void> {
  try {
    await ask();
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== BAD_ANSWER) throw error;
    onBadAnswer(address, error);
  }
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

export function arrivalsRoute(arrivals: Pick<Arrivals, 'found'>): GetRoute {
  return served(LIST_ARRIVALS, () => ({
    status: 200,
    body: JSON.stringify({ arrivals: arrivals.found }),
  }));
}
