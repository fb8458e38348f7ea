/**
 * The watcher's state: the deposit addresses, when each was last checked and how urgent it is, and
 * the transfers that the log holds. A watcher that starts, or a second one, resumes from here.
 *
 * The queue is folded from two topics in any order: each time in it is the latest of the log, and
 * each count is of one topic alone.
 */
import { bytesKey } from '../../schemas/address.ts';
import {
  isDepositAddressEvent,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import {
  isTransferEvent,
  transferKey,
  type TransferEvent,
  type TransferObserved,
} from '../../schemas/tron.transfers/events.ts';
import { TRANSFER_RULES } from '../../schemas/tron.transfers/rules.ts';
import { brokenRule } from '../../schemas/rules.ts';
import { addressLoads, foldSightings } from '../deposits/address-fold.ts';
import { BOOK } from '../deposits/rows.ts';
import { bytesIn, countIn } from '../contract/loaded-row.ts';
import type {
  Folded,
  Load,
  Loaded,
  Projection,
  Recorded,
  Row,
  Table,
} from '../contract/projection.ts';
import { Queue, QUEUE_COLUMNS } from './queue.ts';

/** The tables as the fold writes them, besides `BOOK`; `table.sql` says what each column means. */
const ADDRESSES: Table = {
  name: 'addresses',
  columns: {
    clt_address: 'bytea',
    derivation_index: 'int8',
    deposit_address: 'bytea',
    partition: 'int4',
    requested_at: 'timestamptz',
  },
  key: ['clt_address'],
};

const QUEUE: Table = {
  name: 'queue',
  columns: {
    deposit_address: 'bytea',
    partition: 'int4',
    requested: 'bool',
    hot: 'bool',
    paid: 'bool',
    openings: 'int8',
    hot_until: 'int8',
    checked_at: 'int8',
    checked_until: 'int8',
    turn_at: 'int8',
    due_at: 'int8',
    pause_level: 'int4',
  },
  key: ['deposit_address'],
};

const TRANSFERS: Table = {
  name: 'transfers',
  columns: {
    tx_id: 'bytea',
    log_index: 'int4',
    deposit_address: 'bytea',
    value: 'numeric',
    block_number: 'int8',
    block_timestamp: 'timestamptz',
    partition: 'int4',
    log_offset: 'int8',
  },
  key: ['tx_id', 'log_index'],
};

type WatchEvent = DepositAddressEvent | TransferEvent;

export const watch: Projection<WatchEvent> = {
  name: 'watch',
  version: 5,
  topics: ['deposit.addresses', 'tron.transfers'],
  isEvent: (event): event is WatchEvent => isDepositAddressEvent(event) || isTransferEvent(event),
  tables: [BOOK, ADDRESSES, QUEUE, TRANSFERS],
  // both topics change the queue
  lock_table: 'turn',
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  // in the log of an older writer a first request derives an address: about 0.6 ms
  records_max: 1_000,
  loads,
  fold,
};

function loads(batch: readonly Recorded<WatchEvent>[]): readonly Load[] {
  const addresses: Recorded<DepositAddressEvent>[] = [];
  const accounts = new Map<string, Buffer>();
  const queued = new Map<string, Buffer>();
  const transactions = new Map<string, Buffer>();
  for (const { event, ...position } of batch) {
    switch (event.type) {
      case 'TransferObserved':
        transactions.set(bytesKey(event.tx_id), event.tx_id);
        queued.set(bytesKey(event.to), event.to);
        break;
      case 'AddressesChecked':
        for (const { address } of event.checked) queued.set(bytesKey(address), address);
        break;
      case 'SchemePinned':
        addresses.push({ event, ...position });
        break;
      case 'AddressRequested':
      case 'PanelOpened':
        addresses.push({ event, ...position });
        accounts.set(bytesKey(event.clt_address), event.clt_address);
    }
  }
  const loaded: Load[] = [];
  if (addresses.length > 0)
    loaded.push(
      ...addressLoads(addresses),
      {
        name: 'queue_of_accounts',
        text: `SELECT ${QUEUE_COLUMNS} FROM addresses a JOIN queue q ON q.deposit_address = a.deposit_address WHERE a.clt_address = ANY($1::bytea[])`,
        values: [[...accounts.values()]],
      },
      // a request's address is known only after derivation; empty once both topics are read
      {
        name: 'queue_unrequested',
        text: `SELECT ${QUEUE_COLUMNS} FROM queue q WHERE NOT q.requested`,
        values: [],
      },
    );
  if (queued.size > 0)
    loaded.push({
      name: 'queue_of_addresses',
      text: `SELECT ${QUEUE_COLUMNS} FROM queue q WHERE q.deposit_address = ANY($1::bytea[])`,
      values: [[...queued.values()]],
    });
  if (transactions.size > 0)
    loaded.push({
      name: 'known_transfers',
      text: 'SELECT tx_id, log_index FROM transfers WHERE tx_id = ANY($1::bytea[])',
      values: [[...transactions.values()]],
    });
  return loaded;
}

function fold(loaded: Loaded, batch: readonly Recorded<WatchEvent>[]): Folded {
  const queue = new Queue(
    ['queue_of_accounts', 'queue_unrequested', 'queue_of_addresses'].flatMap(
      (name) => loaded[name] ?? [],
    ),
  );
  const addresses: Recorded<DepositAddressEvent>[] = [];
  const transfers = new Transfers(loaded);
  const outcomes = { applied: 0, replayed: 0, ignored: 0 };
  for (const recorded of batch) {
    const { event, partition, offset } = recorded;
    if (isDepositAddressEvent(event)) addresses.push({ ...recorded, event });
    else if (event.type === 'TransferObserved') {
      const outcome = transfers.add(event, partition, offset);
      if (outcome === 'applied' && event.value > 0n) queue.pay(event.to);
      outcomes[outcome]++;
    } else outcomes[queue.check(event, partition)]++;
  }
  const sighted = foldSightings(loaded, addresses);
  // the records of a batch are of one topic
  if ('broken' in sighted) return sighted;
  const { sightings, book, outcomes: seen } = sighted;
  const requested: Row[] = [];
  for (const {
    clt_address,
    deposit_address,
    assigned_index: assignedIndex,
    seen_at,
  } of sightings) {
    queue.open(deposit_address, seen_at);
    if (assignedIndex === undefined) continue;
    const partition = transferPartition(deposit_address);
    requested.push([clt_address, assignedIndex, deposit_address, partition, seen_at]);
  }
  return {
    changes: {
      cuts: [],
      deletes: [],
      appends: [
        { table: ADDRESSES, rows: requested },
        { table: TRANSFERS, rows: transfers.rows },
      ],
      upserts: [
        { table: BOOK, rows: book },
        { table: QUEUE, rows: queue.changedRows() },
      ],
    },
    outcomes: {
      applied: outcomes.applied + seen.applied,
      replayed: outcomes.replayed + seen.replayed,
      ignored: outcomes.ignored + seen.ignored,
    },
    announced: queue.hotAddresses(),
  };
}

/** The transfers of a batch that are not stored yet. */
export class Transfers {
  readonly rows: Row[] = [];
  readonly #known: Set<string>;

  constructor(loaded: Loaded) {
    this.#known = new Set(
      (loaded['known_transfers'] ?? []).map((row) =>
        transferKey(bytesIn(row, 'tx_id'), countIn(row, 'log_index')),
      ),
    );
  }

  /** A record in the wrong partition for its address, or that breaks a rule, has no effect. */
  add(
    event: TransferObserved,
    partition: number,
    offset: bigint,
  ): 'applied' | 'replayed' | 'ignored' {
    if (
      transferPartition(event.to) !== partition ||
      brokenRule(TRANSFER_RULES, event) !== undefined
    )
      return 'ignored';
    const key = transferKey(event.tx_id, event.log_index);
    if (this.#known.has(key)) return 'replayed';
    this.#known.add(key);
    const { tx_id, log_index, to, value, block_number, block_timestamp } = event;
    this.rows.push([tx_id, log_index, to, value, block_number, block_timestamp, partition, offset]);
    return 'applied';
  }
}
