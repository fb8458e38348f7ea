/**
 * Transactions of the fault run of deposits: mostly to deposit addresses, and transfers that only
 * look like deposits.
 */
import { toTronAddress } from '../../schemas/tron-address.ts';
import { depositKey } from '../support/deposit-log.ts';
import type { Random } from '../support/random.ts';
import { COUNTERFEIT } from '../support/tron.ts';
import type { Payable, Payments } from './payments.ts';
import type { System } from './system.ts';

type Log = Readonly<Record<string, unknown>>;

/** A transaction to be made, and its logs that are deposits, by their index. */
interface Planned {
  readonly body: Log;
  readonly pays: ReadonlyMap<number, Payable>;
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
const NONE: Planned['pays'] = new Map();

export class MixedPayments {
  /** how many transactions of each kind */
  readonly kinds: Record<string, number> = {};
  readonly #admin: System['admin'];
  readonly #payments: Payments;
  readonly #random: Random;
  /** base58; the last one is nobody's */
  readonly #addresses: readonly string[];
  #held: Held[] = [];
  #huge = 1;

  /** `addresses`: how many are handed out in the end; they are paid from the beginning. */
  constructor(system: System, random: Random, addresses: number) {
    this.#admin = (path, body) => system.admin(path, body);
    this.#payments = system.payments;
    this.#random = random;
    const key = depositKey();
    this.#addresses = Array.from({ length: addresses + 1 }, (_, index) =>
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

  addressAt(index: number): string {
    return this.#addresses[index] ?? '';
  }

  /** A payment that is solid at once; gives its transaction's id. */
  async probe(to: string): Promise<string> {
    const value = this.#value();
    const { transaction_id: id } = await this.#admin('/tron/transfers', {
      to,
      value: String(value),
      solidified: true,
    });
    this.#tally('probe');
    this.#payments.count(String(id), 0, { to, value });
    return String(id);
  }

  /**
   * Releases all held transactions and waits until they are solid; returns the block time of the
   * last.
   */
  async settle(): Promise<number> {
    while (this.#held.length > 0) await this.#release();
    const { solidified }: { readonly solidified?: { readonly timestamp?: number } } =
      await this.#admin('/tron/solidify', {});
    if (solidified?.timestamp === undefined) throw new Error('the devnet has solidified nothing');
    return solidified.timestamp;
  }

  async #release(): Promise<void> {
    const later: Held[] = [];
    for (const each of this.#held) {
      if (this.#random.chance(0.3)) later.push(each);
      else if (this.#random.chance(0.5))
        await this.#admin('/tron/drop', { transaction_id: each.id });
      else {
        await this.#admin('/tron/solidify', { transaction_id: each.id });
        this.#count(each.id, each.pays);
      }
    }
    this.#held = later;
  }

  #count(id: string, pays: Planned['pays']): void {
    for (const [logIndex, payable] of pays) this.#payments.count(id, logIndex, payable);
  }

  #tally(kind: string): void {
    this.kinds[kind] = (this.kinds[kind] ?? 0) + 1;
  }

  #plan(): Planned {
    const random = this.#random;
    const kinds: readonly (readonly [weight: number, kind: string, plan: () => Planned])[] = [
      [62, 'transfer', () => this.#transfer()],
      [10, 'several logs', () => this.#several()],
      [4, 'between deposit addresses', () => this.#between()],
      [3, 'held back', () => ({ ...this.#transfer({ solidified: false }), held: true })],
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
      [1, 'to nobody', () => this.#none({ to: this.#addresses.at(-1) })],
    ];
    let ticket = random.below(kinds.reduce((sum, [weight]) => sum + weight, 0));
    const drawn = kinds.find(([weight]) => (ticket -= weight) < 0);
    if (drawn === undefined) throw new Error('a kind was drawn that there is not');
    this.#tally(drawn[1]);
    return drawn[2]();
  }

  #transfer(more: Log = {}): Planned {
    const payable = { to: this.#anybody(), value: this.#value() };
    return { body: { ...logOf(payable), ...more }, pays: new Map([[0, payable]]) };
  }

  /** Two to one and one to another, with what is none in between. */
  #several(): Planned {
    const [one, other] = [this.#anybody(), this.#anybody()];
    const log = (to: string): Log => logOf({ to, value: this.#value() });
    const noise: readonly Log[] = [
      { ...log(one), contract: COUNTERFEIT },
      { ...log(other), event: 'Approval' },
      logOf({ to: one, value: 0n }),
      log(this.#addresses.at(-1) ?? ''),
    ];
    const logs: Log[] = [];
    const pays = new Map<number, Payable>();
    for (const to of [one, other, one]) {
      if (this.#random.chance(0.3)) logs.push(this.#random.pick(noise));
      const payable = { to, value: this.#value() };
      pays.set(logs.length, payable);
      logs.push(logOf(payable));
    }
    return { body: { ...logOf({ to: one, value: 0n }), logs }, pays };
  }

  #between(): Planned {
    const from = this.#anybody();
    const planned = this.#transfer({ from });
    // to oneself nothing arrives
    return planned.body['to'] === from ? this.#toItself() : planned;
  }

  #toItself(): Planned {
    const address = this.#anybody();
    return this.#none({ to: address, from: address });
  }

  #none(more: Log): Planned {
    return {
      body: { ...logOf({ to: this.#anybody(), value: this.#value() }), ...more },
      pays: NONE,
    };
  }

  #anybody(): string {
    return this.addressAt(this.#random.below(this.#addresses.length - 1));
  }

  /** A random amount of any size class of the rules. */
  #value(): bigint {
    const random = this.#random;
    if (random.chance(0.1)) return BigInt(1 + random.below(3 * USD));
    if (random.chance(0.03)) return BigInt(random.pick([2, 2.5, 3, 1_002]) * USD);
    if (random.chance(0.03)) return BigInt(1_000 * USD + random.below(2_000 * USD));
    if (this.#huge > 0 && random.chance(0.02)) {
      this.#huge--;
      return HUGE;
    }
    return BigInt(3 * USD + random.below(100 * USD));
  }
}

function logOf({ to, value }: Payable): Log {
  return { to, value: String(value) };
}
