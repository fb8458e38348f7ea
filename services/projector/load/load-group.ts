/**
 * While loading, a transaction goes on with the batches that were folded ahead: of a row that many of them change, only the newest is written, in the end. A load
 * changes the same accounts over and over; to write each of their states takes as long as everything else together.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import type { Outcomes } from '../../../projections/contract/projection.ts';
import { advanced, type Checkpoint } from '../engine/checkpoint.ts';
import { assert } from '../../runtime/process/errors.ts';
import type { FoldAhead, Following, Whole } from './fold-ahead.ts';
import type { RowMemory } from './row-memory.ts';
import { writeChanges, writeUpserts } from '../engine/table-writer.ts';

/** Before this another batch is always begun, where there is one; after the other never: so much a kill can undo, and another projector has to wait for, about. */
const GROUP_MS_MIN = 8_000;
const GROUP_MS_MAX = 30_000;
/** Between the two it ends as soon as so many rows were written for each that is held: nothing else is written while those are, so that they should be few. */
const WRITTEN_PER_HELD = 40;
/** So long the next batch is waited for, before what there is is committed. */
const WAIT_MS = 1_000;

export interface Ahead<Event extends { readonly type: string }> {
  readonly fold: FoldAhead<Event>;
  readonly following: Following<Event>;
  /** when not given every batch has a transaction of its own */
  readonly more?: More<Event>;
}

export interface More<Event extends { readonly type: string }> {
  /** whether a batch is sure to come that begins at this offset */
  readonly comesAt: (nextOffset: bigint) => boolean;
  /**
   * Takes the batch that follows, which is there, so that it is applied together with those before it, and gives what follows then; undefined: it is not to be
   * applied.
   */
  readonly take: (
    following: Following<Event>,
  ) => Promise<{ readonly following: Following<Event> } | undefined>;
  /** whether any was taken: should the transaction fail, it has to be read again */
  readonly hasTaken: () => boolean;
}

export interface Group<Event extends { readonly type: string }> {
  readonly ahead: Ahead<Event>;
  readonly memory: RowMemory;
  /** which tables these are */
  readonly build: string;
  /** it was given up, and whatever is shared is somebody else's now */
  readonly over: AbortSignal;
}

export interface Written {
  /** where the tables are then */
  readonly to: Checkpoint;
  readonly outcomes: Outcomes;
  /** how many rows were touched */
  readonly rows: number;
}

/** Writes a batch that the memory holds, whose changes bring the tables to `to`, and all that can be written with it. Inside the caller's transaction. */
export async function writeGroup<Event extends { readonly type: string }>(
  client: ClientBase,
  { ahead, memory, build, over }: Group<Event>,
  first: { readonly whole: Whole; readonly to: Checkpoint },
): Promise<Written> {
  const begun = performance.now();
  let { whole, to } = first;
  let { following } = ahead;
  let { outcomes } = whole;
  let rows = 0;
  let writing = Promise.resolve(0);
  for (let goesOn = false; ; goesOn = true) {
    const tables = { build, next_offset: to.next_offset };
    const now = memory.hold(whole.changes, to.next_offset);
    ahead.fold.begin(whole.changes, tables, following, goesOn);
    const before = writing;
    // while the one before is written the next is folded: Postgres gets it without this process having to come to it first
    writing = before.then(() => writeChanges(client, now));
    // thrown where it is awaited, if the group comes to that
    writing.catch(() => undefined);
    rows += await before;
    if (
      ahead.more?.comesAt(to.next_offset) !== true ||
      isLongEnough(performance.now() - begun, rows, memory)
    )
      break;
    const batch = await soon(following);
    if (batch === undefined || batch.poison !== undefined) break;
    over.throwIfAborted();
    // its fold has to ask over another connection, which may be silent: what is written already does not wait for that
    const folded = await Promise.race([ahead.fold.take(batch, tables), soonOver()]);
    const taken =
      folded !== undefined && memory.holds(folded.changes)
        ? await ahead.more.take(following)
        : undefined;
    over.throwIfAborted();
    if (folded === undefined || taken === undefined) break;
    assert(
      batch.events.at(-1)?.offset === to.next_offset + BigInt(batch.events.length - 1),
      'records are missing inside a batch',
    );
    to = advanced(to, batch.fingerprints);
    whole = folded;
    outcomes = sum(outcomes, folded.outcomes);
    ({ following } = taken);
  }
  rows += await writing;
  over.throwIfAborted();
  rows += await writeUpserts(client, memory.release());
  return { to, outcomes, rows };
}

function isLongEnough(elapsedMs: number, rows: number, { held }: RowMemory): boolean {
  return elapsedMs > GROUP_MS_MAX || (elapsedMs > GROUP_MS_MIN && rows >= held * WRITTEN_PER_HELD);
}

/** The batch, if it comes at once. Why there is none shows to whoever waits for it. */
async function soon<Batch>(
  following: Promise<{ readonly prepared: Batch } | undefined>,
): Promise<Batch | undefined> {
  const next = await Promise.race([following.catch(() => undefined), soonOver()]);
  return next?.prepared;
}

function soonOver(): Promise<undefined> {
  return after(WAIT_MS, undefined, { ref: false });
}

function sum(one: Outcomes, other: Outcomes): Outcomes {
  return {
    applied: one.applied + other.applied,
    replayed: one.replayed + other.replayed,
    ignored: one.ignored + other.ignored,
  };
}
