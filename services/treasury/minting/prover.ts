/**
 * Proves deposits before they are minted, so that nobody mints by writing to Kafka alone. A deposit
 * is proven when its terms follow from the policy in force when it was confirmed, the record that
 * it names in `tron.transfers` is its transfer, our key derives its address for its owner, and TRON
 * itself shows the transfer. A deposit that is contradicted is held for a person and never minted,
 * approved or not; one that TRON does not know waits, and is held after a while.
 */
import { isOurs } from '../../../projections/deposits/domain/confirmation.ts';
import type { Deposit } from '../../../projections/deposits/domain/deposit.ts';
import { whyNotTransfer } from '../../../projections/deposits/domain/proof.ts';
import { holdReasonOf, type HoldReason } from '../../../schemas/deposit-policy.ts';
import { bytesKey } from '../../../schemas/address.ts';
import type { DepositConfirmed, DepositHeld } from '../../../schemas/treasury.ledger/events.ts';
import { transfersIn, type TokenTransfer, type TronReceipt } from '../../../schemas/trongrid.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { waitingFor, type HealthProblem } from '../../runtime/process/health.ts';
import { untilAborted } from '../../runtime/process/retry.ts';
import type { Confirmation } from '../ledger/books.ts';
import { RefundProofs, type RefundProofsOptions } from './refund-proofs.ts';
import type { TransferLog } from '../ledger/transfer-log.ts';
import type { TreasuryContext } from '../ledger/ledger-writer.ts';

/** Deposits of the queue whose records are read at once. */
const READ_AT_ONCE = 1_000;
/** Pause after a failure, and before TRON is asked again about a transaction it does not know. */
const AGAIN_MS = 5_000;

export interface ProverOptions
  extends
    Pick<TreasuryContext, 'books' | 'changes' | 'lease' | 'log' | 'metrics' | 'signal'>,
    RefundProofsOptions {
  /** resolves once the ledger and the addresses are read to their ends, or at the abort */
  readonly catchUp: () => Promise<void>;
  readonly transfers: TransferLog;
  /** a transfer that TRON, asked again and again, has not known for this long is held */
  readonly late_ms: number;
  readonly again_ms?: number;
  readonly now: () => number;
}

/** Waiting deposits that TRON is asked about in one pass, and the pause before the same again. */
const ASKED_AT_ONCE = 100;
const HELD_AGAIN_MS = 60_000;
/** Pause between two questions about deposits that are too small to be minted without a person. */
const DUST_AGAIN_MS = 5_000;

/** `waiting`: not known yet, and not proven meanwhile. */
type Proof =
  | { readonly status: 'proven' }
  | { readonly status: 'waiting' }
  | { readonly status: 'refused'; readonly reason: string };

const PROVEN: Proof = { status: 'proven' };
const WAITING: Proof = { status: 'waiting' };

export class Prover {
  readonly #options: ProverOptions;
  /** by deposit, the transfer of USDT that TRON shows in its place; undefined: none */
  readonly #shown = new Map<string, TokenTransfer | undefined>();
  /** deposits whose record was read and is not there */
  readonly #missing = new Set<string>();
  /** by deposit that waits, when TRON was asked first and last, on the monotonic clock */
  readonly #asked = new Map<string, { readonly first: number; readonly last: number }>();
  /** deposits whose owner our key derives their address for; deriving takes 0.6 ms */
  readonly #owned = new Set<string>();
  readonly #reported = new Set<string>();
  /** by deposit that nobody is to mint now, when TRON was asked first and last, on that clock */
  readonly #heldAsked = new Map<string, { readonly first: number; readonly last: number }>();
  readonly #refunds: RefundProofs;
  #dustAskedAt = Number.NEGATIVE_INFINITY;
  #fault: Fault | undefined;

  constructor(options: ProverOptions) {
    this.#options = options;
    const { books, signal, log, usdt_contract, custody_addresses, deposit_key } = options;
    const { receipt, again_ms = AGAIN_MS } = options;
    this.#refunds = new RefundProofs({
      books,
      signal,
      log,
      usdt_contract,
      custody_addresses,
      deposit_key,
      receipt,
      again_ms,
    });
  }

  /** Whether TRON shows that the refund of this deposit left custody. */
  isPaidBack(depositId: string): boolean {
    return this.#refunds.isPaidBack(depositId);
  }

  /**
   * Whether the deposit counts as arrived: TRON shows it, or was not asked yet. Each deposit that
   * waits is asked about once, so a true one is never left out for long, and a forged one is. A
   * deposit that the reserve runs have read before the treasury counts.
   */
  isArrived(depositId: string): boolean {
    const deposit = this.#options.books.ledger.deposit(depositId);
    if (deposit.status === 'absent' || 'mint' in deposit) return true;
    if (this.isProven(depositId)) return true;
    if (deposit.status === 'needs_manual' && deposit.reason === 'unproven') return false;
    return !this.#isAsked(depositId);
  }

  /**
   * Transfers to deposit addresses that TRON shows, and of which the ledger says something else:
   * what takes their place there is never minted, and they are owed all the same.
   */
  get displaced(): readonly TokenTransfer[] {
    const { books, deposit_key } = this.#options;
    const { waiting } = books.ledger;
    const ids = [...[...waiting].map(({ deposit_id: depositId }) => depositId), ...books.held];
    return ids.flatMap((id) => {
      const shown = this.#shown.get(id);
      const confirmed = books.confirmation(id)?.event;
      if (shown === undefined || confirmed === undefined) return [];
      const isTrue = isSame(shown, confirmed) && this.#proofOf(id, false).status !== 'refused';
      const isDeposit = books.ledger.addresses.has(shown.to, deposit_key);
      return isTrue || !isDeposit || this.#isOurs(shown.from) ? [] : [shown];
    });
  }

  /** Whether one of our addresses paid the deposit; undefined while its transfer is not read. */
  isInternal(depositId: string): boolean | undefined {
    const confirmation = this.#options.books.confirmation(depositId);
    return confirmation?.transfer === undefined ? undefined : this.#isInternal(confirmation);
  }

  isProven(depositId: string): boolean {
    return this.#proofOf(depositId).status === 'proven';
  }

  /** Whether the deposit is contradicted: no time will prove it. */
  isRefused(depositId: string): boolean {
    return this.#proofOf(depositId).status === 'refused';
  }

  /** Whether the record that a deposit names was looked up. */
  isLookedUp(depositId: string): boolean {
    return this.#proofOf(depositId, false).status !== 'waiting';
  }

  /** The reason why a mint in flight must not be signed; undefined when it may be. */
  whyNotSigned(depositId: string): string | undefined {
    const proof = this.#proofOf(depositId, false);
    return proof.status === 'refused' ? proof.reason : undefined;
  }

  /** The amount of the transfer that the deposit names, micro-USDT; undefined until it is read. */
  arrived(depositId: string): bigint | undefined {
    return this.#options.books.confirmation(depositId)?.transfer?.value;
  }

  /** Deposits that are confirmed or in flight and never minted. */
  get refused(): readonly { readonly deposit_id: string; readonly reason: string }[] {
    const { ledger } = this.#options.books;
    const ids = [
      ...[...ledger.waiting].map(({ deposit_id: depositId }) => depositId),
      ...[...ledger.live.values()].map(({ deposit_id: depositId }) => depositId),
    ];
    return ids.flatMap((deposit_id) => {
      const proof = this.#proofOf(deposit_id);
      return proof.status === 'refused' ? [{ deposit_id, reason: proof.reason }] : [];
    });
  }

  get problem(): HealthProblem | undefined {
    const phase = 'minting';
    const [first, ...more] = this.refused;
    if (first !== undefined) {
      const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
      const message = `deposit ${first.deposit_id} is never minted: ${first.reason}${others}. What to do: no treasury wrote its confirmation: find out who writes to the ledger and take that out of use; a deposit that waits for a person is closed with \`ops deposit reject\``;
      return { status: 'waiting', phase, message };
    }
    return this.#fault === undefined
      ? undefined
      : waitingFor(this.#fault, {
          message: `deposits wait for their proof: ${this.#fault.message}`,
          phase,
        });
  }

  /** Holds for a person what is confirmed and must not be minted without one. */
  holds(most: number): readonly DepositHeld[] {
    const { books, now } = this.#options;
    const { ledger } = books;
    const events: DepositHeld[] = [];
    for (const { deposit_id } of ledger.waiting) {
      if (events.length >= most) break;
      const reason = this.#holdOf(deposit_id);
      if (reason === undefined) continue;
      const sequence = Number(ledger.end) + events.length;
      events.push({ type: 'DepositHeld', sequence, deposit_id, reason, decided_at: now() });
    }
    return events;
  }

  /** Looks up what waits, and of `due` the receipts, until the signal is aborted. */
  async run(due: () => readonly string[]): Promise<void> {
    const { changes, signal, again_ms: againMs = AGAIN_MS } = this.#options;
    while (!signal.aborted) {
      const { next } = changes;
      try {
        const found = await this.#lookUp(due);
        this.#fault = undefined;
        if (found) changes.notify();
        else await next;
      } catch (error) {
        if (!(error instanceof Fault) || !error.retry) throw error;
        if (this.#fault === undefined)
          this.#options.log.warn({ err: error }, 'deposits cannot be proven, it is tried again');
        this.#fault = error;
        await untilAborted(againMs, signal);
      }
    }
  }

  #holdOf(id: string): HoldReason | undefined {
    const { books } = this.#options;
    const { ledger } = books;
    const deposit = ledger.deposit(id);
    if (deposit.status !== 'confirmed') return undefined;
    if (!deposit.approved && this.#isInternal(books.confirmation(id))) return 'internal_transfer';
    // whoever has approved it can only reject it then; what TRON shows in its place is owed
    if (this.#proofOf(id).status === 'refused') return this.#isAsked(id) ? 'unproven' : undefined;
    if (deposit.approved) return undefined;
    const limits = ledger.policyOf(deposit.terms.policy_version);
    return limits === undefined ? undefined : holdReasonOf(limits, deposit.terms.credit);
  }

  /** Reads records and asks TRON once; false when there was nothing to find. */
  async #lookUp(due: () => readonly string[]): Promise<boolean> {
    const { books, transfers, signal } = this.#options;
    this.#forget();
    const ids = due();
    const unread = this.#unread(ids);
    // an owner that is unknown now has asked for no address
    if (unread.length > 0) await this.#options.catchUp();
    for (const [partition, confirmed] of Map.groupBy(unread, (each) => each.transfer_partition)) {
      if (signal.aborted) return false;
      const records = await transfers.read(
        partition,
        confirmed.map(({ transfer_offset: transferOffset }) => transferOffset),
      );
      for (const { deposit_id, transfer_offset: transferOffset } of confirmed) {
        const event = records.get(transferOffset);
        if (event !== undefined)
          books.observed({ event, partition, offset: BigInt(transferOffset) });
        // the record may be the transfer of another deposit
        if (books.confirmation(deposit_id)?.transfer === undefined) this.#missing.add(deposit_id);
      }
    }
    const asked = await this.#ask(ids);
    // a standby spends none of the provider's requests
    if (!this.#options.lease.is_held) return unread.length > 0 || asked;
    const held = await this.#askWaiting();
    return (await this.#refunds.ask()) || unread.length > 0 || asked || held;
  }

  /** Asks about all deposits that wait: the reserve has to know which of them arrived. */
  async #askWaiting(): Promise<boolean> {
    const { books, receipt, signal } = this.#options;
    let found = false;
    let asked = 0;
    if (receipt === undefined) return found;
    const waiting = [...books.ledger.waiting].map(({ deposit_id: depositId }) => depositId);
    for (const id of [...waiting, ...books.held]) {
      if (asked >= ASKED_AT_ONCE || signal.aborted) break;
      const at = performance.now();
      const event = this.#toAsk(id, at);
      if (event === undefined) continue;
      // one after the other: dust of strangers must not use up the provider's requests
      if (isDust(books.ledger.deposit(id))) {
        if (at - this.#dustAskedAt < DUST_AGAIN_MS) continue;
        this.#dustAskedAt = at;
      }
      asked++;
      const { first } = this.#heldAsked.get(id) ?? { first: at };
      const shown = await receipt(event.tx_id);
      this.#heldAsked.set(id, { first, last: at });
      found ||= shown !== undefined || this.#proofOf(id).status === 'refused';
      if (shown !== undefined) this.#shown.set(id, this.#transferAt(event, shown));
    }
    return found;
  }

  /** Unproven ones not for long: they are for a person. */
  #toAsk(id: string, at: number): DepositConfirmed | undefined {
    const deposit = this.#options.books.ledger.deposit(id);
    const confirmation = this.#options.books.confirmation(id);
    const { first, last } = this.#heldAsked.get(id) ?? { first: at, last: -Infinity };
    if (confirmation === undefined || this.#shown.has(id) || this.#asked.has(id)) return undefined;
    if (confirmation.transfer === undefined && !this.#missing.has(id)) return undefined;
    const isUnproven = deposit.status === 'needs_manual' && deposit.reason === 'unproven';
    if (isUnproven && last - first > this.#options.late_ms) return undefined;
    const isWaiting = deposit.status === 'confirmed' || deposit.status === 'needs_manual';
    return isWaiting && at - last >= HELD_AGAIN_MS ? confirmation.event : undefined;
  }

  /** Whether TRON was asked about it, or never is. */
  #isAsked(id: string): boolean {
    return (
      this.#options.receipt === undefined ||
      this.#shown.has(id) ||
      this.#asked.has(id) ||
      this.#heldAsked.has(id)
    );
  }

  /** Deposits in flight, due, queued or held, whose records were not read yet. */
  #unread(due: readonly string[]): readonly DepositConfirmed[] {
    const { books } = this.#options;
    const { live, waiting } = books.ledger;
    const unread: DepositConfirmed[] = [];
    const queued = [...live.values(), ...waiting].map(({ deposit_id: depositId }) => depositId);
    for (const id of [...due, ...queued, ...books.held]) {
      if (unread.length >= READ_AT_ONCE) break;
      const confirmation = books.confirmation(id);
      if (
        confirmation !== undefined &&
        confirmation.transfer === undefined &&
        !this.#missing.has(id)
      )
        unread.push(confirmation.event);
    }
    return unread;
  }

  async #ask(ids: readonly string[]): Promise<boolean> {
    const { receipt, books, signal, again_ms: againMs = AGAIN_MS } = this.#options;
    let found = false;
    if (receipt === undefined) return found;
    for (const id of ids) {
      const at = performance.now();
      const confirmation = books.confirmation(id);
      if (confirmation?.transfer === undefined || this.#shown.has(id)) continue;
      const { first = at, last = Number.NEGATIVE_INFINITY } = this.#asked.get(id) ?? {};
      if (at - last < againMs) continue;
      if (signal.aborted) return found;
      const shown = await receipt(confirmation.event.tx_id);
      this.#asked.set(id, { first, last: at });
      if (shown === undefined) continue;
      this.#shown.set(id, this.#transferAt(confirmation.event, shown));
      found = true;
      this.#options.changes.notify();
    }
    return found;
  }

  #transferAt({ log_index }: DepositConfirmed, receipt: TronReceipt): TokenTransfer | undefined {
    const read = transfersIn(receipt, this.#options.usdt_contract);
    return 'problem' in read ? undefined : read.value.find((each) => each.log_index === log_index);
  }

  /** `asNew`: with what only keeps a mint from being requested. */
  #proofOf(id: string, asNew = true): Proof {
    const { books, receipt, usdt_contract } = this.#options;
    const { ledger } = books;
    const confirmation = books.confirmation(id);
    if (confirmation === undefined) return this.#refused(id, 'the ledger has not confirmed it');
    const { event, transfer } = confirmation;
    if (transfer === undefined && !this.#missing.has(id)) return WAITING;
    const problem = whyNotTransfer(event, transfer, usdt_contract);
    if (problem !== undefined) return this.#refused(id, problem);
    if (!this.#isOwned(event)) return this.#refused(id, 'its address is not that of its owner');
    if (!asNew) return PROVEN;
    const { acknowledged } = ledger.governance;
    if (ledger.givenUp(id).some(({ tx_hash }) => acknowledged.has(bytesKey(tx_hash))))
      return this.#refused(id, 'it is minted already, by a Mint that an operator has acknowledged');
    const deposit = ledger.deposit(id);
    // held with its own reason; a person may approve it
    if (deposit.status === 'confirmed' && !deposit.approved && this.#isInternal(confirmation))
      return WAITING;
    if (receipt === undefined) return PROVEN;
    if (this.#shown.has(id))
      return isSame(this.#shown.get(id), event)
        ? PROVEN
        : this.#refused(id, 'TRON shows another transaction than the one that was confirmed');
    return this.#isLate(id) ? this.#refused(id, 'TRON does not know its transaction') : WAITING;
  }

  #isOwned(event: DepositConfirmed): boolean {
    const { deposit_id: depositId } = event;
    if (!this.#owned.has(depositId) && this.#options.books.owns(event)) this.#owned.add(depositId);
    return this.#owned.has(depositId);
  }

  #isInternal(confirmation: Confirmation | undefined): boolean {
    const { transfer } = confirmation ?? {};
    return transfer !== undefined && this.#isOurs(transfer.from);
  }

  #isOurs(address: Buffer): boolean {
    return isOurs(this.#options.books.ledger, address, this.#options);
  }

  /** Asked about for long, in vain. */
  #isLate(id: string): boolean {
    const { first, last } = this.#asked.get(id) ?? { first: 0, last: 0 };
    return last - first > this.#options.late_ms;
  }

  /** Drops what is known of credited deposits; of held ones, that TRON was asked. */
  #forget(): void {
    const { books } = this.#options;
    const all = [
      this.#shown,
      this.#missing,
      this.#asked,
      this.#heldAsked,
      this.#owned,
      this.#reported,
    ];
    for (const known of all)
      for (const id of known.keys()) if (books.confirmation(id) === undefined) known.delete(id);
    for (const [id, asked] of this.#asked) {
      if (books.ledger.deposit(id).status !== 'needs_manual') continue;
      this.#asked.delete(id);
      this.#heldAsked.set(id, asked);
    }
  }

  /** Logged and counted once. */
  #refused(deposit_id: string, reason: string): Proof {
    if (!this.#reported.has(deposit_id)) {
      this.#reported.add(deposit_id);
      this.#options.metrics.unproven();
      this.#options.log.error(
        { deposit_id, reason },
        'a deposit is never minted, for its confirmation is not true: find out who writes to the ledger',
      );
    }
    return { status: 'refused', reason };
  }
}

function isDust(deposit: Deposit): boolean {
  return deposit.status === 'needs_manual' && deposit.reason === 'below_minimum';
}

function isSame(
  shown: TokenTransfer | undefined,
  { deposit_address, gross }: DepositConfirmed,
): boolean {
  return shown?.to.equals(deposit_address) === true && shown.value === gross;
}
