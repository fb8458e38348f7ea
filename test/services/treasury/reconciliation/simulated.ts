/** Logs in memory and a TRON whose money a test moves between any two requests. */
import { bytesKey } from '../../../../schemas/address.ts';
import type { HumanDecision } from '../../../../schemas/operator-signature.ts';
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { Receipts } from '../../../../projections/reserve/position.ts';
import { ChainSupply } from '../../../../projections/reserve/supply.ts';
import {
  creditOf,
  feeOf,
  NETWORK_LIMITS,
  type PolicyLimits,
} from '../../../../schemas/deposit-policy.ts';
import type { ListedRow, TokenState } from '../../../../schemas/trongrid.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { TOKEN_FUNCTIONS } from '../../../../schemas/tron-balances.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { BAD_ANSWER, PAGE_ROWS } from '../../../../services/runtime/trongrid/trongrid.ts';
import { Arrivals } from '../../../../services/treasury/reconciliation/arrivals.ts';
import {
  measure,
  type Measured,
  type MeasureOptions,
} from '../../../../services/treasury/reconciliation/measure.ts';
import {
  Readings,
  type BalanceProvider,
} from '../../../../services/treasury/reconciliation/readings.ts';
import { ChainByHand, named, type TransactionByHand } from '../../../support/chain-by-hand.ts';
import { confirmedEvent, depositEvents, placed } from '../../../support/deposit-events.ts';
import { BEGIN, USDT_CONTRACT } from '../../../support/deposit-log.ts';
import { alice, BY, operatorsSet, signed } from '../../../support/operators.ts';

export const USD = 1_000_000n;
export const DAY_MS = 86_400_000;
export const CUSTODY = named('custody');
export const ALICE = named('alice');
export const BOB = named('bob');
const HOLDER = named('holder');
/** Every deposit has the fee of the first. */
const ONE_FEE: PolicyLimits = {
  ...NETWORK_LIMITS.testnet,
  later_fee: NETWORK_LIMITS.testnet.first_fee,
};
export const UNTOUCHED: TokenState = {
  paused: false,
  deprecated: false,
  fee_basis_points: 0n,
  maximum_fee: 0n,
};
const AUTHORITY = named('authority');

interface Paid {
  readonly tx_id: Buffer;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly value: bigint;
  readonly at: number;
  listed: boolean;
}

interface Account {
  balance: bigint;
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
  /** addresses that the provider serves in one request; 1: it refuses batches */
  batch_max = 1;
  /** what the token does */
  token: TokenState = UNTOUCHED;
  /** single questions about the token and what it blocks */
  asked_token = 0;
  /** the keys of the addresses that the token blocks */
  readonly #blocked = new Set<string>();
  /** lists of transfers that were asked for */
  listed = 0;
  readonly readings = new Readings();
  readonly arrivals = new Arrivals();
  /** addresses of bad answers */
  readonly bad_answers: Buffer[] = [];
  /** throws to make the list of an address, or the receipt of a transaction, fail */
  beforeSearch: (asked: Buffer) => void = () => {};
  /** progress of the newest measurement */
  planned = 0;
  read = 0;
  /** the number of balance requests that a stale machine answers with 0 */
  stale = 0;
  head = BEGIN;
  readonly #chain = new ChainByHand();
  #nonce = 0;
  /** by the transaction's id in latin1 */
  readonly #paid = new Map<string, Paid>();
  /** by the receiver's bytes in latin1 */
  readonly #received = new Map<string, Paid[]>();
  /** by the address' bytes in latin1 */
  readonly #accounts = new Map<string, Account>();
  readonly #known = new WeakMap<Buffer, Account>();

  constructor(limits = ONE_FEE) {
    this.#chain.append({ effects: [{ address: HOLDER, kind: 'mint', delta: 1_000n * USD }] });
    this.finalize();
    this.append({
      type: 'PolicySet',
      sequence: 0,
      version: 1,
      network: 'testnet',
      ...limits,
      decided_at: BEGIN,
    });
  }

  /** Moves an amount on TRON, immediately and finally. */
  pay(
    to: Buffer,
    value: bigint,
    { from = HOLDER, listed = true }: { readonly from?: Buffer; readonly listed?: boolean } = {},
  ): Buffer {
    const tx_id = named(`payment ${this.#paid.size}`, 32);
    const paid = { tx_id, from, to, value, at: ++this.head, listed };
    this.#paid.set(bytesKey(tx_id), paid);
    this.#received.set(bytesKey(to), [...(this.#received.get(bytesKey(to)) ?? []), paid]);
    this.#account(from).balance -= value;
    this.#account(to).balance += value;
    return tx_id;
  }

  /** The provider lists a payment that it had left out. */
  list(tx_id: Buffer): void {
    const paid = this.#paid.get(bytesKey(tx_id));
    if (paid !== undefined) paid.listed = true;
  }

  /** The token lets nothing leave the address, or lets it again. */
  block(address: Buffer, isBlocked = true): void {
    if (isBlocked) this.#blocked.add(bytesKey(address));
    else this.#blocked.delete(bytesKey(address));
  }

  /** The ledger learns of a payment. Gives the deposit's id. */
  confirm(tx_id: Buffer): string {
    const paid = this.#paid.get(bytesKey(tx_id));
    const { policy } = this.ledger;
    if (paid === undefined || policy === undefined) throw new Error('there is no such payment');
    const { to, value: gross, at } = paid;
    const address_ordinal = this.ledger.depositsOf(to);
    const fee = feeOf(policy, address_ordinal);
    const event = confirmedEvent({
      tx_id,
      deposit_address: to,
      clt_address: to,
      gross,
      fee,
      credit: creditOf(gross, fee),
      address_ordinal,
      block_timestamp: at,
    });
    this.append(event);
    return event.deposit_id;
  }

  /** A deposit of so much, from the payment to the final mint. */
  credited(to: Buffer, value: bigint): void {
    this.requested([this.confirm(this.pay(to, value))]);
    this.finalize();
  }

  /** Mints of these deposits, intended and in one block that is not final yet. */
  requested(ids: readonly string[]): void {
    const mints = ids.map((id) => {
      const deposit = this.ledger.deposit(id);
      if (deposit.status !== 'confirmed') throw new Error(`${id} does not wait`);
      const { clt_address: cltAddress, credit: amount } = deposit.terms;
      const nonce = this.#nonce++;
      const tx_hash = named(`mint ${nonce}`, 32);
      this.append(depositEvents(id).intended({ to: cltAddress, amount, nonce, tx_hash }));
      return { to: cltAddress, amount, nonce, hash: tx_hash };
    });
    this.#mint(mints);
  }

  /** A mint on the chain that nobody intended, in a block that is not final yet. */
  mint(to: Buffer, amount: bigint): void {
    this.#mint([{ to, amount, hash: named('nobody intended this', 32) }]);
  }

  /** Burns so much of what the first block created. */
  burn(amount: bigint): void {
    this.#chain.append({ effects: [{ address: HOLDER, kind: 'burn', delta: -amount }] });
    this.finalize();
  }

  #mint(mints: readonly Omit<TransactionByHand, 'from'>[]): void {
    this.#chain.append({
      transactions: mints.map((mint) => ({
        from: AUTHORITY,
        function_call_type: 'Mint',
        ...mint,
      })),
      effects: mints.map(({ to, amount = 0n }, tx_index) => ({
        address: to,
        kind: 'mint',
        delta: amount,
        tx_index,
        counterparty: AUTHORITY,
      })),
    });
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
    return this.#account(address).balance;
  }

  /** Found by the object at first: a test asks for the same ones millions of times. */
  #account(address: Buffer): Account {
    const found = this.#known.get(address);
    if (found !== undefined) return found;
    const account = this.#accounts.get(bytesKey(address)) ?? { balance: 0n };
    this.#accounts.set(bytesKey(address), account);
    this.#known.set(address, account);
    return account;
  }

  get provider(): BalanceProvider {
    const answer = (address: Buffer): bigint => (this.stale-- > 0 ? 0n : this.balanceOf(address));
    const isBlocked = (address: Buffer): boolean => this.#blocked.has(bytesKey(address));
    return {
      head: () => Promise.resolve({ number: 1, timestamp: this.head }),
      balance: async (address) => {
        this.beforeBalance(this.asked++);
        return answer(address);
      },
      balances: async (addresses) => {
        if (this.batch_max === 1 || addresses.length > this.batch_max)
          throw new Fault(BAD_ANSWER, 'the provider refuses so many', { retry: true });
        this.beforeBalance(this.asked++);
        const balances = addresses.map((address) => ({
          balance: answer(address),
          is_blocked: isBlocked(address),
        }));
        return { token: this.token, balances };
      },
      isBlocked: (address) => {
        this.asked_token++;
        return Promise.resolve(isBlocked(address));
      },
      token: () => {
        this.asked_token += TOKEN_FUNCTIONS.length;
        return Promise.resolve(this.token);
      },
      list: async ({ address, min_timestamp: minTimestamp }) => {
        this.listed++;
        this.beforeSearch(address);
        const rows = (this.#received.get(bytesKey(address)) ?? []).filter(
          ({ at, listed }) => listed && at >= minTimestamp,
        );
        // a full page does not say that there are more
        const page = rows.slice(0, PAGE_ROWS).map(rowOf);
        return { rows: page, fingerprint: undefined };
      },
      receipt: async (tx_id) => {
        this.beforeSearch(tx_id);
        return this.#receipt(tx_id);
      },
    };
  }

  measure(change: Partial<MeasureOptions> = {}): Promise<Measured> {
    return measure({ ...this.options, ...change });
  }

  get options(): MeasureOptions {
    return {
      logs: this.#logs,
      provider: this.provider,
      saved: () => Promise.resolve(),
      readings: this.readings,
      arrivals: this.arrivals,
      refresh_requests: 10,
      usdt_contract: USDT_CONTRACT,
      custody_addresses: [CUSTODY],
      tolerance: 0n,
      block_age_max_ms: 0,
      arriving_max_ms: DAY_MS,
      progress: {
        planned: (_balances, requests) => void (this.planned = requests),
        read: () => void this.read++,
      },
      onBadAnswer: (address) => void this.bad_answers.push(address),
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
    const paid = this.#paid.get(bytesKey(txId));
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

  /** Writes a decision that the operator signs. */
  decide(decision: HumanDecision): void {
    if (this.ledger.governance.operators === undefined) this.append(operatorsSet(alice));
    this.append(signed({ ...decision, sequence: Number(this.ledger.end) }, alice));
  }

  book(amount: bigint): void {
    this.decide({ type: 'SurplusBooked', ...BY, amount });
  }

  /** Writes a record to the ledger. */
  append(event: TreasuryEvent): void {
    const { end } = this.ledger;
    const [written = event] = placed([event], Number(end));
    if (this.ledger.apply(written, end) !== 'applied')
      throw new Error(`${event.type} does not count`);
    if (written.type === 'DepositConfirmed') this.receipts.add(written, end);
  }
}

/** Alice and Bob have 8 USD each; what Bob paid was swept. */
export function world(): Simulated {
  const simulated = new Simulated();
  simulated.credited(ALICE, 10n * USD);
  simulated.credited(BOB, 10n * USD);
  simulated.pay(CUSTODY, 10n * USD, { from: BOB });
  return simulated;
}

/** Requests in a quiet world: Alice and Bob for the first time, then custody, both, and custody. */
export const QUIET_REQUESTS = 6;

function rowOf({ tx_id, at }: Paid): ListedRow {
  return { tx_id, block_timestamp: at, contract: USDT_CONTRACT };
}

function word(address: Buffer): string {
  return address.toString('hex').padStart(64, '0');
}
