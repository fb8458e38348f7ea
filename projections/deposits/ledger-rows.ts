/** The rows of deposits while a batch of `treasury.ledger` is folded: what they were, and what the batch makes of them. */
import { toHex } from '../../schemas/address.ts';
import type {
  DepositConfirmed,
  DepositEvent,
  TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { bytesIn, countIn } from '../contract/loaded-row.ts';
import type { Folded, Load, Loaded, Recorded, Row } from '../contract/projection.ts';
import { ABSENT, evolve, type Deposit } from './domain/deposit.ts';
import { isWrittenFor } from './domain/ledger.ts';
import { mintLoads, MintRows } from './mint-rows.ts';
import {
  BY_STATUS,
  DEPOSITS,
  DEPOSIT_EVENTS,
  LEDGER,
  MINTS,
  OWNERS,
  POLICIES,
  STANDINGS,
} from './rows.ts';
import { depositOf, standingRow, STORED_COLUMNS } from './standing.ts';
import { timelineRow, transferRow } from './timeline.ts';

type Whole = Exclude<Folded, { readonly broken: unknown }>;

export function ledgerLoads(batch: readonly Recorded<TreasuryEvent>[]): readonly Load[] {
  const ids = new Set<string>();
  const owners = new Map<string, Buffer>();
  for (const { event } of batch) {
    if (event.type !== 'PolicySet') ids.add(event.deposit_id);
    if (event.type === 'DepositConfirmed') owners.set(keyOf(event.clt_address), event.clt_address);
  }
  return [
    {
      name: 'ledger',
      text: 'SELECT sequence, deposits, policy_version, last_nonce, mint_time, window_nonce FROM ledger',
      values: [],
    },
    ...mintLoads(batch),
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
  ];
}

/** A deposit that the batch has to do with. */
interface Known {
  readonly seq: number;
  /** as the batch found it */
  readonly loaded: Deposit;
  now: Deposit;
  events: number;
  readonly loaded_events: number;
}

export function foldLedger(loaded: Loaded, batch: readonly Recorded<TreasuryEvent>[]): Whole {
  const rows = new LedgerRows(loaded);
  const outcomes = { applied: 0, replayed: 0, ignored: 0 };
  for (const { event, partition, offset } of batch)
    outcomes[rows.apply(event, { partition, offset })]++;
  return { changes: rows.changes(), outcomes, announced: rows.announced() };
}

class LedgerRows {
  readonly #deposits = new Map<string, Known>();
  readonly #owners = new Map<
    string,
    { readonly address: Buffer; deposits: number; moved: boolean }
  >();
  readonly #confirmed: Row[] = [];
  readonly #timeline: Row[] = [];
  readonly #mints: MintRows;
  readonly #loadedSequence: number;
  #sequence: number;
  #count: number;

  constructor(loaded: Loaded) {
    const [head] = loaded['ledger'] ?? [];
    this.#sequence = head === undefined ? -1 : countIn(head, 'sequence');
    this.#loadedSequence = this.#sequence;
    this.#count = head === undefined ? 0 : countIn(head, 'deposits');
    this.#mints = new MintRows(loaded, head);
    for (const row of loaded['owners'] ?? []) {
      const address = bytesIn(row, 'clt_address');
      this.#owners.set(keyOf(address), {
        address,
        deposits: countIn(row, 'deposits'),
        moved: false,
      });
    }
    for (const row of loaded['stored_deposits'] ?? []) {
      const { id, seq, events, deposit } = depositOf(row);
      this.#deposits.set(id, { seq, loaded: deposit, now: deposit, events, loaded_events: events });
    }
  }

  apply(
    event: TreasuryEvent,
    place: { readonly partition: number; readonly offset: bigint },
  ): 'applied' | 'replayed' | 'ignored' {
    if (!isWrittenFor(event, place.offset)) return 'ignored';
    if (event.sequence <= this.#sequence) return 'replayed';
    if (event.type === 'PolicySet') {
      if (!this.#mints.setPolicy(event)) return 'ignored';
      this.#sequence = event.sequence;
      return 'applied';
    }
    const known = this.#deposits.get(event.deposit_id);
    const before = known?.now ?? ABSENT;
    if (event.type === 'MintIntended' && !this.#mints.isValid(before, event)) return 'ignored';
    const after = evolve(before, event);
    if (after === before) return 'ignored';
    this.#sequence = event.sequence;
    if (event.type === 'MintIntended') this.#mints.count(event);
    if (event.type === 'MintDead' || event.type === 'DepositHeld') this.#mints.release(before);
    const deposit = known ?? this.#add(event);
    deposit.now = after;
    if (event.type === 'DepositConfirmed')
      this.#timeline.push(transferRow(event, deposit.events++));
    this.#timeline.push(timelineRow(event, deposit.events++, place));
    return 'applied';
  }

  #add(event: DepositEvent): Known {
    if (event.type !== 'DepositConfirmed') throw new Error(`a deposit began with ${event.type}`);
    const seq = this.#count++;
    const owner = this.#owner(event.clt_address);
    this.#confirmed.push(depositRow(event, seq, owner.deposits++));
    owner.moved = true;
    const known: Known = { seq, loaded: ABSENT, now: ABSENT, events: 0, loaded_events: 0 };
    this.#deposits.set(event.deposit_id, known);
    return known;
  }

  #owner(address: Buffer): { deposits: number; moved: boolean } {
    const key = keyOf(address);
    let owner = this.#owners.get(key);
    if (owner === undefined)
      this.#owners.set(key, (owner = { address, deposits: 0, moved: false }));
    return owner;
  }

  changes(): Whole['changes'] {
    const moved = [...this.#deposits].filter(
      ([, { events, loaded_events: before }]) => events > before,
    );
    const relisted = moved.filter(([, { loaded, now }]) => loaded.status !== now.status);
    const gone = relisted
      .filter(([, { loaded }]) => loaded.status !== 'absent')
      .map(([, { loaded, seq }]): Row => [loaded.status, seq]);
    const owners = [...this.#owners.values()].filter((owner) => owner.moved);
    return {
      cuts: [],
      deletes: [
        { table: BY_STATUS, rows: gone },
        { table: MINTS, rows: this.#mints.gone },
      ],
      appends: [
        { table: DEPOSITS, rows: this.#confirmed },
        {
          table: BY_STATUS,
          rows: relisted.map(([id, { now, seq }]): Row => [now.status, seq, id]),
        },
        { table: DEPOSIT_EVENTS, rows: this.#timeline },
        { table: POLICIES, rows: this.#mints.policies },
        { table: MINTS, rows: this.#mints.added },
      ],
      upserts: [
        {
          table: STANDINGS,
          rows: moved.map(([id, { now, events }]) => standingRow(id, now, events)),
        },
        { table: OWNERS, rows: owners.map(({ address, deposits }): Row => [address, deposits]) },
        {
          table: LEDGER,
          rows:
            this.#sequence === this.#loadedSequence
              ? []
              : [[true, this.#sequence, this.#count, ...this.#mints.head]],
        },
      ],
    };
  }

  /** Owners of the deposits that moved. */
  announced(): string[] {
    const owners = new Set<string>();
    for (const { now, events, loaded_events: before } of this.#deposits.values()) {
      if (events > before && now.status !== 'absent') owners.add(toHex(now.terms.clt_address));
    }
    return [...owners];
  }
}

function depositRow(event: DepositConfirmed, seq: number, ordinal: number): Row {
  return [
    event.deposit_id,
    seq,
    event.clt_address,
    ordinal,
    event.deposit_address,
    event.tx_id,
    event.log_index,
    event.gross,
    event.fee,
    event.credit,
    event.policy_version,
    event.address_ordinal,
    event.block_number,
    event.block_timestamp,
  ];
}

function keyOf(address: Buffer): string {
  return address.toString('latin1');
}
