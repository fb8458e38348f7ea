/** The rows that one batch touches: as they are stored, as they are now, and what each block changed, so that it can be taken back. */
import type { Changes, LoadedRow, Row, TableRows } from '../contract/projection.ts';
import { SHAPES, type Records, type RecordTable, type Shape } from './records.ts';

/** One row that a block changed. */
export interface UndoRow<Name extends RecordTable = RecordTable> {
  readonly table: Name;
  readonly hash: Buffer;
  /** undefined: there was none */
  readonly before: Records[Name] | undefined;
  /** whether there was one when the block was done */
  readonly exists_after: boolean;
}

interface Entry<Kept> {
  readonly hash: Buffer;
  /** unread: there is one, and nobody has asked what it says */
  readonly stored: Kept | 'unread' | undefined;
  now: Kept | undefined;
}

type Entries = { readonly [Name in RecordTable]: Map<string, Entry<Records[Name]>> };

export class Draft {
  readonly #entries: Entries = {
    open_requests: new Map(),
    closed_requests: new Map(),
    offers: new Map(),
    active_trips: new Map(),
    ended_trips: new Map(),
  };
  /** what the block at hand has changed so far, with the rows as they were before */
  readonly #touched = new Map<string, UndoRow>();

  /** Rows of the tables, as they were loaded. */
  load(table: RecordTable, rows: readonly LoadedRow[]): void {
    for (const row of rows) this.#load(table, SHAPES[table].read(row));
  }

  #load<Name extends RecordTable>(table: Name, record: Records[Name]): void {
    this.#entries[table].set(keyOf(record.hash), {
      hash: record.hash,
      stored: record,
      now: record,
    });
  }

  get<Name extends RecordTable>(table: Name, hash: Buffer): Records[Name] | undefined {
    return this.#entries[table].get(keyOf(hash))?.now;
  }

  put<Name extends RecordTable>(table: Name, record: Records[Name]): void {
    this.#set(table, record.hash, record);
  }

  remove(table: RecordTable, hash: Buffer): void {
    this.#set(table, hash, undefined);
  }

  #set<Name extends RecordTable>(
    table: Name,
    hash: Buffer,
    record: Records[Name] | undefined,
  ): void {
    const entry = this.#entry(table, hash, undefined);
    const name = `${table} ${keyOf(hash)}`;
    if (!this.#touched.has(name))
      this.#touched.set(name, { table, hash, before: entry.now, exists_after: false });
    entry.now = record;
  }

  /** The block is done: what it changed. */
  seal(): readonly UndoRow[] {
    const undo: UndoRow[] = [];
    for (const row of this.#touched.values()) {
      const isThere = this.get(row.table, row.hash) !== undefined;
      if (row.before !== undefined || isThere) undo.push({ ...row, exists_after: isThere });
    }
    this.#touched.clear();
    return undo;
  }

  /** Takes a block back; blocks are taken back newest first. */
  undo(rows: readonly UndoRow[]): void {
    for (const row of rows) this.#restore(row);
  }

  /** A row that this batch has not met yet is stored as the newest block that changed it has left it. */
  #restore<Name extends RecordTable>({
    table,
    hash,
    before,
    exists_after: isThere,
  }: UndoRow<Name>): void {
    this.#entry(table, hash, isThere ? 'unread' : undefined).now = before;
  }

  #entry<Name extends RecordTable>(
    table: Name,
    hash: Buffer,
    stored: 'unread' | undefined,
  ): Entry<Records[Name]> {
    const entries: Map<string, Entry<Records[Name]>> = this.#entries[table];
    const key = keyOf(hash);
    let entry = entries.get(key);
    if (entry === undefined) entries.set(key, (entry = { hash, stored, now: undefined }));
    return entry;
  }

  changes(): Omit<Changes, 'cuts'> {
    const {
      open_requests: open,
      closed_requests: closed,
      offers,
      active_trips: active,
      ended_trips: ended,
    } = this.#entries;
    const tables = [
      moved(SHAPES.open_requests, open),
      moved(SHAPES.closed_requests, closed),
      moved(SHAPES.offers, offers),
      moved(SHAPES.active_trips, active),
      moved(SHAPES.ended_trips, ended),
    ];
    return {
      deletes: tables.map(({ gone }) => gone),
      appends: tables.map(({ added }) => added),
      upserts: tables.map(({ replaced }) => replaced),
    };
  }
}

interface Moved {
  readonly gone: TableRows;
  readonly added: TableRows;
  readonly replaced: TableRows;
}

function moved<Kept>(
  { table, write }: Shape<Kept>,
  entries: ReadonlyMap<string, Entry<Kept>>,
): Moved {
  const gone: Row[] = [];
  const added: Row[] = [];
  const replaced: Row[] = [];
  for (const { hash, stored, now } of entries.values()) {
    if (now === stored) continue;
    if (stored === 'unread' || now === undefined) gone.push([hash]);
    if (now === undefined) continue;
    if (stored === 'unread' || stored === undefined) added.push(write(now));
    else replaced.push(write(now));
  }
  return {
    gone: { table, rows: gone },
    added: { table, rows: added },
    replaced: { table, rows: replaced },
  };
}

function keyOf(hash: Buffer): string {
  return hash.toString('latin1');
}
