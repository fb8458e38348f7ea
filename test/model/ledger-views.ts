/**
 * The real ledger and its decisions for the model of the mint protocol. Records are short texts:
 * `Ia0@2` is the intent to mint deposit `a` with nonce 0, written for offset 2 (`C` credited, `X`
 * dead, `W` void, `H` held as failed, `A` approved by an operator, `D` released by an operator, `U`
 * approved without a signature, `R` the authority rotated, `V` without effect). The real fold
 * computes each log's view once. The ledger is not pinned: a stranger may write the end of a mint.
 *
 * Transactions of the first authority are in small letters, those of the second in capitals: `A0`
 * mints deposit `a` with nonce 0 of the second. `a0~` are bytes that no key has made.
 */
import { Ledger, type RequestedMint } from '../../projections/deposits/domain/ledger.ts';
import {
  conclude,
  intend,
  type FinalTransaction,
} from '../../projections/deposits/domain/minting.ts';
import { feeOf, NETWORK_LIMITS } from '../../schemas/deposit-policy.ts';
import type {
  DepositHeld,
  MintCredited,
  MintDead,
  MintIntended,
  MintVoided,
  TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import type { SignedDecision } from '../../schemas/operator-signature.ts';
import { alice, BY, operatorsSet, signed } from '../support/operators.ts';
import { confirmedEvent, depositEvents } from '../support/deposit-events.ts';

const NOW = 1_790_000_000_000;
const OWNER = Buffer.alloc(20, 0xc1);
const CREDIT = 8_000_000n;
const NAMES = ['a', 'b'] as const;

const CONFIRMED = NAMES.map((name, address_ordinal) => {
  const fee = feeOf(NETWORK_LIMITS.testnet, address_ordinal);
  const terms = { gross: CREDIT + fee, fee, credit: CREDIT, address_ordinal };
  return confirmedEvent({ tx_id: Buffer.alloc(32, name), clt_address: OWNER, ...terms });
});
/** Both keys are alice's here: a signature's text says what it rotates to. */
const AUTHORITIES = [Buffer.alloc(20, 1), Buffer.alloc(20, 2)] as const;
const IDS = new Map(NAMES.map((name, at) => [name as string, CONFIRMED[at]?.deposit_id ?? '']));
const NAMES_OF = new Map([...IDS].map(([name, id]) => [id, name]));

const POLICY: TreasuryEvent = {
  type: 'PolicySet',
  sequence: 0,
  version: 1,
  network: 'testnet',
  ...NETWORK_LIMITS.testnet,
  decided_at: NOW,
};

/** Marks a transaction that the chain included and did not execute. */
export const FAILED = '!';
/** Marks a transaction that no key has made: nobody can send it. */
export const FOREIGN = '~';

/**
 * Hash of the transaction of this name: `a0` mints deposit a with nonce 0; `h0` is a person's with
 * nonce 0.
 */
function hashOf(transaction: string): Buffer {
  return Buffer.from(transaction.replace(FAILED, '').padEnd(32, '.'));
}

function nameOf(hash: Buffer): string {
  return hash.toString().replace(/\.+$/, '');
}

/** The meaning of one log. */
export interface View {
  /** whether its last record has an effect */
  readonly counts: boolean;
  /** of the authority in force */
  readonly version: number;
  /** transactions of the mints under way */
  readonly live: readonly string[];
  /** transactions of the mints that are called credited */
  readonly credited: readonly string[];
  /** transactions of all that were ever requested and counted */
  readonly requested: ReadonlySet<string>;
  /** by deposit, its status */
  readonly statuses: readonly string[];
  /** the possible next appends, given the final chain that the process has seen, by kind */
  readonly plans: (final: string) => readonly string[];
}

/** How a process decides; each `false` is a mistake. */
export interface Rules {
  readonly deposits: 1 | 2;
  /** the last deposit is held for an operator */
  readonly held?: boolean;
  /** decisions need the signature of an operator */
  readonly signatures?: boolean;
  /**
   * a given-up mint is over when the chain of its own authority shows another transaction; once its
   * nonce is used; or at once
   */
  readonly over?: 'shown' | 'used' | 'at_once';
  /** nonces are those of the authority in force */
  readonly own_nonces?: boolean;
}

export class LedgerViews {
  /** offset of the first record that the model itself appends */
  readonly begin: number;
  readonly names: readonly string[];
  readonly #rules: Rules;
  readonly #before: readonly TreasuryEvent[];
  readonly #views = new Map<string, View>();

  constructor(rules: Rules) {
    const { deposits, held = false, signatures = true } = rules;
    this.#rules = rules;
    this.names = NAMES.slice(0, deposits);
    const [authority] = AUTHORITIES;
    const heldOne = held ? CONFIRMED[deposits - 1] : undefined;
    const before: readonly TreasuryEvent[] = [
      POLICY,
      ...(signatures ? [operatorsSet(alice)] : []),
      { type: 'AuthoritySet', ...BY, version: 1, authority },
      ...CONFIRMED.slice(0, deposits),
      ...(heldOne === undefined
        ? []
        : [depositEvents(heldOne.deposit_id).held('internal_transfer')]),
    ];
    this.#before = before.map((event, sequence) => ({ ...event, sequence }));
    this.begin = before.length;
  }

  /** How many logs were folded. */
  get folded(): number {
    return this.#views.size;
  }

  /** `records` separated by commas, from the model's first on. */
  of(records: string): View {
    const known = this.#views.get(records);
    if (known !== undefined) return known;
    const view = this.#fold(records);
    this.#views.set(records, view);
    return view;
  }

  /** Whether the last of these records has an effect. */
  counts(records: string): boolean {
    return this.of(records).counts;
  }

  #fold(records: string): View {
    const ledger = new Ledger();
    let last = '';
    const told = records === '' ? [] : records.split(',').map(eventOf);
    for (const event of [...this.#before, ...told]) last = ledger.apply(event, ledger.end);
    const rules = this.#rules;
    const plans = new Map<string, readonly string[]>();
    return {
      counts: last === 'applied',
      version: ledger.governance.authority?.version ?? 0,
      live: [...ledger.live.values()].map(({ tx_hash }) => nameOf(tx_hash)),
      credited: creditsOf(ledger).map(({ tx_hash }) => nameOf(tx_hash)),
      requested: new Set([...ledger.requested].map(({ tx_hash }) => nameOf(tx_hash))),
      statuses: this.names.map((name) => ledger.deposit(IDS.get(name) ?? '').status),
      plans(final) {
        let plan = plans.get(final);
        if (plan === undefined)
          plans.set(final, (plan = plansOf(ledger, final === '' ? [] : final.split(','), rules)));
        return plan;
      },
    };
  }
}

function plansOf(
  ledger: Ledger,
  chain: readonly string[],
  { over = 'shown', own_nonces: ownNonces = true }: Rules,
): readonly string[] {
  const isSecond = ledger.governance.authority?.version === 2;
  const of = (second: boolean): readonly string[] =>
    ownNonces ? chain.filter((each) => isOfSecond(each) === second) : chain;
  const final = of(isSecond);
  const finalOf = ({ nonce, authority }: RequestedMint): string | undefined =>
    of(authority?.equals(AUTHORITIES[1]) === true)[nonce];
  const isOver = (mint: RequestedMint): boolean =>
    isForeign(ledger, mint) || isOtherwise(mint, finalOf(mint));
  const finalAt = (nonce: number): FinalTransaction | undefined => {
    const transaction = final[nonce];
    if (transaction === undefined) return undefined;
    const minted =
      transaction.toLowerCase().startsWith('h') || transaction.endsWith(FAILED)
        ? undefined
        : { to: OWNER, amount: CREDIT };
    return {
      tx_hash: hashOf(transaction),
      block_height: nonce,
      block_hash: hashOf('block'),
      minted,
    };
  };
  const concluded = conclude(ledger, finalAt, { now: NOW, most: 2 });
  const intended = intend(ledger, {
    now: NOW,
    final_nonce: final.length,
    hashOf: ({ nonce, reference }) => {
      const name = NAMES_OF.get(idIn(reference)) ?? '?';
      return hashOf(`${isSecond ? name.toUpperCase() : name}${nonce}`);
    },
    most: 2,
    ...(over === 'used' ? {} : { isOver: over === 'shown' ? isOver : () => true }),
  });
  const voids = [...ledger.live.values(), ...creditsOf(ledger)]
    .filter((mint) => {
      const found = finalOf(mint);
      if (found === undefined) return isForeign(ledger, mint);
      // a mint in flight is concluded instead
      return ledger.live.get(mint.nonce) !== mint && isOtherwise(mint, found);
    })
    .map(({ deposit_id, tx_hash, nonce }, at) => {
      const voided = depositEvents(deposit_id).voided(tx_hash, nonce);
      return Object.assign(voided, { sequence: Number(ledger.end) + at });
    });
  const plans: readonly (readonly Planned[])[] = [concluded.events, intended.events, voids];
  return plans
    .filter((events) => events.length > 0)
    .map((events) => events.map(recordOf).join(','));
}

/** The mints that the ledger calls credited. */
function creditsOf(ledger: Ledger): readonly RequestedMint[] {
  return [...ledger.deposits.values()].flatMap((deposit) => {
    const mint =
      deposit.status === 'credited' ? ledger.requestedBy(deposit.mint.tx_hash) : undefined;
    return mint === undefined ? [] : [mint];
  });
}

/** Whether the key of the authority in force would have made it, and has not. */
function isForeign({ governance }: Ledger, { tx_hash, authority }: RequestedMint): boolean {
  return (
    nameOf(tx_hash).endsWith(FOREIGN) &&
    authority !== undefined &&
    governance.authority?.authority.equals(authority) === true
  );
}

/** Whether a final transaction is not the mint that has its nonce, or was not carried out. */
function isOtherwise({ tx_hash }: RequestedMint, found: string | undefined): boolean {
  return found !== undefined && (!hashOf(found).equals(tx_hash) || found.endsWith(FAILED));
}

function idIn(reference: Buffer): string {
  const hex = reference.subarray(0, 16).toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

type Planned = MintIntended | MintCredited | MintDead | MintVoided | DepositHeld;

function recordOf(event: Planned): string {
  switch (event.type) {
    case 'MintIntended':
      return `I${nameOf(event.tx_hash)}@${event.sequence}`;
    case 'MintCredited':
      return `C${nameOf(event.tx_hash)}@${event.sequence}`;
    case 'MintDead':
      return `X${nameOf(event.tx_hash)}@${event.sequence}`;
    case 'MintVoided':
      return `W${nameOf(event.tx_hash)}@${event.sequence}`;
    case 'DepositHeld':
      return `H${NAMES_OF.get(event.deposit_id)}@${event.sequence}`;
  }
}

/** Whether the second authority has signed it. */
export function isOfSecond(transaction: string): boolean {
  return transaction.charAt(0) < 'a';
}

/** Signing takes a millisecond. */
const SIGNED = new Map<string, TreasuryEvent>();

/** Every key of a decision is alice's: that of the mint authority, which voids mints, too. */
function decisionOf(
  record: string,
  { kind, name, mint }: { readonly kind: string; readonly name: string; readonly mint: string },
  sequence: number,
): TreasuryEvent {
  const known = SIGNED.get(record);
  if (known !== undefined) return known;
  const [, authority] = AUTHORITIES;
  const make = depositEvents(IDS.get(name) ?? '');
  const decisions: Readonly<Record<string, () => SignedDecision>> = {
    R: () => ({ type: 'AuthoritySet', ...BY, version: 2, authority }),
    D: make.rejected,
    A: make.approved,
    W: () => make.voided(hashOf(mint), Number.parseInt(mint.slice(1), 10)),
  };
  const made = decisions[kind];
  if (made === undefined) throw new Error(`${record} is no decision of the model`);
  const event = signed({ ...made(), sequence }, alice);
  SIGNED.set(record, event);
  return event;
}

function eventOf(record: string): TreasuryEvent {
  if (record === 'V') return { ...depositEvents('').rejected(), sequence: -1 };
  const [, kind = '', mint = '', letter = '', digits = '', offset] =
    /^([ICXWHADUR])(([abAB]?)(\d*)~?)@(\d+)$/.exec(record) ?? [];
  const name = letter.toLowerCase();
  if (['R', 'A', 'D', 'W'].includes(kind))
    return decisionOf(record, { kind, name, mint }, Number(offset));
  const make = depositEvents(IDS.get(name) ?? '');
  const nonce = Number(digits);
  const tx_hash = hashOf(mint);
  const place = { sequence: Number(offset) };
  if (kind === 'I')
    return { ...make.intended({ to: OWNER, amount: CREDIT, nonce, tx_hash }), ...place };
  if (kind === 'C') return { ...make.credited(tx_hash), ...place };
  if (kind === 'X') return { ...make.dead(tx_hash, nonce), ...place };
  if (kind === 'U') return { ...make.approved(), ...place };
  if (kind === 'H') return { ...make.held('mint_failed'), ...place };
  throw new Error(`${record} is no record of the model`);
}
