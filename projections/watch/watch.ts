/**
 * The watcher's memory, folded from what it and the deposit service have said: which deposit addresses there are, up to when each was asked for and how urgent it is,
 * and which transfers are in the log already. A watcher that starts anew, or a second one, knows from here what is to be done next.
 *
 * The queue is folded from two topics, whose records may be read in any order relative to each other: each of its times is the latest of those said, so the order
 * does not matter.
 */
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
import { addressLoads, foldSightings } from '../deposits/address-rows.ts';
import { bytesIn, countIn } from '../contract/loaded-row.ts';
import type { Folded, Load, Loaded, Projection, Recorded, Row } from '../contract/projection.ts';
import { Queue, QUEUE_COLUMNS } from './queue.ts';
import { ADDRESSES, QUEUE, BOOK, TRANSFERS } from './rows.ts';

/** How long an address stays hot after it was requested or its panel opened. Another window would be another version of this projection. */
export const HOT_WINDOW_MS = 24 * 60 * 60 * 1000;

type WatchEvent = DepositAddressEvent | TransferEvent;

export const watch: Projection<WatchEvent> = {
  name: 'watch',
  version: 1,
  topics: ['deposit.addresses', 'tron.transfers'],
  isEvent: (event): event is WatchEvent => isDepositAddressEvent(event) || isTransferEvent(event),
  tables: [BOOK, ADDRESSES, QUEUE, TRANSFERS],
  // both topics change the queue
  lock_table: 'turn',
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  // a first request costs the derivation of its address, some 0.6 ms
  records_max: 1_000,
  loads,
  fold,
};

function loads(batch: readonly Recorded<WatchEvent>[]): readonly Load[] {
  const addresses: Recorded<DepositAddressEvent>[] = [];
  const accounts = new Map<string, Buffer>();
  const checked = new Map<string, Buffer>();
  const transactions = new Map<string, Buffer>();
  for (const { event, ...place } of batch) {
    switch (event.type) {
      case 'TransferObserved':
        transactions.set(keyOf(event.tx_id), event.tx_id);
        break;
      case 'AddressesChecked':
        for (const { address } of event.checked) checked.set(keyOf(address), address);
        break;
      case 'SchemePinned':
        addresses.push({ event, ...place });
        break;
      case 'AddressRequested':
      case 'PanelOpened':
        addresses.push({ event, ...place });
        accounts.set(keyOf(event.clt_address), event.clt_address);
    }
  }
  return [
    ...(addresses.length === 0
      ? []
      : [...addressLoads(addresses), queueOfAccounts([...accounts.values()]), UNREQUESTED]),
    ...(checked.size === 0 ? [] : [queueOfAddresses([...checked.values()])]),
    ...(transactions.size === 0 ? [] : [transfersOf([...transactions.values()])]),
  ];
}

function queueOfAccounts(accounts: readonly Buffer[]): Load {
  return {
    name: 'queue_of_accounts',
    text: `SELECT ${QUEUE_COLUMNS} FROM addresses a JOIN queue q ON q.deposit_address = a.deposit_address WHERE a.clt_address = ANY($1::bytea[])`,
    values: [accounts],
  };
}

function queueOfAddresses(addresses: readonly Buffer[]): Load {
  return {
    name: 'queue_of_addresses',
    text: `SELECT ${QUEUE_COLUMNS} FROM queue q WHERE q.deposit_address = ANY($1::bytea[])`,
    values: [addresses],
  };
}

/** Which of them a request will turn out to be of shows only when its address is derived. Once both topics are read there are none. */
const UNREQUESTED: Load = {
  name: 'queue_unrequested',
  text: `SELECT ${QUEUE_COLUMNS} FROM queue q WHERE NOT q.requested`,
  values: [],
};

function transfersOf(transactions: readonly Buffer[]): Load {
  return {
    name: 'known_transfers',
    text: 'SELECT tx_id, log_index FROM transfers WHERE tx_id = ANY($1::bytea[])',
    values: [transactions],
  };
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
  for (const { event, partition, offset, timestamp } of batch) {
    if (isDepositAddressEvent(event)) addresses.push({ event, partition, offset, timestamp });
    else if (event.type === 'TransferObserved') outcomes[transfers.add(event, partition, offset)]++;
    else outcomes[queue.check(event, partition)]++;
  }
  const { sightings, book, outcomes: seen } = foldSightings(loaded, addresses);
  const requested: Row[] = [];
  for (const { clt_address, deposit_address, assigned, seen_at } of sightings) {
    queue.heat(deposit_address, seen_at + HOT_WINDOW_MS);
    if (assigned === undefined) continue;
    requested.push([
      clt_address,
      assigned.index,
      deposit_address,
      transferPartition(deposit_address),
      assigned.requested_at,
    ]);
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
        { table: QUEUE, rows: queue.moved() },
      ],
    },
    outcomes: {
      applied: outcomes.applied + seen.applied,
      replayed: outcomes.replayed + seen.replayed,
      ignored: outcomes.ignored + seen.ignored,
    },
    // what is to be asked for before all others
    announced: queue.heated(),
  };
}

/** The transfers of a batch that are not in the log yet. */
class Transfers {
  readonly rows: Row[] = [];
  readonly #known: Set<string>;

  constructor(loaded: Loaded) {
    this.#known = new Set(
      (loaded['known_transfers'] ?? []).map((row) =>
        transferKey(bytesIn(row, 'tx_id'), countIn(row, 'log_index')),
      ),
    );
  }

  /** A record in a partition that is not its address' has no effect: nobody looks for it there. */
  add(
    event: TransferObserved,
    partition: number,
    offset: bigint,
  ): 'applied' | 'replayed' | 'ignored' {
    if (transferPartition(event.to) !== partition) return 'ignored';
    const key = transferKey(event.tx_id, event.log_index);
    if (this.#known.has(key)) return 'replayed';
    this.#known.add(key);
    const { tx_id, log_index, to, value, block_number, block_timestamp } = event;
    this.rows.push([tx_id, log_index, to, value, block_number, block_timestamp, partition, offset]);
    return 'applied';
  }
}

function keyOf(bytes: Buffer): string {
  return bytes.toString('latin1');
}
