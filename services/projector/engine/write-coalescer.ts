/**
 * Applies many batches in one transaction while tables are loaded. A row that many of them change,
 * such as a busy account, is written once, at the end. See `batch-writer.ts` for the whole picture.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Pool } from 'pg';
import type {
  Changes,
  Load,
  Outcomes,
  Projection,
} from '../../../projections/contract/projection.ts';
import { newCopyRows } from '../../runtime/postgres/copy-rows.ts';
import type { Coalesced, Coalescer, Complete, WriteTransaction } from './apply-batch.ts';
import type { Batch, BatchLookahead, LoadExtent } from './batches.ts';
import { advanced, type Checkpoint } from './checkpoint.ts';
import { DirtyRows } from './dirty-rows.ts';
import type { Rests } from './rests.ts';
import { loadMissingRows, type KnownRows } from './table-reader.ts';
import { writeChanges, writeUpserts } from './table-writer.ts';

/** Age at which a transaction takes no further batch: a kill loses the work of about this long. */
const TRANSACTION_MS = 10_000;
/** A longer rest ends the transaction: Postgres ends a session that idles in one for 10 s. */
const REST_MS_MAX = 5_000;
/** How long a transaction waits for the next batch, and for the rows that it needs. */
const WAIT_MS = 1_000;

export interface WriteCoalescerOptions<Event extends { readonly type: string }> {
  readonly projection: Pick<Projection<Event>, 'fold'>;
  /** rows are read over a connection of their own: that of the transaction is busy with writing */
  readonly pool: Pool;
  readonly batches: Pick<BatchLookahead<Event>, 'peek' | 'advance'>;
  readonly load: LoadExtent;
  /** the reader was rewound since: the batch must not be applied */
  readonly isStale: (batch: Batch<Event>) => boolean;
  /** taken after each batch, when Postgres has taken its rows; none when not given */
  readonly rests?: Pick<Rests, 'due_ms' | 'take'> | undefined;
  /** dirty rows of one table; 500,000 when not given */
  readonly rows_max?: number | undefined;
  /** shared by the transactions of a load */
  readonly last: LastRows;
}

/** Rows that the newest transaction has written at its end: the next one need not read them. */
export class LastRows {
  #kept: { readonly rows: DirtyRows; readonly digest: Buffer } | undefined;

  /** Known rows at this checkpoint. Equal digests mean the same records, and so the same rows. */
  at({ digest }: Checkpoint): readonly DirtyRows[] {
    return this.#kept?.digest.equals(digest) === true ? [this.#kept.rows] : [];
  }

  keep(rows: DirtyRows, { digest }: Checkpoint): void {
    this.#kept = { rows, digest };
  }

  drop(): void {
    this.#kept = undefined;
  }
}

export class WriteCoalescer<Event extends { readonly type: string }> implements Coalescer {
  readonly #options: WriteCoalescerOptions<Event>;
  #hasTaken = false;

  constructor(options: WriteCoalescerOptions<Event>) {
    this.#options = options;
  }

  /** Batches were taken from the look-ahead: should the transaction fail, they are read again. */
  get has_taken(): boolean {
    return this.#hasTaken;
  }

  canWrite(changes: Changes): boolean {
    return new DirtyRows(this.#options.rows_max).canHold(changes);
  }

  async write(
    { client, from, over }: WriteTransaction,
    first: Complete,
    firstTo: Checkpoint,
  ): Promise<Coalesced> {
    const { batches, last, rests, rows_max: rowsMax } = this.#options;
    const begun = performance.now();
    const dirty = new DirtyRows(rowsMax);
    const known = [dirty, ...last.at(from)];
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
      if (rests !== undefined) {
        rows += await writing;
        writing = Promise.resolve(0);
        if (rests.due_ms > REST_MS_MAX) break;
        await rests.take();
        over.throwIfAborted();
      }
      const next = await this.#foldNext(to, dirty, known, appended, over);
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
    last.keep(dirty, to);
    return { to, outcomes, rows };
  }

  /**
   * The batch after this checkpoint, folded on top of what the transaction has written. Undefined:
   * it does not come soon, or has to be applied in a transaction of its own.
   */
  async #foldNext(
    { topic, partition, next_offset: nextOffset }: Checkpoint,
    dirty: DirtyRows,
    known: readonly KnownRows[],
    appended: ReadonlySet<string>,
    over: AbortSignal,
  ): Promise<{ readonly batch: Batch<Event>; readonly folded: Complete } | undefined> {
    const { projection, pool, batches, load, isStale } = this.#options;
    if (!load.goesBeyond(topic, partition, nextOffset - 1n)) return undefined;
    // the consumer of the batch gets the error
    const batch = await soon(batches.peek().catch(() => undefined));
    if (
      batch === undefined ||
      batch.poison !== undefined ||
      isStale(batch) ||
      batch.topic !== topic ||
      batch.partition !== partition ||
      batch.from !== nextOffset ||
      !batch.loads.every((each) => isCommitted(each, appended))
    )
      return undefined;
    // any failure comes up again when the batch is applied in a transaction of its own
    const loaded = await soon(loadMissingRows(pool, batch.loads, known).catch(() => undefined));
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
