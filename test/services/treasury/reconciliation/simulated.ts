/** Logs in memory and a TRON whose money a test moves between any two requests. */
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { Receipts } from '../../../../projections/reserve/position.ts';
import { ChainSupply } from '../../../../projections/reserve/supply.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { ListedRow } from '../../../../schemas/trongrid.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import type { BalanceProvider } from '../../../../services/treasury/reconciliation/custody.ts';
import {
  measure,
  type Measured,
  type MeasureOptions,
} from '../../../../services/treasury/reconciliation/measure.ts';
import { ChainByHand, named } from '../../../support/chain-by-hand.ts';
import { confirmedEvent, depositEvents, placed } from '../../../support/deposit-events.ts';
import { BEGIN, USDT_CONTRACT } from '../../../support/deposit-log.ts';

export const USD = 1_000_000n;
export const DAY_MS = 86_400_000;
export const CUSTODY = named('custody');
const HOLDER = named('holder');
const AUTHORITY = named('authority');

interface Paid {
  readonly tx_id: Buffer;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly value: bigint;
  readonly at: number;
  readonly listed: boolean;
}

export class Simulated {
  readonly ledger = new Ledger();
  readonly receipts = new Receipts();
  readonly supply = new ChainSupply();
  /** done before each question about a balance, with how many there were before */
  beforeBalance: (asked: number) => void = () => undefined;
  /** done before a log is looked at */
  beforeCatchUp: (which: string) => void = () => undefined;
  asked = 0;
  /** progress of the newest measurement */
  planned = 0;
  read = 0;
  /** the number of balance requests that a stale machine answers with 0 */
  stale = 0;
  head = BEGIN;
  readonly #chain = new ChainByHand();
  readonly #paid: Paid[] = [];

  constructor() {
    this.#chain.append({ effects: [{ address: HOLDER, kind: 'mint', delta: 1_000n * USD }] });
    this.finalize();
    this.#append({
      type: 'PolicySet',
      sequence: 0,
      version: 1,
      network: 'testnet',
      ...NETWORK_LIMITS.testnet,
      decided_at: BEGIN,
    });
  }

  /** Moves an amount on TRON, immediately and finally. */
  pay(
    to: Buffer,
    value: bigint,
    { from = HOLDER, listed = true }: { readonly from?: Buffer; readonly listed?: boolean } = {},
  ): Buffer {
    const tx_id = named(`payment ${this.#paid.length}`, 32);
    this.#paid.push({ tx_id, from, to, value, at: ++this.head, listed });
    return tx_id;
  }

  /** The ledger learns of a payment: it costs 2 USD. Gives the deposit's id. */
  confirm(tx_id: Buffer): string {
    const paid = this.#paid.find((each) => each.tx_id.equals(tx_id));
    if (paid === undefined) throw new Error('there is no such payment');
    const { to, value: gross, at } = paid;
    const event = confirmedEvent({
      tx_id,
      deposit_address: to,
      clt_address: to,
      gross,
      credit: gross - 2n * USD,
      block_timestamp: at,
    });
    this.#append(event);
    return event.deposit_id;
  }

  /** A deposit of so much, from the payment to the final mint. */
  credited(to: Buffer, value: bigint): void {
    const id = this.confirm(this.pay(to, value));
    const tx_hash = named(`mint ${this.#chain.height}`, 32);
    this.#append(
      depositEvents(id).intended({
        to,
        amount: value - 2n * USD,
        nonce: this.#chain.height,
        tx_hash,
      }),
    );
    this.mint(to, value - 2n * USD, tx_hash);
    this.finalize();
  }

  /** A mint on the chain, in a block that is not final yet. */
  mint(to: Buffer, amount: bigint, hash = named('nobody intended this', 32)): void {
    const transaction = { from: AUTHORITY, to, hash, function_call_type: 'Mint', amount };
    const effect = {
      address: to,
      kind: 'mint',
      delta: amount,
      tx_index: 0,
      counterparty: AUTHORITY,
    };
    this.#chain.append({ transactions: [transaction], effects: [effect] });
  }

  finalize(): void {
    this.#chain.finalize();
    for (const event of this.#chain.log.slice(Number(this.supply.end)))
      this.supply.apply(event, BigInt(event.sequence));
  }

  get height(): number {
    return this.#chain.height;
  }

  balanceOf(address: Buffer): bigint {
    const moved = this.#paid.map(
      ({ from, to, value }) =>
        (to.equals(address) ? value : 0n) - (from.equals(address) ? value : 0n),
    );
    return moved.reduce((sum, value) => sum + value, 0n);
  }

  get provider(): BalanceProvider {
    return {
      head: () => Promise.resolve({ number: 1, timestamp: this.head }),
      balance: (address) => {
        this.beforeBalance(this.asked++);
        return Promise.resolve(this.stale-- > 0 ? 0n : this.balanceOf(address));
      },
      list: ({ address, min_timestamp: from }) => {
        const rows = this.#paid.filter(
          ({ to, at, listed }) => listed && to.equals(address) && at >= from,
        );
        return Promise.resolve({ rows: rows.map(rowOf), fingerprint: undefined });
      },
      receipt: (tx_id) => Promise.resolve(this.#receipt(tx_id)),
    };
  }

  measure(change: Partial<MeasureOptions> = {}): Promise<Measured> {
    return measure({ ...this.options, ...change });
  }

  get options(): MeasureOptions {
    return {
      logs: this.#logs,
      provider: this.provider,
      usdt_contract: USDT_CONTRACT,
      custody_addresses: [CUSTODY],
      tolerance: 0n,
      block_age_max_ms: 0,
      arriving_max_ms: DAY_MS,
      progress: { planned: (count) => void (this.planned = count), read: () => void this.read++ },
      now: () => BEGIN,
    };
  }

  get #logs(): MeasureOptions['logs'] {
    const { ledger, receipts, supply } = this;
    const catchUp = (which: string): Promise<void> => {
      this.beforeCatchUp(which);
      return Promise.resolve();
    };
    return { ledger, receipts, supply, catchUp };
  }

  #receipt(txId: Buffer): Awaited<ReturnType<BalanceProvider['receipt']>> {
    const paid = this.#paid.find(({ tx_id }) => tx_id.equals(txId));
    if (paid === undefined) return undefined;
    const { from, to, value, at } = paid;
    const topic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
    const log = {
      contract: USDT_CONTRACT,
      topics: [topic, word(from), word(to)],
      data: value.toString(16).padStart(64, '0'),
    };
    return { tx_id: txId, block_number: 1, block_timestamp: at, succeeded: true, logs: [log] };
  }

  #append(event: TreasuryEvent): void {
    const { end } = this.ledger;
    const [written = event] = placed([event], Number(end));
    if (this.ledger.apply(written, end) !== 'applied')
      throw new Error(`${event.type} does not count`);
    if (written.type === 'DepositConfirmed') this.receipts.add(written, end);
  }
}

function rowOf({ tx_id, at }: Paid): ListedRow {
  return { tx_id, block_timestamp: at, contract: USDT_CONTRACT };
}

function word(address: Buffer): string {
  return address.toString('hex').padStart(64, '0');
}
