/**
 * Applies many batches in one transaction while tables are loaded. A row that many of them change,
 * such as a busy account, is written once, at the end. See `batch-writer.ts` for the whole picture.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import type { Pool } from 'pg';
import { BytesIndex } from '../../../projections/bytes-index.ts';
import type {
  Changes,
  KeyedLoad,
  Load,
  LoadedRow,
  Outcomes,
  Projection,
  Row,
  Table,
  TableRows,
  Value,
} from '../../../projections/contract/projection.ts';
import { CopyRows, newCopyRows } from '../../runtime/postgres/copy-rows.ts';
import type { Coalesced, Complete, WriteTransaction } from '../engine/apply-batch.ts';
import type { Batch, BatchLookahead, LoadExtent } from '../engine/batches.ts';
import { advanced, type Checkpoint } from '../engine/checkpoint.ts';
import { loadMissingRows } from '../engine/table-reader.ts';
import { writeChanges, writeUpserts } from '../engine/table-writer.ts';

/** Age at which a transaction takes no further batch: a kill loses the work of about this long. */
const TRANSACTION_MS = 10_000;
/** How long a transaction waits for the next batch, and for the rows that it needs. */
const WAIT_MS = 1_000;
/** of one table; a row takes about 250 bytes */
const DIRTY_ROWS_MAX = 200_000;

export interface WriteCoalescerOptions<Event extends { readonly type: string }> {
  readonly projection: Pick<Projection<Event>, 'fold'>;
  /** rows are read over a connection of their own: that of the transaction is busy with writing */
  readonly pool: Pool;
  readonly batches: Pick<BatchLookahead<Event>, 'peek' | 'advance'>;
  readonly load: LoadExtent;
  /** the reader was rewound since: the batch must not be applied */
  readonly isStale: (batch: Batch<Event>) => boolean;
  /** dirty rows of one table; 200,000 when not given */
  readonly rows_max?: number | undefined;
}

export class WriteCoalescer<Event extends { readonly type: string }> {
  readonly #options: WriteCoalescerOptions<Event>;
  #hasTaken = false;

  constructor(options: WriteCoalescerOptions<Event>) {
    this.#options = options;
  }

  /** Batches were taken from the look-ahead: should the transaction fail, they are read again. */
  get hasTaken(): boolean {
    return this.#hasTaken;
  }

  canWrite(changes: Changes): boolean {
    return new DirtyRows(this.#options.rows_max).canHold(changes);
  }

  /** Writes a folded batch, and any number of batches after it. */
  async write(
    { client, over }: WriteTransaction,
    first: Complete,
    firstTo: Checkpoint,
  ): Promise<Coalesced> {
    const { batches, rows_max: rowsMax } = this.#options;
    const begun = performance.now();
    const dirty = new DirtyRows(rowsMax);
    const appended = new Set<string>();
    let to = firstTo;
    let { outcomes } = first;
    let rows = 0;
    let writing = Promise.resolve(0);
    for (let folded = first; ;) {
      const { changes } = folded;
      for (const { table } of changes.appends) appended.add(table.name);
      dirty.add(changes.upserts);
      const previous = writing;
      // queued: Postgres goes on with it while this process folds the next batch
      writing = previous.then(() => writeChanges(client, { ...changes, upserts: [] }));
      // an error is thrown where `writing` is awaited
      writing.catch(() => undefined);
      rows += await previous;
      over.throwIfAborted();
      if (performance.now() - begun > TRANSACTION_MS) break;
      const next = await this.#foldNext(to, dirty, appended, over);
      if (next === undefined) break;
      this.#hasTaken = true;
      batches.advance();
      to = advanced(to, next.batch.fingerprints, next.batch.next);
      outcomes = sum(outcomes, next.folded.outcomes);
      ({ folded } = next);
    }
    rows += await writing;
    over.throwIfAborted();
    rows += await writeUpserts(client, dirty.encoded());
    return { to, outcomes, rows };
  }

  /**
   * The batch after this checkpoint, folded on top of what the transaction has written. Undefined:
   * it does not come soon, or has to be applied in a transaction of its own.
   */
  async #foldNext(
    { topic, partition, next_offset: offset }: Checkpoint,
    dirty: DirtyRows,
    appended: ReadonlySet<string>,
    over: AbortSignal,
  ): Promise<{ readonly batch: Batch<Event>; readonly folded: Complete } | undefined> {
    const { projection, pool, batches, load, isStale } = this.#options;
    if (!load.goesBeyond(topic, partition, offset - 1n)) return undefined;
    // the consumer of the batch gets the error
    const batch = await soon(batches.peek().catch(() => undefined));
    if (
      batch === undefined ||
      batch.poison !== undefined ||
      isStale(batch) ||
      batch.topic !== topic ||
      batch.partition !== partition ||
      batch.from !== offset ||
      !batch.loads.every((each) => isCommitted(each, appended))
    )
      return undefined;
    // any failure comes up again when the batch is applied in a transaction of its own
    const loaded = await soon(loadMissingRows(pool, batch.loads, dirty).catch(() => undefined));
    over.throwIfAborted();
    if (loaded === undefined || isStale(batch)) return undefined;
    const folded = projection.fold(loaded, batch.events, newCopyRows);
    if ('broken' in folded || !dirty.canHold(folded.changes)) return undefined;
    return { batch, folded };
  }
}

/** Whether another connection, with the dirty rows, sees all rows of the load. */
function isCommitted(load: Load, appended: ReadonlySet<string>): boolean {
  return 'keys' in load && !appended.has(load.table.name);
}

function soon<Result>(result: Promise<Result>): Promise<Result | undefined> {
  return Promise.race([result, after(WAIT_MS, undefined, { ref: false })]);
}

function sum(one: Outcomes, other: Outcomes): Outcomes {
  return {
    applied: one.applied + other.applied,
    replayed: one.replayed + other.replayed,
    ignored: one.ignored + other.ignored,
  };
}

/** Rows that an open transaction has changed and not written yet: the newest state of each. */
export class DirtyRows {
  readonly #rowsMax: number;
  /** by table name; of tables whose key is one column */
  readonly #tables = new Map<string, DirtyTable>();

  constructor(rowsMax = DIRTY_ROWS_MAX) {
    this.#rowsMax = rowsMax;
  }

  /** Whether `add` can take these changes: upserts alone, by one key column, within the bound. */
  canHold({ cuts, deletes, upserts }: Changes): boolean {
    return (
      cuts.length === 0 &&
      deletes.every(({ rows }) => rows.length === 0) &&
      upserts.every(
        (change) =>
          change.rows.length === 0 ||
          (change.table.key.length === 1 &&
            this.#of(change.table).size + change.rows.length <= this.#rowsMax),
      )
    );
  }

  add(upserts: readonly TableRows[]): void {
    for (const { table, rows } of upserts)
      if (rows.length > 0) for (const row of rows) this.#of(table).set(row);
  }

  /** The dirty rows among those wanted, and the keys of the others. */
  find({ table, keys }: KeyedLoad): {
    readonly rows: readonly LoadedRow[];
    readonly missing: readonly Value[];
  } {
    const rows: LoadedRow[] = [];
    const missing: Value[] = [];
    const dirty = this.#of(table);
    for (const key of keys) {
      const row = dirty.get(key);
      if (row === undefined) missing.push(key);
      else rows.push(row);
    }
    return { rows, missing };
  }

  /** All of them, by table. */
  encoded(): readonly CopyRows[] {
    return [...this.#tables.values()].map((table) => table.encoded());
  }

  #of(table: Table): DirtyTable {
    let dirty = this.#tables.get(table.name);
    if (dirty === undefined) this.#tables.set(table.name, (dirty = new DirtyTable(table)));
    return dirty;
  }
}

/**
 * Rows are held without the bytes of their key: those are a slice of a larger buffer, which they
 * would keep alive.
 */
class DirtyTable {
  readonly #table: Table;
  readonly #keyAt: number;
  /**
   * an object with all columns: to copy it and set its properties is twice as fast as to add them
   */
  readonly #template: Readonly<Record<string, Value>>;
  /** seeded: those who choose keys cannot choose collisions */
  readonly #keys = new BytesIndex(randomBytes(4).readInt32LE());
  /** by position in `#keys` */
  readonly #rows: Row[] = [];

  constructor(table: Table) {
    this.#table = table;
    const columns = Object.keys(table.columns);
    this.#keyAt = columns.indexOf(table.key[0] ?? '');
    this.#template = Object.fromEntries(columns.map((column) => [column, null]));
  }

  get size(): number {
    return this.#rows.length;
  }

  set(row: Row): void {
    const key = row[this.#keyAt] ?? null;
    const bytes = bytesOf(key);
    let position = this.#keys.find(bytes);
    if (position === -1) position = this.#keys.add(bytes);
    this.#rows[position] = Buffer.isBuffer(key) ? row.with(this.#keyAt, null) : row;
  }

  get(key: Value): LoadedRow | undefined {
    const row = this.#rows[this.#keys.find(bytesOf(key))];
    if (row === undefined) return undefined;
    const loaded = { ...this.#template };
    let at = 0;
    for (const column in loaded) {
      loaded[column] = at === this.#keyAt ? key : (row[at] ?? null);
      at++;
    }
    return loaded;
  }

  encoded(): CopyRows {
    const encoded = new CopyRows(this.#table);
    for (const [position, row] of this.#rows.entries())
      encoded.add(row[this.#keyAt] === null ? row.with(this.#keyAt, this.#keys.at(position)) : row);
    return encoded;
  }
}

/** Keys of one column have one type; 1 and 1n are the same key. */
function bytesOf(key: Value): Uint8Array {
  return Buffer.isBuffer(key) ? key : Buffer.from(String(key));
}
