/** The rows of policies and mints of a batch: `domain/mint-book.ts` restored from its rows. */
import type {
  DepositConfirmed,
  DepositHeld,
  MintIntended,
  PolicySet,
  TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { amountIn, countIn, recordIn, rowOf, textIn } from '../contract/loaded-row.ts';
import type { Load, Loaded, LoadedRow, Recorded, Row } from '../contract/projection.ts';
import type { Deposit } from './domain/deposit.ts';
import { MintBook, needsApproval, WINDOW_MS } from './domain/mint-book.ts';
import type { Policy } from './domain/proof.ts';
import { goesFirstAt } from './domain/mint-queue.ts';
import type { StoredDeposit } from './deposit-rows.ts';
import { POLICIES } from './rows.ts';

/** Columns of `ledger`. */
interface MintHead {
  readonly policy_version: number;
  readonly last_nonce: number;
  /** ascending, with commas */
  readonly free_nonces: string;
  readonly mint_time: number;
  readonly window_sequence: number;
}

const NOTHING: MintHead = {
  policy_version: 0,
  last_nonce: -1,
  free_nonces: '',
  mint_time: 0,
  window_sequence: 0,
};

export function mintLoads(batch: readonly Recorded<TreasuryEvent>[]): readonly Load[] {
  const types = new Set(batch.map(({ event }) => event.type));
  const policies: Load = {
    name: 'policies',
    text: 'SELECT version, network, first_fee, later_fee, minimum, single_cap, rolling_cap, decided_at FROM policies',
    values: [],
  };
  // what moved the window may be void
  const isWhole = types.has('MintVoided');
  if (!isWhole && !types.has('MintIntended') && !types.has('PolicySet')) return [policies];
  const inWindow = isWhole ? '' : 'WHERE sequence >= (SELECT window_sequence FROM ledger) ';
  const counted: Load = {
    name: isWhole ? 'all_mints' : 'counted_mints',
    text: `SELECT sequence, amount, counted_at FROM mints ${inWindow}ORDER BY sequence`,
    values: [],
  };
  return [policies, counted];
}

export class MintRows {
  readonly #book: MintBook;
  readonly #policies: Row[] = [];
  /** counted in this batch and not given up */
  readonly #added = new Map<number, Row>();
  readonly #gone: number[] = [];
  #head: MintHead;

  /** `head`: the row of `ledger`, if it exists. */
  constructor(loaded: Loaded, head: LoadedRow | undefined) {
    this.#head = head === undefined ? NOTHING : headOf(head);
    this.#book = new MintBook({
      policies: (loaded['policies'] ?? []).map((row) => recordIn<Policy>(POLICIES, row)),
      policy_version: this.#head.policy_version,
      last_nonce: this.#head.last_nonce,
      free_nonces: noncesIn(this.#head.free_nonces),
      time: this.#head.mint_time,
      counted: (loaded['all_mints'] ?? loaded['counted_mints'] ?? []).map((row) => ({
        sequence: countIn(row, 'sequence'),
        amount: amountIn(row, 'amount'),
        at: countIn(row, 'counted_at'),
      })),
    });
  }

  get head(): MintHead {
    return this.#head;
  }

  /** New rows of `policies`. */
  get policies(): readonly Row[] {
    return this.#policies;
  }

  /** New rows of `mints`. */
  get added(): readonly Row[] {
    return [...this.#added.values()];
  }

  /** Keys of the rows that leave `mints`. */
  get gone(): readonly Row[] {
    return this.#gone.map((sequence): Row => [sequence]);
  }

  setPolicy(event: PolicySet): boolean {
    if (!this.#book.setPolicy(event)) return false;
    this.#policies.push(rowOf(POLICIES, event));
    this.#head = { ...this.#head, policy_version: event.version };
    return true;
  }

  /** Whether the deposit is outside its limits and the next event holds it. */
  isAwaitingHold(deposit: Deposit): boolean {
    if (deposit.status !== 'confirmed') return false;
    const limits = this.#book.policyOf(deposit.terms.policy_version);
    return limits !== undefined && needsApproval(deposit, limits);
  }

  goesFirstAt({ deposit, position }: StoredDeposit): number | undefined {
    const { policy } = this.#book;
    if (deposit.status === 'absent' || position === undefined || policy === undefined)
      return undefined;
    return goesFirstAt(position, deposit.terms.credit, policy.rolling_cap);
  }

  /** The policy in force; undefined before the first. */
  get policy(): Policy | undefined {
    return this.#book.policy;
  }

  /** `ordinal`: the deposits of its account before. */
  isConfirmed(event: DepositConfirmed, ordinal: number): boolean {
    return this.#book.whyNotTerms(event, ordinal) === undefined;
  }

  isHold(deposit: Deposit, event: DepositHeld): boolean {
    return this.#book.isHold(deposit, event);
  }

  isValid(deposit: Deposit, event: MintIntended): boolean {
    return this.#book.voidReasonOf(deposit, event) === undefined;
  }

  count(event: MintIntended): void {
    const { sequence, amount, at } = this.#book.count(event);
    this.#added.set(sequence, [sequence, event.deposit_id, amount, at, at + WINDOW_MS]);
    const [first] = this.#book.counted;
    this.#head = {
      ...this.#head,
      ...this.#nonces,
      mint_time: at,
      window_sequence: first?.sequence ?? sequence,
    };
  }

  /** After a rotation nonces are those of another account. */
  beginNonces(): void {
    this.#book.beginNonces();
    this.#head = { ...this.#head, ...this.#nonces };
  }

  /** The nonce of the deposit's mint, which was given up, counts again. */
  freeNonce(deposit: Deposit, inFlight: Iterable<number>): void {
    if (!('mint' in deposit)) return;
    this.#book.freeNonce(deposit.mint.nonce, inFlight);
    this.#head = { ...this.#head, ...this.#nonces };
  }

  /** The deposit's mint, if it has one, is given up; `isVoid`: it never was one. */
  giveUp(deposit: Deposit, isVoid: boolean): void {
    if (!('mint' in deposit)) return;
    const { sequence } = deposit.mint;
    if (!this.#added.delete(sequence)) this.#gone.push(sequence);
    if (!isVoid) return this.#book.giveUp(sequence);
    this.#book.unmake(sequence);
    const [first] = this.#book.counted;
    this.#head = {
      ...this.#head,
      mint_time: this.#book.time,
      window_sequence: first?.sequence ?? 0,
    };
  }

  get #nonces(): Pick<MintHead, 'last_nonce' | 'free_nonces'> {
    const { last_nonce: lastNonce, free_nonces: freeNonces } = this.#book;
    return { last_nonce: lastNonce, free_nonces: freeNonces.join(',') };
  }
}

function noncesIn(text: string): readonly number[] {
  return text === '' ? [] : text.split(',').map(Number);
}

function headOf(row: LoadedRow): MintHead {
  return {
    policy_version: countIn(row, 'policy_version'),
    last_nonce: countIn(row, 'last_nonce'),
    free_nonces: textIn(row, 'free_nonces'),
    mint_time: countIn(row, 'mint_time'),
    window_sequence: countIn(row, 'window_sequence'),
  };
}
