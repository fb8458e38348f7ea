/** TRON as one token's transfers, all of them solid: true arrivals, and money that is taken. */
import { bytesKey } from '../../../schemas/address.ts';
import type { TronReceipt } from '../../../schemas/trongrid.ts';
import type { BalanceProvider } from '../../../services/treasury/reconciliation/readings.ts';
import { CUSTODY, USDT_CONTRACT } from '../../support/deposit-log.ts';
import type { Random } from '../../support/random.ts';
import { providerOf } from './version.ts';

export { CUSTODY, USDT_CONTRACT };

/** The payers of deposits: exchanges, whose addresses come again and again. */
export const SENDERS: readonly Buffer[] = [Buffer.alloc(20, 0xf0), Buffer.alloc(20, 0xf1)];
/** Nobody of ours, to whom a robber sends. */
export const OUTSIDE = Buffer.alloc(20, 0x99);
const RICH = 10n ** 15n;
const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export interface Paid {
  readonly tx_id: Buffer;
  readonly from: Buffer;
  readonly to: Buffer;
  /** micro-USDT */
  readonly value: bigint;
  readonly block_number: number;
  /** Unix milliseconds */
  readonly block_timestamp: number;
}

export class SimulatedTron {
  /** every transfer, in order */
  readonly paid: Paid[] = [];
  /** no transaction has a receipt */
  hidden_receipts = false;
  readonly #balances = new Map<string, bigint>();
  readonly #now: () => number;
  readonly #onRequest: () => void;

  constructor(now: () => number, onRequest: () => void) {
    this.#now = now;
    this.#onRequest = onRequest;
  }

  /** In a transaction of its own. An address that is not ours is rich. */
  pay(from: Buffer, to: Buffer, value: bigint, random: Random): Paid {
    const block_number = 70_000_000 + this.paid.length;
    const paid = {
      tx_id: random.bytes(32),
      from,
      to,
      value,
      block_number,
      block_timestamp: this.#now(),
    };
    this.paid.push(paid);
    this.#balances.set(bytesKey(from), this.balanceOf(from) - value);
    this.#balances.set(bytesKey(to), this.balanceOf(to) + value);
    return paid;
  }

  balanceOf(address: Buffer): bigint {
    return this.#balances.get(bytesKey(address)) ?? (isRich(address) ? RICH : 0n);
  }

  /** As if nobody had ever paid to this address. */
  forget(address: Buffer): void {
    this.paid.splice(0, Infinity, ...this.paid.filter(({ to }) => !to.equals(address)));
    this.#balances.delete(bytesKey(address));
  }

  find(txId: Buffer): Paid | undefined {
    return this.paid.find(({ tx_id }) => tx_id.equals(txId));
  }

  get provider(): BalanceProvider {
    const answer = async <Value>(value: () => Value): Promise<Value> => {
      this.#onRequest();
      return value();
    };
    return providerOf({
      head: () => answer(() => ({ number: 70_000_000 + this.paid.length, timestamp: this.#now() })),
      balance: (address) => answer(() => this.balanceOf(address)),
      balances: (addresses) => answer(() => addresses.map((each) => this.balanceOf(each))),
      receipt: (txId) => answer(() => this.#receipt(txId)),
      list: ({ address, min_timestamp: from }) =>
        answer(() => ({
          rows: this.paid
            .filter(({ to, block_timestamp: at }) => to.equals(address) && at >= from)
            .map(({ tx_id, block_timestamp }) => ({
              tx_id,
              block_timestamp,
              contract: USDT_CONTRACT,
            })),
          fingerprint: undefined,
        })),
    });
  }

  #receipt(txId: Buffer): TronReceipt | undefined {
    const paid = this.find(txId);
    if (paid === undefined || this.hidden_receipts) return undefined;
    const { tx_id, from, to, value, block_number, block_timestamp } = paid;
    const log = {
      contract: USDT_CONTRACT,
      topics: [TRANSFER_TOPIC, word(from), word(to)],
      data: value.toString(16).padStart(64, '0'),
    };
    return { tx_id, block_number, block_timestamp, succeeded: true, logs: [log] };
  }
}

function isRich(address: Buffer): boolean {
  return address.equals(OUTSIDE) || SENDERS.some((each) => each.equals(address));
}

function word(address: Buffer): string {
  return address.toString('hex').padStart(64, '0');
}
