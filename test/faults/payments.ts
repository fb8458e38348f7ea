/**
 * Payments on TRON during a fault run: mostly to deposit addresses, and transfers that only look
 * like deposits. This file knows which are deposits: the logs are compared with it.
 */
import { toTronAddress } from '../../schemas/tron-address.ts';
import { transferKey } from '../../schemas/tron.transfers/events.ts';
import { depositKey } from '../support/deposit-log.ts';
import type { Random } from '../support/random.ts';
import { COUNTERFEIT } from '../support/tron.ts';

/** A transfer log that is a deposit once its address is handed out. */
export interface Payable {
  readonly tx_id: Buffer;
  readonly log_index: number;
  /** of the deposit address */
  readonly index: number;
  readonly value: bigint;
  /** from another deposit address */
  readonly internal?: boolean;
}

type Log = Readonly<Record<string, unknown>>;

/** A transaction to be made, and its logs that are deposits. */
interface Planned {
  readonly body: Log;
  readonly pays: readonly Omit<Payable, 'tx_id'>[];
  /** held back until somebody says what becomes of it */
  readonly held?: boolean;
}

interface Held {
  readonly id: string;
  readonly pays: Planned['pays'];
}

const USD = 1_000_000;
const APPROVED = String(2n ** 256n - 1n);
/** One row in Avro's and JavaScript's dangerous range. */
const HUGE = 2n ** 53n + 1n;

export interface PaymentsOptions {
  /** of the devnet, without a path */
  readonly admin_url: string;
  readonly random: Random;
  /** how many addresses are handed out in the end; they are paid from the beginning */
  readonly addresses: number;
}

export class Payments {
  /** by transaction and log index */
  readonly payables = new Map<string, Payable>();
  /** how many transactions of each kind */
  readonly kinds: Record<string, number> = {};
  /**
   * indexes of deposit addresses that have paid others: their balance is less than their deposits
   */
  readonly senders = new Set<number>();
  readonly #options: PaymentsOptions;
  readonly #addresses: readonly string[];
  #held: Held[] = [];
  #huge = 1;

  constructor(options: PaymentsOptions) {
    this.#options = options;
    const key = depositKey();
    // the last one is nobody's
    this.#addresses = Array.from({ length: options.addresses + 1 }, (_, index) =>
      toTronAddress(key.addressAt(index)),
    );
  }

  get made(): number {
    return Object.values(this.kinds).reduce((sum, count) => sum + count, 0);
  }

  /** One block of this many transactions; some of the held ones become solid now, others never. */
  async block(transactions: number): Promise<void> {
    await this.#release();
    const planned = Array.from({ length: transactions }, () => this.#plan());
    const { transaction_ids: ids } = await this.#admin('/tron/block', {
      transfers: planned.map(({ body }) => body),
    });
    if (!Array.isArray(ids) || ids.length !== planned.length)
      throw new Error('the devnet has not made all transactions');
    for (const [at, { pays, held }] of planned.entries()) {
      const id = String(ids[at]);
      if (held === true) this.#held.push({ id, pays });
      else this.#count(id, pays);
    }
  }

  addressAt(index: number): string | undefined {
    return this.#addresses[index];
  }

  /** A payment that is solid at once; gives its transaction's id. */
  async probe(address: string): Promise<string> {
    const index = this.#addresses.indexOf(address);
    const pays = [{ log_index: 0, index, value: this.#value() }];
    const { transaction_id: id } = await this.#admin('/tron/transfers', {
      ...this.#log(index, pays[0]?.value ?? 0n),
      solidified: true,
    });
    this.#tally('probe');
    this.#count(String(id), pays);
    return String(id);
  }

  /**
   * Releases all held transactions and waits until they are solid; returns the block time of the
   * last.
   */
  async settle(): Promise<number> {
    while (this.#held.length > 0) await this.#release();
    const { solidified }: { readonly solidified?: { readonly timestamp?: number } } = Object(
      await this.#admin('/tron/solidify', {}),
    );
    if (solidified?.timestamp === undefined) throw new Error('the devnet has solidified nothing');
    return solidified.timestamp;
  }

  async #release(): Promise<void> {
    const { random } = this.#options;
    const later: Held[] = [];
    for (const each of this.#held) {
      if (random.chance(0.3)) later.push(each);
      else if (random.chance(0.5)) await this.#admin('/tron/drop', { transaction_id: each.id });
      else {
        await this.#admin('/tron/solidify', { transaction_id: each.id });
        this.#count(each.id, each.pays);
      }
    }
    this.#held = later;
  }

  #count(id: string, pays: Planned['pays']): void {
    const txId = Buffer.from(id, 'hex');
    for (const pay of pays)
      this.payables.set(transferKey(txId, pay.log_index), { tx_id: txId, ...pay });
  }

  #tally(kind: string): void {
    this.kinds[kind] = (this.kinds[kind] ?? 0) + 1;
  }

  #plan(): Planned {
    const { random } = this.#options;
    const kinds: readonly (readonly [weight: number, kind: string, plan: () => Planned])[] = [
      [62, 'transfer', () => this.#transfer()],
      [10, 'several logs', () => this.#several()],
      [4, 'between deposit addresses', () => this.#between()],
      [
        3,
        'held back',
        () => ({ ...this.#withBody(this.#transfer(), { solidified: false }), held: true }),
      ],
      [3, 'zero', () => this.#none({ value: '0' })],
      [3, 'to itself', () => this.#toItself()],
      [4, 'look-alike', () => this.#none({ contract: COUNTERFEIT })],
      [
        5,
        'reverted',
        () =>
          this.#none({
            outcome: random.pick(['REVERT', 'OUT_OF_ENERGY']),
            listed: random.chance(0.7),
          }),
      ],
      [3, 'approval', () => this.#none({ event: 'Approval', value: APPROVED })],
      [2, 'TRX or TRC-10', () => this.#none({ asset: random.pick(['TRX', 'TRC10']) })],
      [
        1,
        'to nobody',
        () => ({ body: this.#log(this.#options.addresses, this.#value()), pays: [] }),
      ],
    ];
    let ticket = random.below(kinds.reduce((sum, [weight]) => sum + weight, 0));
    const drawn = kinds.find(([weight]) => (ticket -= weight) < 0);
    if (drawn === undefined) throw new Error('a kind was drawn that there is not');
    this.#tally(drawn[1]);
    return drawn[2]();
  }

  #transfer(): Planned {
    const [index, value] = [this.#anybody(), this.#value()];
    return { body: this.#log(index, value), pays: [{ log_index: 0, index, value }] };
  }

  #withBody({ body, pays }: Planned, more: Log): Planned {
    return { body: { ...body, ...more }, pays };
  }

  /** Two to one and one to another, with what is none in between. */
  #several(): Planned {
    const [one, other] = [this.#anybody(), this.#anybody()];
    const noise: readonly Log[] = [
      { ...this.#log(one, this.#value()), contract: COUNTERFEIT },
      { ...this.#log(other, this.#value()), event: 'Approval' },
      this.#log(one, 0n),
      this.#log(this.#options.addresses, this.#value()),
    ];
    const logs: Log[] = [];
    const pays: Omit<Payable, 'tx_id'>[] = [];
    for (const index of [one, other, one]) {
      if (this.#options.random.chance(0.3)) logs.push(this.#options.random.pick(noise));
      const value = this.#value();
      pays.push({ log_index: logs.length, index, value });
      logs.push(this.#log(index, value));
    }
    return { body: { ...this.#log(one, 0n), logs }, pays };
  }

  #between(): Planned {
    const sender = this.#anybody();
    const { body, pays } = this.#transfer();
    const [pay] = pays;
    // to oneself nothing arrives
    if (pay === undefined || pay.index === sender) return this.#toItself();
    this.senders.add(sender);
    const from = this.#addresses[sender];
    return { body: { ...body, from }, pays: [{ ...pay, internal: true }] };
  }

  #toItself(): Planned {
    const address = this.#addresses[this.#anybody()];
    return { body: { to: address, from: address, value: String(this.#value()) }, pays: [] };
  }

  #none(more: Log): Planned {
    return { body: { ...this.#log(this.#anybody(), this.#value()), ...more }, pays: [] };
  }

  #log(index: number, value: bigint): Log {
    return { to: this.#addresses[index], value: String(value) };
  }

  #anybody(): number {
    return this.#options.random.below(this.#options.addresses);
  }

  /** A random amount of any size class of the rules. */
  #value(): bigint {
    const { random } = this.#options;
    if (random.chance(0.1)) return BigInt(1 + random.below(3 * USD));
    if (random.chance(0.03)) return BigInt(random.pick([2, 2.5, 3, 1_002]) * USD);
    if (random.chance(0.03)) return BigInt(1_000 * USD + random.below(2_000 * USD));
    if (this.#huge > 0 && random.chance(0.02)) {
      this.#huge--;
      return HUGE;
    }
    return BigInt(3 * USD + random.below(100 * USD));
  }

  async #admin(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${this.#options.admin_url}/admin${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return Object(JSON.parse(text));
  }
}
