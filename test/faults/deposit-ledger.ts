/**
 * Compares the logs with the payments: each deposit once, by its terms, to its owner, and at each
 * offset exactly the amount that came.
 */
import { depositIdOf } from '../../schemas/deposit-id.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import { transferKey, type TransferObserved } from '../../schemas/tron.transfers/events.ts';
import {
  depositEventsIn,
  type DepositConfirmed,
  type DepositEvent,
  type TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { depositKey } from '../support/deposit-log.ts';
import { ownersIn, type DepositLogs } from './deposit-logs.ts';
import type { Payable } from './payments.ts';

type Status = 'confirmed' | 'needs_manual' | 'mint_requested' | 'credited';
type DecidedEvent = Exclude<DepositEvent, DepositConfirmed>;

/** The arrows of the machine, each from where it may start. */
const ARROWS: Readonly<
  Record<DecidedEvent['type'], { readonly from: readonly Status[]; readonly to: Status }>
> = {
  DepositHeld: { from: ['confirmed', 'mint_requested'], to: 'needs_manual' },
  DepositApproved: { from: ['needs_manual'], to: 'confirmed' },
  DepositRejected: { from: ['needs_manual', 'mint_requested'], to: 'needs_manual' },
  MintIntended: { from: ['confirmed'], to: 'mint_requested' },
  MintCredited: { from: ['mint_requested'], to: 'credited' },
  MintDead: { from: ['mint_requested'], to: 'confirmed' },
  MintVoided: { from: ['mint_requested', 'credited'], to: 'confirmed' },
  RefundRecorded: { from: ['needs_manual'], to: 'needs_manual' },
};

/** The terms of the test network in micro-USDT, written once more: the code is judged by them. */
export const FIRST_FEE = 2_000_000n;
export const LATER_FEE = 500_000n;
export const MINIMUM = 1_000_000n;
const SINGLE_CAP = 1_000_000_000n;

interface Told {
  status: Status;
  readonly credit: bigint;
}

type Complain = (what: string) => void;

/** The violations in `treasury.ledger`. */
export function judgeLedger(
  logs: DepositLogs,
  payables: ReadonlyMap<string, Payable>,
): readonly string[] {
  const violations: string[] = [];
  const audit = new LedgerAudit(logs, payables, (what) => void violations.push(what));
  const counted = logs.ledger.filter(({ sequence }, offset) => sequence === offset);
  for (const [at, event] of counted.entries()) audit.tell(event, counted[at + 1]);
  audit.end();
  return violations;
}

class LedgerAudit {
  readonly #logs: DepositLogs;
  readonly #owners: readonly Buffer[];
  readonly #payables: ReadonlyMap<string, Payable>;
  readonly #complain: Complain;
  readonly #key = depositKey();
  readonly #policies = new Set<number>();
  readonly #deposits = new Map<string, Told>();
  readonly #seen = new Set<string>();
  readonly #ordinals = new Map<string, number>();
  readonly #sums = { observed: 0n, minted: 0n, retained: 0n, held: 0n };

  constructor(logs: DepositLogs, payables: ReadonlyMap<string, Payable>, complain: Complain) {
    this.#logs = logs;
    this.#owners = ownersIn(logs.addresses);
    this.#payables = payables;
    this.#complain = complain;
  }

  tell(event: TreasuryEvent, next: TreasuryEvent | undefined): void {
    if (event.type === 'PolicySet') this.#policies.add(event.version);
    else if (event.type === 'DepositConfirmed') this.#confirmed(event, next);
    else
      for (const each of depositEventsIn(event))
        if (each.type !== 'DepositConfirmed') this.#moved(each);
    const { observed, minted, retained, held } = this.#sums;
    if (observed !== minted + retained + held)
      this.#complain(
        `at offset ${event.sequence} ${observed} came, but ${minted} minted + ${retained} fees + ${held} held are others`,
      );
  }

  end(): void {
    const missing = [...this.#payables.keys()].filter((key) => !this.#seen.has(key));
    for (const key of missing.slice(0, 5))
      this.#complain(`${key} was paid and is no deposit${this.#whereIs(key)}`);
    if (missing.length > 5) this.#complain(`${missing.length} payments in all are no deposits`);
    const paid = [...this.#payables.values()].reduce((sum, { value }) => sum + value, 0n);
    if (paid !== this.#sums.observed)
      this.#complain(`${paid} was paid, ${this.#sums.observed} came`);
  }

  #whereIs(key: string): string {
    const place = this.#logs.transfers.findIndex((events) =>
      events.some(
        (event) =>
          event.type === 'TransferObserved' && transferKey(event.tx_id, event.log_index) === key,
      ),
    );
    return place === -1
      ? ', and nobody observed it'
      : `, though it was observed in partition ${place}`;
  }

  #confirmed(event: DepositConfirmed, next: TreasuryEvent | undefined): void {
    const key = transferKey(event.tx_id, event.log_index);
    const paid = this.#payables.get(key);
    if (paid === undefined) return this.#complain(`${key} is a deposit, and was none`);
    if (this.#seen.has(key)) return this.#complain(`${key} is a deposit twice`);
    this.#seen.add(key);
    const address = this.#key.addressAt(paid.index);
    const ordinal = this.#ordinals.get(address.toString('hex')) ?? 0;
    this.#ordinals.set(address.toString('hex'), ordinal + 1);
    if (!this.#policies.has(event.policy_version))
      return this.#complain(`${key} is on policy ${event.policy_version}, which nobody set`);
    const fee = ordinal === 0 ? FIRST_FEE : LATER_FEE;
    const credit = paid.value < fee ? 0n : paid.value - fee;
    const owner = this.#owners[paid.index];
    const holds: Readonly<Record<string, boolean>> = {
      id: event.deposit_id === depositIdOf(event.tx_id, event.log_index),
      gross: event.gross === paid.value,
      fee: event.fee === fee,
      credit: event.credit === credit,
      ordinal: event.address_ordinal === ordinal,
      address: event.deposit_address.equals(address),
      owner: owner?.equals(event.clt_address) === true,
      place: this.#isObservedAt(event),
      hold: holdsOf(credit, paid).includes(holdAfter(next, event.deposit_id)),
    };
    for (const [what, isRight] of Object.entries(holds))
      if (!isRight) this.#complain(`the ${what} of deposit ${key} is not right`);
    this.#deposits.set(event.deposit_id, { status: 'confirmed', credit });
    this.#sums.observed += paid.value;
    this.#sums.retained += event.fee < event.gross ? event.fee : event.gross;
    this.#sums.held += event.credit;
  }

  #isObservedAt({
    tx_id,
    log_index,
    transfer_partition: partition,
    transfer_offset: offset,
    gross,
  }: DepositConfirmed): boolean {
    const record = this.#logs.transfers[partition]?.[offset];
    return (
      record?.type === 'TransferObserved' &&
      record.tx_id.equals(tx_id) &&
      record.log_index === log_index &&
      record.value === gross
    );
  }

  #moved(event: DecidedEvent): void {
    const told = this.#deposits.get(event.deposit_id);
    if (told === undefined)
      return this.#complain(`${event.type} is about ${event.deposit_id}, which is no deposit`);
    const { from, to } = ARROWS[event.type];
    if (!from.includes(told.status))
      this.#complain(`${event.type} came to a deposit that was ${told.status}`);
    const before = mintedOf(told);
    told.status = to;
    const minted = mintedOf(told) - before;
    this.#sums.held -= minted;
    this.#sums.minted += minted;
  }
}

function mintedOf({ status, credit }: Told): bigint {
  return status === 'credited' ? credit : 0n;
}

/**
 * The holds that a deposit may have. An internal transfer is held as one only if its sender, a
 * deposit address, was in the log before it.
 */
function holdsOf(credit: bigint, { internal = false }: Payable): readonly (string | undefined)[] {
  const byCredit =
    credit < MINIMUM ? 'below_minimum' : credit > SINGLE_CAP ? 'over_single_cap' : undefined;
  return [byCredit, ...(internal ? ['internal_transfer'] : [])];
}

function holdAfter(next: TreasuryEvent | undefined, id: string): string | undefined {
  return next?.type === 'DepositHeld' && next.deposit_id === id ? next.reason : undefined;
}

export interface TransfersJudged {
  readonly observed: number;
  /** of these, told before */
  readonly repeated: number;
  readonly checks: number;
  readonly violations: readonly string[];
}

/** The violations in `tron.transfers`. */
export function judgeTransfers(
  { transfers }: DepositLogs,
  payables: ReadonlyMap<string, Payable>,
  pass_addresses_max: number,
): TransfersJudged {
  const violations: string[] = [];
  const told = new Map<string, string>();
  let [observed, checks] = [0, 0];
  for (const [partition, events] of transfers.entries()) {
    for (const event of events) {
      if (event.type === 'AddressesChecked') {
        checks += event.checked.length;
        if (event.checked.length > pass_addresses_max)
          violations.push(`a pass asked about ${event.checked.length} addresses`);
        continue;
      }
      observed++;
      const key = transferKey(event.tx_id, event.log_index);
      const said = saidOf(event);
      if (transferPartition(event.to) !== partition)
        violations.push(`${key} stands in partition ${partition}`);
      if ((told.get(key) ?? said) !== said)
        violations.push(`${key} is told as ${told.get(key)} and as ${said}`);
      told.set(key, said);
      const isNone = event.value === 0n || event.from.equals(event.to);
      if (payables.has(key) === isNone)
        violations.push(`${key} was observed, and ${isNone ? 'is no payment' : 'nobody paid it'}`);
    }
  }
  return { observed, repeated: observed - told.size, checks, violations };
}

function saidOf({
  block_number,
  block_timestamp,
  contract,
  from,
  to,
  value,
  address_index,
}: TransferObserved): string {
  return [
    block_number,
    block_timestamp,
    contract.toString('hex'),
    from.toString('hex'),
    to.toString('hex'),
    value,
    address_index,
  ].join(' ');
}
