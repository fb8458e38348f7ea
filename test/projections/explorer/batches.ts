/** A log cut into batches, as a projector may come to see it, and folded into tables in memory. */
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { explorer } from '../../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { differences, plainFold, type TableTexts } from '../../support/plain-fold.ts';
import { FoldedTables, type Changed, type Folding, type Stretch } from '../folded-tables.ts';

/** Repeatedly, how many events the next batch has. */
export const BATCHINGS = fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 5 });

export interface Batch extends Stretch<ChainEvent> {
  /** the offset after its last event */
  readonly end: number;
}

/** Batches of these sizes, each reaching `back` over what the one before held. */
export function* batches(
  log: readonly ChainEvent[],
  sizes: readonly number[],
  back = 0,
): Generator<Batch> {
  for (let next = 0, at = 0; next < log.length; at++) {
    const from = Math.max(0, next - back);
    next = Math.min(log.length, next + (sizes[at % sizes.length] ?? 1));
    yield { events: log.slice(from, next), partition: 0, from, end: next };
  }
}

/** The tables of a projection of the chain, and how each batch was folded. */
export function project(
  projection: Folding<ChainEvent>,
  log: readonly ChainEvent[],
  sizes: readonly number[],
  back = 0,
): { tables: FoldedTables<ChainEvent>; folded: Changed[] } {
  const tables = new FoldedTables(projection);
  return { tables, folded: [...batches(log, sizes, back)].map((batch) => tables.apply(batch)) };
}

/** A disturbance after event `end`: its last `length` records again, or one stray record. */
export interface Disturbance {
  readonly end: number;
  readonly repeats: number;
  /** distance between the stray record's offset and its sequence; 0: no stray record */
  readonly astray: number;
}

export const DISTURBANCES: fc.Arbitrary<readonly Disturbance[]> = fc.array(
  fc.record({
    end: fc.nat(),
    repeats: fc.nat({ max: 10 }),
    astray: fc.constantFrom(0, -1, -7, 1_000_000),
  }),
  { maxLength: 3 },
);

/** The log with repeated and stray records; later records have their new offsets as sequence. */
export function disturbed(
  events: readonly ChainEvent[],
  disturbances: readonly Disturbance[],
): ChainEvent[] {
  const log: ChainEvent[] = [];
  for (const [at, event] of events.entries()) {
    log.push({ ...event, sequence: log.length });
    for (const { end, repeats, astray } of disturbances) {
      if (end % events.length !== at) continue;
      if (repeats > 0) log.push(...log.slice(-repeats));
      if (astray !== 0) log.push({ ...event, sequence: Math.max(log.length + astray, 0) });
    }
  }
  return log;
}

/** A row as the tables' texts have it. */
export type TextRow = Readonly<Record<string, string | null>>;

export function rowsOf(tables: TableTexts, table: string): readonly TextRow[] {
  return (tables[table] ?? []).map((text): TextRow => JSON.parse(text));
}

/** Folds the log in batches, compares all tables with the plain fold, returns rows by table. */
export function foldedRows(
  log: readonly ChainEvent[],
  size: number,
): (table: string) => readonly TextRow[] {
  const texts = project(explorer, log, [size]).tables.texts();
  expect(differences(texts, plainFold(log))).toEqual([]);
  return (table) => rowsOf(texts, table);
}
