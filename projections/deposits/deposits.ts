/**
 * The projection of deposits: the deposit address of each account (from `deposit.addresses`), and
 * the life of each deposit (from `treasury.ledger`). Each half writes tables of its own, so that
 * neither depends on how far the other topic is read.
 */
import {
  isDepositAddressEvent,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { isTreasuryEvent, type TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import type { Folded, Load, Loaded, Projection, Recorded } from '../contract/projection.ts';
import { addressLoads, foldAddresses } from './address-fold.ts';
import { foldLedger, ledgerLoads } from './ledger-fold.ts';
import {
  ADDRESSES,
  BOOK,
  BY_STATUS,
  DEPOSITS,
  DEPOSIT_EVENTS,
  LEDGER,
  MINTS,
  OWNERS,
  POLICIES,
  STANDINGS,
} from './rows.ts';

type DepositsEvent = DepositAddressEvent | TreasuryEvent;

export const deposits: Projection<DepositsEvent> = {
  name: 'deposits',
  version: 3,
  topics: ['deposit.addresses', 'treasury.ledger'],
  isEvent: (event): event is DepositsEvent =>
    isDepositAddressEvent(event) || isTreasuryEvent(event),
  tables: [
    BOOK,
    ADDRESSES,
    LEDGER,
    POLICIES,
    MINTS,
    OWNERS,
    DEPOSITS,
    STANDINGS,
    BY_STATUS,
    DEPOSIT_EVENTS,
  ],
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  // a first request derives an address, which takes about 0.6 ms
  records_max: 1_000,
  loads,
  fold,
};

interface Halves {
  readonly addresses: readonly Recorded<DepositAddressEvent>[];
  readonly ledger: readonly Recorded<TreasuryEvent>[];
}

function halvesOf(batch: readonly Recorded<DepositsEvent>[]): Halves {
  const addresses: Recorded<DepositAddressEvent>[] = [];
  const ledger: Recorded<TreasuryEvent>[] = [];
  for (const { event, ...place } of batch) {
    if (isDepositAddressEvent(event)) addresses.push({ event, ...place });
    else ledger.push({ event, ...place });
  }
  return { addresses, ledger };
}

function loads(batch: readonly Recorded<DepositsEvent>[]): readonly Load[] {
  const { addresses, ledger } = halvesOf(batch);
  return [
    ...(addresses.length === 0 ? [] : addressLoads(addresses)),
    ...(ledger.length === 0 ? [] : ledgerLoads(ledger)),
  ];
}

function fold(loaded: Loaded, batch: readonly Recorded<DepositsEvent>[]): Folded {
  const halves = halvesOf(batch);
  const [one, other] = [foldAddresses(loaded, halves.addresses), foldLedger(loaded, halves.ledger)];
  return {
    changes: {
      cuts: [],
      deletes: [...one.changes.deletes, ...other.changes.deletes],
      appends: [...one.changes.appends, ...other.changes.appends],
      upserts: [...one.changes.upserts, ...other.changes.upserts],
    },
    outcomes: {
      applied: one.outcomes.applied + other.outcomes.applied,
      replayed: one.outcomes.replayed + other.outcomes.replayed,
      ignored: one.outcomes.ignored + other.outcomes.ignored,
    },
    announced: [...new Set([...one.announced, ...other.announced])],
  };
}
