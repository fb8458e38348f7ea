/**
 * A projection specified by events and rows:
 *
 *     specify(watch)
 *       .given([PINNED, requested(BEGIN)])
 *       .when([checked(BEGIN + HOUR)], PARTITION)
 *       .thenRows({ queue: [{ hot: true, checked_at: BEGIN + HOUR }] });
 *
 * The rows have to be the same however the log is cut into batches.
 */
import { expect } from 'vitest';
import type { Value } from '../../projections/contract/projection.ts';
import { texts } from '../support/plain-fold.ts';
import { FoldedTables, topicOf, type Folding, type Named, type Stretch } from './folded-tables.ts';

/** All rows of some tables; a row has the columns that matter, in each row of a table the same. */
export type ExpectedRows = Readonly<Record<string, readonly Readonly<Record<string, Value>>[]>>;

/** Records of a batch at most. */
const CUTS = [1_000, 1, 2, 3];

export class Specification<Event extends { readonly type: string }> {
  readonly #projection: Folding<Event>;
  readonly #given: readonly Stretch<Event>[];
  readonly #when: readonly Stretch<Event>[];

  constructor(
    projection: Folding<Event>,
    given: readonly Stretch<Event>[] = [],
    when: readonly Stretch<Event>[] = [],
  ) {
    this.#projection = projection;
    this.#given = given;
    this.#when = when;
  }

  /** Events of one topic that were folded before. */
  given(events: readonly Event[], partition = 0): Specification<Event> {
    const given = [...this.#given, this.#next(events, partition)];
    return new Specification(this.#projection, given, this.#when);
  }

  /** Events of one topic that come next. */
  when(events: readonly Event[], partition = 0): Specification<Event> {
    const when = [...this.#when, this.#next(events, partition)];
    return new Specification(this.#projection, this.#given, when);
  }

  thenRows(expected: ExpectedRows): void {
    for (const size of CUTS) {
      const tables = new FoldedTables(this.#projection);
      for (const { events, partition, from } of [...this.#given, ...this.#when])
        for (let at = 0; at < events.length; at += size)
          tables.apply({ events: events.slice(at, at + size), partition, from: from + at });
      const found = Object.entries(expected).map(([table, rows]): [string, readonly Named[]] => [
        table,
        tables.rows(table).map((row) => only(Object.keys(rows[0] ?? row), row)),
      ]);
      expect(readable(Object.fromEntries(found)), `rows in batches of up to ${size}`).toEqual(
        readable(expected),
      );
    }
  }

  /** Outcomes and announcements of the last events, or why they break the log. */
  thenFolded(expected: object): void {
    const tables = new FoldedTables(this.#projection);
    const before = [...this.#given, ...this.#when];
    const last = before.pop();
    for (const stretch of before) tables.apply(stretch);
    if (last === undefined) throw new Error('there are no events to fold');
    const rows = tables.texts();
    const folded = tables.fold(last);
    expect(folded).toMatchObject(expected);
    if ('broken' in folded) expect(tables.texts()).toEqual(rows);
  }

  #next(events: readonly Event[], partition: number): Stretch<Event> {
    const topic = topicOf(events[0]);
    const before = [...this.#given, ...this.#when].filter(
      (each) => topicOf(each.events[0]) === topic && each.partition === partition,
    );
    return { events, partition, from: before.reduce((sum, each) => sum + each.events.length, 0) };
  }
}

export function specify<Event extends { readonly type: string }>(
  projection: Folding<Event>,
): Specification<Event> {
  return new Specification(projection);
}

function only(columns: readonly string[], row: Named): Named {
  return Object.fromEntries(
    columns.map((column): [string, Value] => {
      const value = row[column];
      if (value === undefined) throw new Error(`there is no column ${column}`);
      return [column, value];
    }),
  );
}

/** Sorted, with every value as text. */
function readable(rows: ExpectedRows): object {
  const tables = Object.entries(rows);
  return Object.fromEntries(
    tables.map(([table, each]) => [
      table,
      texts(each).map((text): Readonly<Record<string, string | null>> => JSON.parse(text)),
    ]),
  );
}
