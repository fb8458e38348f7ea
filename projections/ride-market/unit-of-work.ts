/** The rows that one batch touches: as stored, as they are now, and what each block changed. */
import { bytesKey } from '../../schemas/address.ts';
import { recordIn } from '../contract/loaded-row.ts';
import type { Changes, LoadedRow, Row, TableRows } from '../contract/projection.ts';
import { RECORD_TABLES, rowFromRecord, type Records, type RecordTable } from './records.ts';

/** One row that a block changed. */
export interface UndoRow<Name extends RecordTable = RecordTable> {
  readonly table: Name;
  readonly hash: Buffer;
  /** undefined: the row did not exist */
  readonly before: Records[Name] | undefined;
  readonly exists_after: boolean;
}

interface Entry<Record> {
  readonly hash: Buffer;
  /** `unread`: the table has a row, whose content was not loaded */
  readonly stored: Record | 'unread' | undefined;
  now: Record | undefined;
}

type Entries = { readonly [Name in RecordTable]: Map<string, Entry<Records[Name]>> };

export class UnitOfWork {
  readonly #entries: Entries = {
    open_requests: new Map(),
    closed_requests: new Map(),
    offers: new Map(),
    active_trips: new Map(),
    ended_trips: new Map(),
    payments: new Map(),
  };
  /** the rows that the current block has changed, as they were before it */
  readonly #touched = new Map<string, UndoRow>();

  load(table: RecordTable, rows: readonly LoadedRow[] = []): void {
    for (const row of rows)
      this.#add(table, recordIn<Records[RecordTable]>(RECORD_TABLES[table], row));
  }

  #add<Name extends RecordTable>(table: Name, record: Records[Name]): void {
    const { hash } = record;
    this.#entries[table].set(bytesKey(hash), { hash, stored: record, now: record });
  }

  get<Name extends RecordTable>(table: Name, hash: Buffer): Records[Name] | undefined {
    return this.#entries[table].get(bytesKey(hash))?.now;
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
    const name = `${table} ${bytesKey(hash)}`;
    if (!this.#touched.has(name))
      this.#touched.set(name, { table, hash, before: entry.now, exists_after: false });
    entry.now = record;
  }

  /** Ends the current block and returns what it changed. */
  endBlock(): readonly UndoRow[] {
    const undo: UndoRow[] = [];
    for (const row of this.#touched.values()) {
      const exists = this.get(row.table, row.hash) !== undefined;
      if (row.before !== undefined || exists) undo.push({ ...row, exists_after: exists });
    }
    this.#touched.clear();
    return undo;
  }

  /** Reverts one block. Blocks are reverted newest first. */
  undo(rows: readonly UndoRow[]): void {
    for (const row of rows) this.#restore(row);
  }

  #restore<Name extends RecordTable>({ table, hash, before, exists_after }: UndoRow<Name>): void {
    // a row not loaded for this batch is stored as the newest block that changed it left it
    this.#entry(table, hash, exists_after ? 'unread' : undefined).now = before;
  }

  #entry<Name extends RecordTable>(
    table: Name,
    hash: Buffer,
    stored: 'unread' | undefined,
  ): Entry<Records[Name]> {
    const entries: Map<string, Entry<Records[Name]>> = this.#entries[table];
    const key = bytesKey(hash);
    let entry = entries.get(key);
    if (entry === undefined) entries.set(key, (entry = { hash, stored, now: undefined }));
    return entry;
  }

  changes(): Omit<Changes, 'cuts'> {
    const tables = [
      tableChanges('open_requests', this.#entries.open_requests),
      tableChanges('closed_requests', this.#entries.closed_requests),
      tableChanges('offers', this.#entries.offers),
      tableChanges('active_trips', this.#entries.active_trips),
      tableChanges('ended_trips', this.#entries.ended_trips),
      tableChanges('payments', this.#entries.payments),
    ];
    return {
      deletes: tables.map(({ deleted }) => deleted),
      appends: tables.map(({ added }) => added),
      upserts: tables.map(({ replaced }) => replaced),
    };
  }
}

function tableChanges<Name extends RecordTable>(
  name: Name,
  entries: ReadonlyMap<string, Entry<Records[Name]>>,
): { readonly deleted: TableRows; readonly added: TableRows; readonly replaced: TableRows } {
  const table = RECORD_TABLES[name];
  const deleted: Row[] = [];
  const added: Row[] = [];
  const replaced: Row[] = [];
  for (const { hash, stored, now } of entries.values()) {
    if (now === stored) continue;
    if (stored === 'unread' || now === undefined) deleted.push([hash]);
    if (now === undefined) continue;
    const isNew = stored === 'unread' || stored === undefined;
    (isNew ? added : replaced).push(rowFromRecord(name, now));
  }
  return {
    deleted: { table, rows: deleted },
    added: { table, rows: added },
    replaced: { table, rows: replaced },
  };
}
