/** Folds `treasury.ledger` into the rows of deposits, on the rows that the batch names. */
import { bytesKey, toHex } from '../../schemas/address.ts';
import {
  depositEventsIn,
  isDepositEvent,
  type DepositEvent,
  type DepositsDecided,
  type TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { brokenLink, headAfter, NO_RECORDS } from '../../schemas/hash-chain.ts';
import { brokenRule, DEPOSIT_ID } from '../../schemas/rules.ts';
import { LEDGER_RULES } from '../../schemas/treasury.ledger/rules.ts';
import { bytesIn, countIn, rowOf, textIn } from '../contract/loaded-row.ts';
import type { Folded, Load, Loaded, Recorded, Row } from '../contract/projection.ts';
import {
  depositRow,
  standingRow,
  STORED_COLUMNS,
  storedDeposit,
  timelineRow,
  transferRow,
  type StoredDeposit,
} from './deposit-rows.ts';
import { ABSENT, evolve, isDecidable, type Approvals, type Deposit } from './domain/deposit.ts';
import { isRotation, type DecidedOn, type Governance } from './domain/governance.ts';
import { isWrittenFor } from './domain/ledger.ts';
import { positionAfter } from './domain/mint-queue.ts';
import {
  concernsDeposits,
  GOVERNANCE_COLUMNS,
  governanceHead,
  governanceLoads,
  mintsInFlight,
  storedGovernance,
} from './governance-rows.ts';
import { mintLoads, MintRows } from './mint-rows.ts';
import {
  BY_STATUS,
  DEPOSITS,
  DEPOSIT_EVENTS,
  LEDGER,
  MINTS,
  OWNERS,
  POLICIES,
  REFUNDS,
  STANDINGS,
} from './rows.ts';

type Changed = Exclude<Folded, { readonly broken: unknown }>;

export function ledgerLoads(batch: readonly Recorded<TreasuryEvent>[]): readonly Load[] {
  // another rolling cap changes which of them keep others waiting
  const queuedDeposits: Load = {
    name: 'queued_deposits',
    text: `SELECT ${STORED_COLUMNS} FROM by_status b JOIN deposits d ON d.id = b.id JOIN standings s ON s.id = b.id
          WHERE b.status IN ('confirmed', 'mint_requested')`,
    values: [],
  };
  const ids = new Set<string>();
  const owners = new Map<string, Buffer>();
  const refunds = new Map<string, Buffer>();
  for (const { event } of batch) {
    // Postgres takes no text with U+0000, which no id has
    for (const { deposit_id: depositId } of depositEventsIn(event))
      if (DEPOSIT_ID.holds(depositId)) ids.add(depositId);
    if (event.type === 'DepositConfirmed')
      owners.set(bytesKey(event.clt_address), event.clt_address);
    if (event.type === 'RefundRecorded') refunds.set(bytesKey(event.tron_tx_id), event.tron_tx_id);
  }
  return [
    {
      name: 'ledger',
      text: `SELECT sequence, head, deposits, policy_version, last_nonce, mint_time, window_sequence,
                    free_nonces, ${GOVERNANCE_COLUMNS} FROM ledger`,
      values: [],
    },
    ...mintLoads(batch),
    ...governanceLoads(batch),
    {
      name: 'refunds',
      text: 'SELECT tron_tx_id FROM refunds WHERE tron_tx_id = ANY($1::bytea[])',
      values: [[...refunds.values()]],
    },
    {
      name: 'owners',
      text: 'SELECT clt_address, deposits FROM owners WHERE clt_address = ANY($1::bytea[])',
      values: [[...owners.values()]],
    },
    {
      name: 'stored_deposits',
      text: `SELECT ${STORED_COLUMNS} FROM deposits d JOIN standings s ON s.id = d.id WHERE d.id = ANY($1::text[])`,
      values: [[...ids]],
    },
    ...(batch.some(({ event }) => event.type === 'PolicySet') ? [queuedDeposits] : []),
  ];
}

export function foldLedger(loaded: Loaded, batch: readonly Recorded<TreasuryEvent>[]): Folded {
  const rows = new LedgerRows(loaded);
  const outcomes = { applied: 0, replayed: 0, ignored: 0 };
  for (const [at, recorded] of batch.entries()) {
    const reason = rows.brokenBy(recorded);
    if (reason !== undefined) return { broken: { at, reason } };
    outcomes[rows.apply(recorded)]++;
  }
  return { changes: rows.changes(), outcomes, announced: rows.announced() };
}

interface DepositChange {
  readonly before: StoredDeposit;
  after: StoredDeposit;
}

interface Owner {
  readonly address: Buffer;
  deposits: number;
  changed: boolean;
}

class LedgerRows {
  readonly #deposits = new Map<string, DepositChange>();
  readonly #owners = new Map<string, Owner>();
  /** transactions of refunds, as `bytesKey` gives them: stored ones of the batch, and new */
  readonly #refunds: Set<string>;
  readonly #refunded: Row[] = [];
  readonly #confirmed: Row[] = [];
  readonly #timeline: Row[] = [];
  readonly #mints: MintRows;
  readonly #governance: Governance;
  /** by deposit with a mint in flight, its nonce; complete where the batch depends on it */
  readonly #inFlight: Map<string, number>;
  readonly #loadedSequence: number;
  /** of the last record of the chain */
  #sequence: number;
  #head: Buffer;
  #count: number;

  constructor(loaded: Loaded) {
    const [head] = loaded['ledger'] ?? [];
    this.#sequence = head === undefined ? -1 : countIn(head, 'sequence');
    this.#loadedSequence = this.#sequence;
    this.#head = head === undefined ? NO_RECORDS : bytesIn(head, 'head');
    this.#count = head === undefined ? 0 : countIn(head, 'deposits');
    this.#mints = new MintRows(loaded, head);
    this.#governance = storedGovernance(head);
    this.#inFlight = mintsInFlight(loaded);
    this.#refunds = new Set(
      (loaded['refunds'] ?? []).map((row) => bytesKey(bytesIn(row, 'tron_tx_id'))),
    );
    for (const row of loaded['owners'] ?? []) {
      const address = bytesIn(row, 'clt_address');
      const owner = { address, deposits: countIn(row, 'deposits'), changed: false };
      this.#owners.set(bytesKey(address), owner);
    }
    for (const name of ['stored_deposits', 'queued_deposits']) {
      for (const row of loaded[name] ?? []) {
        const before = storedDeposit(row);
        this.#deposits.set(textIn(row, 'id'), { before, after: before });
      }
    }
  }

  /** Why the record does not follow those before it. */
  brokenBy({ event, offset }: Recorded<TreasuryEvent>): string | undefined {
    const isNew = isWrittenFor(event, offset) && event.sequence > this.#sequence;
    return isNew ? brokenLink(this.#head, event, offset) : undefined;
  }

  apply(recorded: Recorded<TreasuryEvent>): 'applied' | 'replayed' | 'ignored' {
    const { event, offset } = recorded;
    if (!isWrittenFor(event, offset)) return 'ignored';
    if (event.sequence <= this.#sequence) return 'replayed';
    this.#sequence = event.sequence;
    this.#head = headAfter(this.#head, recorded.value_hash);
    const counts =
      brokenRule(LEDGER_RULES, event) === undefined &&
      this.#governance.admits(event, this.#decidedOn(event)) &&
      this.#counts(recorded);
    return counts ? 'applied' : 'ignored';
  }

  #decidedOn(event: TreasuryEvent): DecidedOn {
    const known = isDepositEvent(event) ? this.#deposits.get(event.deposit_id) : undefined;
    return { policy: this.#mints.policy, deposit: known?.after.deposit ?? ABSENT };
  }

  #counts(recorded: Recorded<TreasuryEvent>): boolean {
    const { event } = recorded;
    if (isDepositEvent(event))
      return this.#evolve({ ...recorded, event }, this.#governance.approvingBy(event));
    if (event.type === 'DepositsDecided') return this.#decide({ ...recorded, event });
    if (event.type === 'PolicySet') return this.#mints.setPolicy(event);
    if (!concernsDeposits(event)) return false;
    const isMinting = this.#inFlight.size > 0;
    const counts = this.#governance.apply(event, {
      is_minting: isMinting,
      has_minted: false,
      network: this.#mints.policy?.network,
      isOurs: () => false,
    });
    if (counts && isRotation(event)) this.#mints.beginNonces();
    return counts;
  }

  #decide(recorded: Recorded<DepositsDecided>): boolean {
    const { event } = recorded;
    const approvals = this.#governance.approvingBy(event);
    const depositOf = (id: string): Deposit => this.#deposits.get(id)?.after.deposit ?? ABSENT;
    if (!isDecidable(event, depositOf, approvals)) return false;
    for (const each of depositEventsIn(event))
      this.#evolve({ ...recorded, event: each }, approvals);
    return true;
  }

  #evolve({ event, partition, offset }: Recorded<DepositEvent>, approvals: Approvals): boolean {
    const known = this.#deposits.get(event.deposit_id);
    const before = known?.after.deposit ?? ABSENT;
    if (!this.#isDue(event, before)) return false;
    const deposit = evolve(before, event, approvals(before));
    if (deposit === before) return false;
    if (deposit.status === 'mint_requested')
      this.#inFlight.set(event.deposit_id, deposit.mint.nonce);
    else this.#inFlight.delete(event.deposit_id);
    if (event.type === 'MintIntended') this.#mints.count(event);
    else if (event.type !== 'MintCredited') this.#mints.giveUp(before, event.type === 'MintVoided');
    if (event.type === 'DepositRejected' || event.type === 'MintVoided')
      this.#mints.freeNonce(before, this.#inFlight.values());
    if (event.type === 'RefundRecorded') {
      const transaction = bytesKey(event.tron_tx_id);
      if (!this.#refunds.has(transaction))
        this.#refunded.push([event.tron_tx_id, event.deposit_id]);
      this.#refunds.add(transaction);
    }
    const change = known ?? this.#add(event);
    const { seq, position } = change.after;
    let { events } = change.after;
    if (event.type === 'DepositConfirmed') this.#timeline.push(transferRow(event, events++));
    this.#timeline.push(timelineRow(event, events++, { partition, offset }));
    change.after = {
      seq,
      deposit,
      events,
      position: this.#mints.isAwaitingHold(deposit)
        ? undefined
        : positionAfter(position, event, deposit),
      goes_first_at: undefined,
    };
    return true;
  }

  /** Whether the rest of the ledger lets the event count. */
  #isDue(event: DepositEvent, before: Deposit): boolean {
    switch (event.type) {
      case 'DepositConfirmed':
        return this.#mints.isConfirmed(event, this.#owner(event.clt_address).deposits);
      case 'DepositHeld':
        return this.#mints.isHold(before, event);
      case 'MintIntended':
        return !this.#governance.is_stopped && this.#mints.isValid(before, event);
      case 'RefundRecorded':
        // older writers let one transaction pay several deposits back
        return (
          this.#governance.ledger_id === undefined || !this.#refunds.has(bytesKey(event.tron_tx_id))
        );
      case 'DepositApproved':
      case 'DepositRejected':
      case 'MintCredited':
      case 'MintDead':
      case 'MintVoided':
        return true;
    }
  }

  #add(event: DepositEvent): DepositChange {
    if (event.type !== 'DepositConfirmed') throw new Error(`a deposit began with ${event.type}`);
    const owner = this.#owner(event.clt_address);
    owner.changed = true;
    const seq = this.#count++;
    this.#confirmed.push(depositRow(event, seq, owner.deposits++));
    const nothing = { events: 0, position: undefined, goes_first_at: undefined };
    const before: StoredDeposit = { seq, deposit: ABSENT, ...nothing };
    const change = { before, after: before };
    this.#deposits.set(event.deposit_id, change);
    return change;
  }

  #owner(address: Buffer): Owner {
    const key = bytesKey(address);
    let owner = this.#owners.get(key);
    if (owner === undefined)
      this.#owners.set(key, (owner = { address, deposits: 0, changed: false }));
    return owner;
  }

  changes(): Changed['changes'] {
    const standings: Row[] = [];
    const listed: Row[] = [];
    const unlisted: Row[] = [];
    for (const [id, { before, after }] of this.#deposits) {
      const goes_first_at = this.#mints.goesFirstAt(after);
      if (after === before && goes_first_at === before.goes_first_at) continue;
      standings.push(standingRow(id, { ...after, goes_first_at }));
      const [was, is] = [listOf(before.deposit), listOf(after.deposit)];
      if (was === is) continue;
      if (was !== 'absent') unlisted.push([was, before.seq]);
      listed.push([is, after.seq, id]);
    }
    const owners = [...this.#owners.values()].filter(({ changed }) => changed);
    const counters = { sequence: this.#sequence, head: this.#head, deposits: this.#count };
    const governance = governanceHead(this.#governance);
    const head = rowOf(LEDGER, { one: true, ...counters, ...this.#mints.head, ...governance });
    return {
      cuts: [],
      deletes: [
        { table: BY_STATUS, rows: unlisted },
        { table: MINTS, rows: this.#mints.gone },
      ],
      appends: [
        { table: DEPOSITS, rows: this.#confirmed },
        { table: BY_STATUS, rows: listed },
        { table: DEPOSIT_EVENTS, rows: this.#timeline },
        { table: POLICIES, rows: this.#mints.policies },
        { table: MINTS, rows: this.#mints.added },
        { table: REFUNDS, rows: this.#refunded },
      ],
      upserts: [
        { table: STANDINGS, rows: standings },
        { table: OWNERS, rows: owners.map(({ address, deposits }): Row => [address, deposits]) },
        { table: LEDGER, rows: this.#sequence === this.#loadedSequence ? [] : [head] },
      ],
    };
  }

  /** Owners of the deposits that an event changed. */
  announced(): string[] {
    const owners = new Set<string>();
    for (const { before, after } of this.#deposits.values())
      if (after !== before && after.deposit.status !== 'absent')
        owners.add(toHex(after.deposit.terms.clt_address));
    return [...owners];
  }
}

/** The list of `by_status` that a deposit is in. */
function listOf(deposit: Deposit): string {
  return deposit.status === 'needs_manual' && deposit.rejected ? 'rejected' : deposit.status;
}
