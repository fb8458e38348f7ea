/** Lists of rows as plain arrays, so that a fold can be tested without Postgres. */
import type {
  Changes,
  Row,
  RowList,
  RowLists,
  Table,
} from '../../projections/contract/projection.ts';

class PlainRows implements RowList {
  readonly table: Table;
  readonly rows: Row[] = [];

  constructor(table: Table) {
    this.table = table;
  }

  get length(): number {
    return this.rows.length;
  }

  add(row: Row): void {
    this.rows.push(row);
  }

  savepoint(): () => void {
    const { length } = this.rows;
    return () => void this.rows.splice(length);
  }
}

export const plainRows: RowLists = (table) => new PlainRows(table);

/** The rows of a change made with `plainRows`. */
export function rowsIn(change: Changes['appends'][number]): readonly Row[] {
  if ('rows' in change) return change.rows;
  throw new TypeError(`the rows of ${change.table.name} are not plain`);
}
