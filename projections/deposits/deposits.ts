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
import type {
  Folded,
  Load,
  Loaded,
  Outcomes,
  Projection,
  Recorded,
} from '../contract/projection.ts';
import { addressLoads, foldAddresses } from './address-fold.ts';
import { foldLedger, ledgerLoads } from './ledger-fold.ts';
import { TABLES } from './rows.ts';

type Changed = Exclude<Folded, { readonly broken: unknown }>;
type DepositsEvent = DepositAddressEvent | TreasuryEvent;

export const deposits: Projection<DepositsEvent> = {
  name: 'deposits',
  version: 12,
  topics: ['deposit.addresses', 'treasury.ledger'],
  isEvent: (event): event is DepositsEvent =>
    isDepositAddressEvent(event) || isTreasuryEvent(event),
  tables: TABLES,
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  // in the log of an older writer a first request derives an address: about 0.6 ms
  records_max: 1_000,
  loads,
  fold,
};

function byTopic(batch: readonly Recorded<DepositsEvent>[]): {
  readonly addresses: readonly Recorded<DepositAddressEvent>[];
  readonly ledger: readonly Recorded<TreasuryEvent>[];
} {
  const addresses: Recorded<DepositAddressEvent>[] = [];
  const ledger: Recorded<TreasuryEvent>[] = [];
  for (const { event, ...record } of batch) {
    if (isDepositAddressEvent(event)) addresses.push({ event, ...record });
    else ledger.push({ event, ...record });
  }
  return { addresses, ledger };
}

function loads(batch: readonly Recorded<DepositsEvent>[]): readonly Load[] {
  const { addresses, ledger } = byTopic(batch);
  return [
    ...(addresses.length === 0 ? [] : addressLoads(addresses)),
    ...(ledger.length === 0 ? [] : ledgerLoads(ledger)),
  ];
}

function fold(loaded: Loaded, batch: readonly Recorded<DepositsEvent>[]): Folded {
  const { addresses, ledger } = byTopic(batch);
  const folds: Changed[] = [];
  // the records of a batch are of one topic
  for (const folded of [foldAddresses(loaded, addresses), foldLedger(loaded, ledger)]) {
    if ('broken' in folded) return folded;
    folds.push(folded);
  }
  const sum = (outcome: keyof Outcomes): number =>
    folds.reduce((total, { outcomes }) => total + outcomes[outcome], 0);
  return {
    changes: {
      cuts: [],
      deletes: folds.flatMap(({ changes }) => changes.deletes),
      appends: folds.flatMap(({ changes }) => changes.appends),
      upserts: folds.flatMap(({ changes }) => changes.upserts),
    },
    outcomes: { applied: sum('applied'), replayed: sum('replayed'), ignored: sum('ignored') },
    announced: [...new Set(folds.flatMap(({ announced }) => announced))],
  };
}
