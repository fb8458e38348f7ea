/**
 * Folds the batch that comes next while the one before it is written, so that this process and Postgres need not wait for each other. It is folded into the tables
 * as the batch before leaves them: what that one changes is remembered, and everything else stands there already. Where this cannot be said, nothing is folded
 * ahead; and what was is used only under the lock of the checkpoint that it was folded for.
 */
import type { Pool } from 'pg';
import type {
  Changes,
  Folded,
  Load,
  Projection,
} from '../../../projections/contract/projection.ts';
import { newCopyRows } from '../../runtime/postgres/copy-rows.ts';
import { loadRows } from './load-rows.ts';
import type { Prepared } from '../engine/prepare.ts';
import type { RowMemory } from './row-memory.ts';

export type Whole = Exclude<Folded, { readonly broken: unknown }>;

/** Tables at one moment: which ones, and the first offset that is not in them yet. */
export interface TablesAt {
  readonly build: string;
  readonly next_offset: bigint;
}

/** The batch that comes next, when it is there. */
export type Following<Event> = Promise<{ readonly prepared: Prepared<Event> } | undefined>;

interface Folding<Event> {
  readonly tables: TablesAt;
  readonly folded: Promise<{ readonly batch: Prepared<Event>; readonly whole: Whole } | undefined>;
}

export class FoldAhead<Event extends { readonly type: string }> {
  readonly #projection: Pick<Projection<Event>, 'fold'>;
  readonly #pool: Pool;
  readonly #memory: RowMemory;
  /** the tables of the newest fold, until it is dropped */
  #newest: TablesAt | undefined;
  #folding: Folding<Event> | undefined;
  /** names of those that rows were added to since the last commit: nobody else sees these rows yet */
  readonly #appended = new Set<string>();

  /** Asks over connections of the pool that is written by: it must have two. */
  constructor(projection: Pick<Projection<Event>, 'fold'>, pool: Pool, memory: RowMemory) {
    this.#projection = projection;
    this.#pool = pool;
    this.#memory = memory;
  }

  /** All of these changes is remembered and about to be written; `tables` are as they will then be. `goesOn`: in the transaction of the changes before them. */
  begin(changes: Changes, tables: TablesAt, following: Following<Event>, goesOn = false): void {
    this.drop();
    if (!goesOn) this.#appended.clear();
    for (const { table } of changes.appends) this.#appended.add(table.name);
    this.#newest = tables;
    this.#folding = { tables, folded: this.#fold(tables, following) };
  }

  /** Whatever was folded is not wanted any more. */
  drop(): void {
    this.#newest = undefined;
    this.#folding = undefined;
  }

  /** What was folded of this batch for these tables; undefined when it was not. */
  async take(
    batch: Prepared<Event>,
    { build, next_offset: next }: TablesAt,
  ): Promise<Whole | undefined> {
    const folding = this.#folding;
    this.#folding = undefined;
    if (folding?.tables.build !== build || folding.tables.next_offset !== next) return undefined;
    const folded = await folding.folded;
    return folded?.batch === batch ? folded.whole : undefined;
  }

  async #fold(tables: TablesAt, following: Following<Event>): Folding<Event>['folded'] {
    const cleared = this.#memory.times_cleared;
    try {
      const batch = (await following)?.prepared;
      if (this.#newest !== tables) return undefined;
      if (
        batch === undefined ||
        batch.events[0]?.offset !== tables.next_offset ||
        !batch.loads.every((load) => isUntouched(load, this.#appended))
      )
        return undefined;
      const loaded = await loadRows(this.#pool, batch.loads, this.#memory);
      // what was forgotten meanwhile was asked for, as it stood before it was written
      if (this.#memory.times_cleared !== cleared) return undefined;
      const whole = this.#projection.fold(loaded, batch.events, newCopyRows);
      return 'broken' in whole ? undefined : { batch, whole };
    } catch {
      // whatever it was: it comes up again where the batch is applied, and is dealt with there
      return undefined;
    }
  }
}

/** Whether nothing of what is loaded was changed but what is remembered. */
function isUntouched(load: Load, appended: ReadonlySet<string>): boolean {
  return 'keys' in load && !appended.has(load.table.name);
}
