/** The knowledge of a thief: true values that fit together, and values that may break something. */
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import { creditOf, feeOf, HOLD_REASONS } from '../../../schemas/deposit-policy.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import { addressOf, mallory } from '../../support/operators.ts';
import type { Random } from '../../support/random.ts';
import { CUSTODY, SENDERS, USDT_CONTRACT, type Paid } from './tron.ts';
import { ordinalOf } from './version.ts';
import { OPERATORS, type World } from './world.ts';

const USD = 1_000_000n;
const DAY_MS = 86_400_000;

/** By the name of a field. */
export type Subject = ReadonlyMap<string, unknown>;

export const AMOUNTS: readonly bigint[] = [
  -(10n ** 12n),
  -(10n ** 9n),
  -7n * USD,
  -USD,
  -1n,
  0n,
  1n,
  USD,
  50n * USD,
  10n ** 12n,
  10n ** 15n,
  2n ** 64n,
];

export const COUNTS: readonly number[] = [-1, 0, 1, 2, 5, 1_000_000, 2 ** 31 - 1];

export class Knowledge {
  readonly #world: World;
  readonly #random: Random;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
  }

  /** True values about one deposit, which may be the thief's invention, and about all that is. */
  subject(): Map<string, unknown> {
    const random = this.#random;
    const { ledger, confirmed } = this.#world.logs;
    const open = [...ledger.deposits].filter(
      ([id, { status }]) => status !== 'credited' && confirmed.has(id),
    );
    const any = [...ledger.deposits.keys()].filter((id) => confirmed.has(id));
    const unread = this.#unread();
    const chosen = random.pick(
      random.pick([
        ...repeated(5, open.length > 0 ? open.map(([id]) => id) : any),
        ...repeated(2, any),
        ...repeated(3, unread),
        ...repeated(1, this.#forgedTransfers()),
        ...repeated(2, ['']),
      ]),
    );
    const subject = this.#deposit(chosen);
    for (const [name, value] of this.#rest(chosen, subject)) subject.set(name, value);
    return subject;
  }

  /** A decision of some deposits that wait, with their sums. */
  together(): object {
    const random = this.#random;
    const ids: string[] = [];
    const sums = { gross: 0n, credit: 0n };
    for (const [id, deposit] of this.#world.logs.ledger.deposits) {
      if (deposit.status !== 'needs_manual' || deposit.rejected || random.chance(0.3)) continue;
      ids.push(id);
      sums.gross += deposit.terms.gross;
      sums.credit += deposit.terms.credit;
    }
    return { decision: random.pick(['approve', 'reject']), deposit_ids: ids, ...sums };
  }

  amount(): bigint {
    const { tron, logs } = this.#world;
    const true_ones = [
      ...tron.paid.map(({ value }) => value),
      ...[...logs.confirmed.values()].map(({ event }) => event.credit),
    ];
    const random = this.#random;
    const value =
      random.chance(0.3) && true_ones.length > 0 ? random.pick(true_ones) : random.pick(AMOUNTS);
    return random.chance(0.1) ? -value : value;
  }

  address(): Buffer {
    const random = this.#random;
    const { depositors, node } = this.#world;
    return random.pick([
      ...depositors.flatMap(({ account, address }) => [account, address]),
      ...SENDERS,
      ...OPERATORS,
      CUSTODY,
      USDT_CONTRACT,
      addressOf(mallory),
      node.all.at(-1)?.producer ?? CUSTODY,
      random.bytes(20),
      Buffer.alloc(20),
    ]);
  }

  hash(): Buffer {
    const random = this.#random;
    const { tron, logs, node } = this.#world;
    return random.pick([
      ...tron.paid.map(({ tx_id }) => tx_id),
      ...[...logs.ledger.requested].map(({ tx_hash }) => tx_hash),
      node.all.at(-1)?.hash ?? Buffer.alloc(32),
      random.bytes(32),
      random.bytes(32),
      Buffer.alloc(32),
    ]);
  }

  time(): number {
    const { now } = this.#world.time;
    return this.#random.pick([0, 1, now - DAY_MS, now, now + DAY_MS, 2 ** 45]);
  }

  /** Arrivals that the ledger does not have, by their ids. */
  #unread(): readonly string[] {
    const { tron, depositors, logs } = this.#world;
    return tron.paid
      .filter(({ to }) => depositors.some(({ address }) => address.equals(to)))
      .map(({ tx_id }) => depositIdOf(tx_id, 0))
      .filter((id) => !logs.confirmed.has(id));
  }

  /** The thief's own, which the ledger does not have. */
  #forgedTransfers(): readonly string[] {
    const { logs } = this.#world;
    return logs.of_transfers
      .flatMap(({ event, forged }) =>
        forged !== undefined && event.type === 'TransferObserved'
          ? [depositIdOf(event.tx_id, event.log_index)]
          : [],
      )
      .filter((id) => !logs.confirmed.has(id));
  }

  #deposit(id: string): Map<string, unknown> {
    const { logs, tron } = this.#world;
    const known = logs.confirmed.get(id);
    if (known !== undefined) return new Map(Object.entries(known.event));
    const arrived = tron.paid.find(({ tx_id }) => depositIdOf(tx_id, 0) === id);
    const observed = logs.of_transfers
      .flatMap(({ event }) => (event.type === 'TransferObserved' ? [event] : []))
      .find(({ tx_id, log_index }) => depositIdOf(tx_id, log_index) === id);
    return new Map(Object.entries(this.#claimed(arrived ?? observed ?? this.#invented())));
  }

  #invented(): Paid {
    const random = this.#random;
    const { depositors, time, tron } = this.#world;
    const to =
      depositors.length > 0 && random.chance(0.7)
        ? random.pick(depositors).address
        : random.bytes(20);
    const value = random.chance(0.5) ? 10n * USD : this.amount();
    const block_number = 70_000_000 + tron.paid.length;
    const { now: block_timestamp } = time;
    const from = random.pick(SENDERS);
    return { tx_id: random.bytes(32), from, to, value, block_number, block_timestamp };
  }

  /** The confirmation that the treasury would write, as far as its writer knows. */
  #claimed({ tx_id, to, value, block_number, block_timestamp }: Paid): object {
    const { depositors, logs } = this.#world;
    const { ledger, of_transfers } = logs;
    const owner = depositors.find(({ address }) => address.equals(to))?.account ?? this.address();
    const ordinal = ordinalOf(ledger, { deposit_address: to, clt_address: owner });
    const fee = ledger.policy === undefined ? 0n : feeOf(ledger.policy, ordinal);
    const place = of_transfers.find(
      ({ event }) => event.type === 'TransferObserved' && event.tx_id.equals(tx_id),
    );
    const partition = transferPartition(to);
    const behind = of_transfers.filter((each) => each.partition === partition).length;
    return {
      deposit_id: depositIdOf(tx_id, 0),
      tx_id,
      log_index: 0,
      deposit_address: to,
      clt_address: owner,
      gross: value,
      fee,
      credit: creditOf(value, fee),
      policy_version: ledger.policy?.version ?? 1,
      address_ordinal: ordinal,
      block_number,
      block_timestamp,
      transfer_partition: place?.partition ?? partition,
      transfer_offset: Number(place?.offset ?? BigInt(behind)),
    };
  }

  *#rest(id: string, about: Subject): Generator<readonly [string, unknown]> {
    const random = this.#random;
    const { logs, node, tron, depositors } = this.#world;
    const { ledger, book } = logs;
    const { governance, policy } = ledger;
    const deposit = ledger.deposit(id);
    const mint = 'mint' in deposit && random.chance(0.85) ? deposit.mint : undefined;
    const next = Math.max(ledger.last_nonce + 1, node.mints.length);
    const nonce =
      mint?.nonce ?? random.pick([next, next, next, node.mints.length, next + 1, 1_000_000, 0]);
    const tx_hash = mint?.tx_hash ?? random.bytes(32);
    const block = node.all[random.chance(0.7) ? node.final_height : random.below(node.height + 1)];
    const paid = tron.paid.find(({ tx_id }) => tx_id.equals(bytesIn(about, 'tx_id')));
    const to = paid?.to ?? bytesIn(about, 'deposit_address');
    const index = depositors.findIndex(({ address }) => address.equals(to));
    yield* Object.entries({
      nonce,
      tx_hash,
      to: about.get('clt_address'),
      amount: about.get('credit'),
      other_tx_hash: this.hash(),
      tron_tx_id: this.hash(),
      block_height: block?.height ?? 0,
      block_hash: block?.hash ?? random.bytes(32),
      // transfers
      contract: USDT_CONTRACT,
      from: paid?.from ?? random.pick(SENDERS),
      value: about.get('gross'),
      address_index: index < 0 ? random.below(4) : index,
      // addresses
      derivation_index: book.size,
      fingerprint: random.bytes(32),
      scheme: 'hd',
      extended_public_key: '',
      // limits
      network: 'testnet',
      first_fee: policy?.first_fee ?? 2n * USD,
      later_fee: policy?.later_fee ?? USD,
      minimum: policy?.minimum ?? USD,
      single_cap: policy?.single_cap ?? 1_000n * USD,
      rolling_cap: policy?.rolling_cap ?? 10n ** 12n,
      // who decides
      operators: random.chance(0.5)
        ? (governance.operators?.operators ?? OPERATORS)
        : [...OPERATORS.slice(1), addressOf(mallory)],
      two_above: governance.operators?.two_above ?? 0n,
      usdt_contract: USDT_CONTRACT,
      custody_addresses: random.chance(0.5) ? [CUSTODY] : [CUSTODY, this.address()],
      authority: random.chance(0.5) ? addressOf(mallory) : this.address(),
      supply: 0n,
      liability: 0n,
      chain_id: 7777,
      ledger_id: random.bytes(32),
      open: random.chance(0.5),
      actor: 'mallory',
    });
  }

  holdReason(): string {
    return this.#random.chance(0.9) ? this.#random.pick(HOLD_REASONS) : 'because';
  }
}

function bytesIn(subject: Subject, name: string): Buffer {
  const value = subject.get(name);
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

/** Lists to draw from: each item stands for one draw of the list. */
function repeated(times: number, items: readonly string[]): readonly (readonly string[])[] {
  if (items.length === 0) return [];
  return Array.from({ length: times }, () => items);
}
