/** The rows by which intents to mint are judged, while a batch of `treasury.ledger` is folded: `mint-book.ts` between two loads. */
import type {
  MintIntended,
  PolicySet,
  TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { amountIn, countIn, textIn } from '../contract/loaded-row.ts';
import type { Load, Loaded, LoadedRow, Recorded, Row } from '../contract/projection.ts';
import type { Deposit } from './domain/deposit.ts';
import { MintBook, type CountedMint, type Policy } from './domain/mint-book.ts';

/** In the order of the columns of `ledger`, which hold them. */
export interface MintHead {
  readonly policy_version: number;
  readonly last_nonce: number;
  readonly mint_time: number;
  readonly window_nonce: number;
}

const NOTHING: MintHead = { policy_version: 0, last_nonce: -1, mint_time: 0, window_nonce: 0 };

/** What only those batches need that set a policy or intend to mint. */
export function mintLoads(batch: readonly Recorded<TreasuryEvent>[]): readonly Load[] {
  if (!batch.some(({ event: { type } }) => type === 'MintIntended' || type === 'PolicySet'))
    return [];
  return [
    {
      name: 'policies',
      text: 'SELECT version, network, first_fee, later_fee, minimum, single_cap, rolling_cap, decided_at FROM policies',
      values: [],
    },
    {
      name: 'counted_mints',
      text: 'SELECT nonce, amount, counted_at FROM mints WHERE nonce >= (SELECT window_nonce FROM ledger) ORDER BY nonce',
      values: [],
    },
  ];
}

export class MintRows {
  readonly #book: MintBook;
  readonly #policies: Row[] = [];
  /** counted by this batch and still counting */
  readonly #added = new Map<number, Row>();
  readonly #gone: number[] = [];
  #head: MintHead;

  /** `head`: the row of `ledger`, if there is one. */
  constructor(loaded: Loaded, head: LoadedRow | undefined) {
    this.#head = head === undefined ? NOTHING : headOf(head);
    this.#book = new MintBook({
      policies: (loaded['policies'] ?? []).map(policyOf),
      policy_version: this.#head.policy_version,
      last_nonce: this.#head.last_nonce,
      time: this.#head.mint_time,
      counted: (loaded['counted_mints'] ?? []).map(mintOf),
    });
  }

  get head(): Row {
    const { policy_version, last_nonce, mint_time, window_nonce } = this.#head;
    return [policy_version, last_nonce, mint_time, window_nonce];
  }

  /** Of `policies`. */
  get policies(): readonly Row[] {
    return this.#policies;
  }

  /** New in `mints`. */
  get added(): readonly Row[] {
    return [...this.#added.values()];
  }

  /** No longer in `mints`, by their key. */
  get gone(): readonly Row[] {
    return this.#gone.map((nonce): Row => [nonce]);
  }

  setPolicy(event: PolicySet): boolean {
    if (!this.#book.setPolicy(event)) return false;
    const { version, network, first_fee, later_fee, minimum, single_cap, rolling_cap, decided_at } =
      event;
    this.#policies.push([
      version,
      network,
      first_fee,
      later_fee,
      minimum,
      single_cap,
      rolling_cap,
      decided_at,
    ]);
    this.#head = { ...this.#head, policy_version: version };
    return true;
  }

  isValid(deposit: Deposit, event: MintIntended): boolean {
    return this.#book.voidReasonOf(deposit, event) === undefined;
  }

  count(event: MintIntended): void {
    const { nonce, amount, at } = this.#book.count(event);
    this.#added.set(nonce, [nonce, event.deposit_id, amount, at]);
    const [first] = this.#book.counted;
    this.#head = {
      ...this.#head,
      last_nonce: nonce,
      mint_time: at,
      window_nonce: first?.nonce ?? nonce,
    };
  }

  /** The mint under way of this deposit is given up. */
  release(deposit: Deposit): void {
    if (deposit.status !== 'mint_requested') return;
    const { nonce } = deposit.mint;
    this.#book.release(nonce);
    if (!this.#added.delete(nonce)) this.#gone.push(nonce);
  }
}

function headOf(row: LoadedRow): MintHead {
  return {
    policy_version: countIn(row, 'policy_version'),
    last_nonce: countIn(row, 'last_nonce'),
    mint_time: countIn(row, 'mint_time'),
    window_nonce: countIn(row, 'window_nonce'),
  };
}

function policyOf(row: LoadedRow): Policy {
  return {
    version: countIn(row, 'version'),
    network: textIn(row, 'network'),
    first_fee: amountIn(row, 'first_fee'),
    later_fee: amountIn(row, 'later_fee'),
    minimum: amountIn(row, 'minimum'),
    single_cap: amountIn(row, 'single_cap'),
    rolling_cap: amountIn(row, 'rolling_cap'),
    decided_at: countIn(row, 'decided_at'),
  };
}

function mintOf(row: LoadedRow): CountedMint {
  return {
    nonce: countIn(row, 'nonce'),
    amount: amountIn(row, 'amount'),
    at: countIn(row, 'counted_at'),
  };
}
