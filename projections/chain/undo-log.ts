/**
 * The changes of each unfinalized block, one row of `journal` each, for exact reverts. The rows are
 * a part of the projection's tables.
 */
import { countIn, textIn } from '../contract/loaded-row.ts';
import type { Cut, Loaded, LoadedRow, Row, Table } from '../contract/projection.ts';
import type { Chain } from './chain.ts';

/** The head of a projection with a journal. */
export const HEAD: Table = {
  name: 'head',
  columns: {
    one: 'bool',
    sequence: 'int8',
    height: 'int8',
    hash: 'bytea',
    finalized_height: 'int8',
    journal_from: 'int8',
  },
  key: ['one'],
};

export const JOURNAL: Table = {
  name: 'journal',
  columns: { height: 'int8', undo: 'text' },
  key: ['height'],
};

/** Changes of a block as the text in column `undo`, and back. */
export interface UndoText<Undo> {
  readonly encode: (undo: Undo) => string;
  readonly decode: (text: string) => Undo;
}

interface Pending<Undo> {
  readonly height: number;
  readonly undo: Undo;
}

export class UndoLog<Undo> {
  readonly #text: UndoText<Undo>;
  /** unfinalized blocks that this batch appended, ascending */
  #pending: Pending<Undo>[] = [];
  /** the range of heights that the table holds: as loaded, and less what this batch reverted */
  readonly #storedFrom: number;
  #storedTo: number;
  readonly #storedUndos: ReadonlyMap<number, string>;
  #from: number | undefined;
  #cutFrom: number | undefined;

  /** `head`: undefined before the first block. `loaded['journal']`: the rows of reverted blocks. */
  constructor(head: LoadedRow | undefined, loaded: Loaded, text: UndoText<Undo>) {
    this.#text = text;
    this.#from = head === undefined ? undefined : countIn(head, 'journal_from');
    this.#storedFrom = this.#from ?? 0;
    this.#storedTo = head === undefined ? -1 : countIn(head, 'height');
    this.#storedUndos = new Map(
      (loaded['journal'] ?? []).map((row) => [countIn(row, 'height'), textIn(row, 'undo')]),
    );
  }

  /** The lowest height that has a row; 0 before the first block. */
  get #lowest(): number {
    return this.#from ?? 0;
  }

  push(height: number, undo: Undo): void {
    this.#from ??= height;
    this.#pending.push({ height, undo });
  }

  /** Removes the newest block, at `height`, and returns its changes. */
  pop(height: number): Undo {
    const pending = this.#pending.pop();
    if (pending !== undefined) return pending.undo;
    const undo = this.#storedUndos.get(height);
    if (undo === undefined)
      throw new Error(`block ${height} is on the chain but not in the journal`);
    this.#cutFrom = height;
    this.#storedTo = height - 1;
    return this.#text.decode(undo);
  }

  /** Blocks up to this height are final. */
  finalize(height: number): void {
    this.#pending = this.#pending.filter((block) => block.height > height);
    this.#from = height + 1;
  }

  cuts(): readonly Cut[] {
    return this.#cutFrom === undefined
      ? []
      : [{ table: JOURNAL, column: 'height', from: this.#cutFrom }];
  }

  /** Keys of the stored rows whose blocks have become final. */
  finalized(): readonly Row[] {
    const rows: Row[] = [];
    for (let height = this.#storedFrom; height <= this.#storedTo && height < this.#lowest; height++)
      rows.push([height]);
    return rows;
  }

  added(): readonly Row[] {
    return this.#pending.map(({ height, undo }) => [height, this.#text.encode(undo)]);
  }

  /** The row of `head` after the batch; none before the first block. */
  head(chain: Chain): readonly Row[] {
    if (chain.status === 'empty') return [];
    const { sequence, top, finalized_height: finalizedHeight } = chain;
    return [[true, sequence, top.height, top.hash, finalizedHeight, this.#lowest]];
  }
}
