/**
 * Folds topics in the background, from the positions of the folds, and knows how far they are. The
 * first failure ends all folds of a follower, and nobody else's.
 */
import { BrokenChain } from '../../schemas/hash-chain.ts';
import { poisonAt, type Decoded, type Poison } from '../runtime/kafka/decode.ts';
import { readLogEnds, watchLog, type Retrying } from '../runtime/kafka/ends.ts';
import type { Kafka } from '../runtime/kafka/port.ts';
import { partitionKey, type Positions } from '../runtime/kafka/position.ts';
import type { LogRecord } from '../runtime/kafka/record.ts';
import { assert, Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import { Rate } from '../runtime/process/rate.ts';
import { aborted } from '../runtime/process/retry.ts';
import type { Snapshots } from '../runtime/snapshots/snapshots.ts';
import type { Fold, TopicReadings } from './topic-readings.ts';

/** The partition of a topic that has only one. */
export const PARTITION = 0;
const WATCH_MS = 1_000;

/** Wakes those who wait for a change of the folds. */
export class Changes {
  readonly #signal: AbortSignal;
  #next = Promise.withResolvers<undefined>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.notify(), { once: true });
  }

  /** Resolves at the next change or abort. Take it before looking at what may change. */
  get next(): Promise<undefined> {
    return this.#next.promise;
  }

  notify(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve(undefined);
  }

  /** Resolves once the condition holds, or the signal is aborted. */
  async until(holds: () => boolean): Promise<void> {
    while (!this.#signal.aborted) {
      const { next } = this;
      if (holds()) return;
      await next;
    }
  }
}

export interface AppliedOffset {
  readonly topic: string;
  readonly partition: number;
  /** first offset that is not applied */
  readonly next_offset: bigint;
}

/** How far the reading of topics is. */
export interface Reading {
  readonly read: bigint;
  /** as seen last */
  readonly behind: bigint;
  /** undefined before two chunks are read */
  readonly seconds_left: number | undefined;
}

export interface LogFollowerOptions {
  readonly kafka: Kafka;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  /** reads the topics, for others too */
  readonly readings: TopicReadings;
  /** gets each event with the headers of its record */
  readonly onRecord?:
    ((event: { readonly type: string }, headers: LogRecord['headers']) => void) | undefined;
  readonly onLag: (topic: string, partition: number, records: bigint) => void;
  /** receives every failure; the first one ends all folding */
  readonly onFailure: (error: unknown) => void;
  /** whence folds go on that are kept; by default they begin at the beginning */
  readonly snapshots?: Snapshots | undefined;
}

/** A fold that snapshots keep. */
export interface KeptFold<State> {
  readonly name: string;
  /** copied at once */
  readonly state: () => State;
  /** Goes on from there, before the first record. False: the state is of other settings. */
  restore(state: State): boolean;
}

/** The folds of a treasury and of its reserve runs, all of which a snapshot has. */
export const SNAPSHOT_NAMES = [
  'ledger',
  'addresses',
  'transfers',
  'mints',
  'runs',
  'supply',
  'reserve',
];

/** A fold that has its state as a whole; `restore` may refuse one. */
interface Stateful<State> {
  readonly state: State;
  restore(state: State): boolean | void;
}

export function keptOf<State>(name: string, fold: Stateful<State>): KeptFold<State> {
  return { name, state: () => fold.state, restore: (state) => fold.restore(state) !== false };
}

export interface FollowedTopic<Event extends { readonly type: string }> {
  readonly topic: string;
  /** any other event is a damaged log */
  readonly isEvent: (event: { readonly type: string }) => event is Event;
  /** of each partition, the first offset that is not applied, for lag and loss */
  readonly ends: () => readonly bigint[];
  /** where reading continues; when missing, at the end of a topic with one partition */
  readonly positions?: () => Positions;
  /** resolves when the fold can take more */
  readonly room?: () => Promise<void>;
  /**
   * takes records of one partition, in order, without a gap; ignores those below `ends`; may throw
   * `BrokenChain`
   */
  readonly fold: (decoded: Decoded<Event>) => void;
  readonly kept?: KeptFold<unknown>;
}

/** A fold, and how far it is. */
interface Followed extends Fold {
  readonly topic: string;
  /** of each partition, the first offset not folded: beyond marks of transactions at the end */
  readonly ends: () => readonly bigint[];
  /** name of the fold in snapshots */
  readonly kept: string | undefined;
}

export class LogFollower {
  /** ends with the caller's signal or with the first failure */
  readonly signal: AbortSignal;
  readonly changes: Changes;
  readonly #options: LogFollowerOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #folds: Followed[] = [];
  /** by topic, in records a second */
  readonly #rates = new Map<string, Rate>();
  /** by `partitionKey` */
  readonly #applied = new Map<string, bigint>();
  /** by `partitionKey`, the records not applied as seen last */
  readonly #behind = new Map<string, bigint>();
  #looked: Fault | undefined;

  constructor(options: LogFollowerOptions) {
    this.#options = options;
    this.signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    this.changes = new Changes(this.signal);
    this.run(this.#leaveAtAbort());
  }

  /** Watches the ends of these logs for lag and loss. */
  watch(topics: readonly string[]): void {
    const { kafka, log, onLag } = this.#options;
    const watching = watchLog({
      kafka,
      topics,
      log,
      signal: this.signal,
      every_ms: WATCH_MS,
      applied: this.#applied,
      onLag: (topic, partition, records) => {
        this.#behind.set(partitionKey(topic, partition), records);
        onLag(topic, partition, records);
      },
      onLost: (lost) => this.fail(lost),
      onLooked: (fault) => (this.#looked = fault),
    });
    this.run(watching);
  }

  /** Why the ends of the watched logs are not known. */
  get looked(): Fault | undefined {
    return this.#looked;
  }

  /** Folds one topic, all of its partitions. One fold a topic. */
  follow<Event extends { readonly type: string }>(followed: FollowedTopic<Event>): void {
    if (this.signal.aborted) return;
    const { topic, kept } = followed;
    const { readings, snapshots, onRecord } = this.#options;
    const rate = new Rate();
    this.#rates.set(topic, rate);
    const fold = foldOf(followed, this.#restore(followed));
    const whole: Followed = {
      ...fold,
      topic,
      kept: kept?.name,
      onRecord,
      take: (decoded, bytes) => {
        const poison = fold.take(decoded, bytes);
        rate.count(decoded.events.length);
        if (kept !== undefined) snapshots?.folded(bytes);
        this.noteApplied();
        this.changes.notify();
        return poison;
      },
      onFailure: (error) => this.fail(error),
    };
    if (kept !== undefined)
      snapshots?.keep(kept.name, () => ({
        topic,
        positions: whole.positions(),
        state: kept.state(),
      }));
    this.#folds.push(whole);
    this.noteApplied();
    readings.attach(topic, whole);
  }

  /** The positions that a fold goes on from, once it has its state from there. */
  #restore<Event extends { readonly type: string }>({
    topic,
    kept,
  }: FollowedTopic<Event>): Positions | undefined {
    const { snapshots, log } = this.#options;
    const found = kept && snapshots?.take(kept.name);
    if (found === undefined || kept?.restore(found.state) === true) return found?.positions;
    log.warn(
      { topic, fold: kept?.name },
      'a state of a snapshot does not fit: reading the log from its beginning',
    );
    return undefined;
  }

  /** How far these topics, which are watched, are read together. */
  reading(topics: readonly string[]): Reading {
    let [read, behind, seconds] = [0n, 0n, 0];
    let isKnown = true;
    for (const [key, left] of this.#behind) {
      const topic = topics.find((each) => key.startsWith(`${each}/`));
      if (topic === undefined) continue;
      read += this.#applied.get(key) ?? 0n;
      behind += left;
      if (left === 0n) continue;
      const { seconds_left } = this.#rates.get(topic)?.estimate(left) ?? {};
      if (seconds_left === undefined) isKnown = false;
      else seconds += seconds_left;
    }
    return { read, behind, seconds_left: isKnown && behind > 0n ? seconds : undefined };
  }

  /** Ends all folding when this work fails. */
  run(work: Promise<void>): void {
    this.#running.push(work.catch((error: unknown) => this.fail(error)));
  }

  /** The ends of the records that are folded. */
  get applied(): readonly AppliedOffset[] {
    return this.#folds.flatMap(({ topic, ends }) =>
      ends().map((next_offset, partition) => ({ topic, partition, next_offset })),
    );
  }

  /** To be called when records are applied otherwise than by their fold. */
  noteApplied(): void {
    for (const { topic, partition, next_offset: nextOffset } of this.applied)
      this.#applied.set(partitionKey(topic, partition), nextOffset);
  }

  /** Resolves once these topics of one partition are folded to their ends, or at the abort. */
  async catchUp(topics: readonly string[]): Promise<void> {
    const { kafka, retrying } = this.#options;
    const ends = await retrying('looking at the ends of the logs', () =>
      Promise.all(topics.map((topic) => readLogEnds(kafka, topic, PARTITION))),
    );
    await this.changes.until(() =>
      topics.every((topic, index) =>
        this.applied.some(
          (each) => each.topic === topic && each.next_offset >= (ends[index]?.high ?? 0n),
        ),
      ),
    );
  }

  fail(error: unknown): void {
    // an attempt that the abort cut short ends with its last fault, which is logged already
    if (error instanceof Fault && this.signal.aborted) return;
    // their state is that of a fold that has failed
    for (const { kept } of this.#folds) if (kept !== undefined) this.#options.snapshots?.drop(kept);
    this.#options.onFailure(error);
    this.#stopping.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ended();
  }

  async #leaveAtAbort(): Promise<void> {
    await aborted(this.signal);
    const { readings } = this.#options;
    await Promise.all(this.#folds.map((fold) => readings.detach(fold.topic, fold)));
  }

  /** Resolves when everything that runs has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }
}

function foldOf<Event extends { readonly type: string }>(
  followed: FollowedTopic<Event>,
  begin: Positions | undefined,
): Omit<Followed, 'topic' | 'kept' | 'onFailure'> {
  const { topic, isEvent, room, positions } = followed;
  // of a topic with one partition
  const at = positions === undefined ? begin?.get(partitionKey(topic, PARTITION)) : undefined;
  let folded = at?.next_offset ?? 0n;
  let last = at?.last_record ?? null;
  const end = (): bigint => followed.ends()[PARTITION] ?? 0n;
  const atEnd = (): Positions =>
    new Map([[partitionKey(topic, PARTITION), { next_offset: end(), last_record: last }]]);
  return {
    isEvent,
    room,
    ends: () => followed.ends().map((each) => (folded > each ? folded : each)),
    positions: positions ?? atEnd,
    take(decoded) {
      assert(isOf(isEvent, decoded), `an event is none of ${topic}`);
      const broken = brokenIn(followed, decoded);
      const next = broken?.offset ?? decoded.next;
      if (positions === undefined && next > folded) {
        folded = next;
        const count = decoded.events.filter(({ offset }) => offset < next).length;
        last = decoded.fingerprints[count - 1] ?? last;
      }
      return broken;
    },
  };
}

function isOf<Event extends { readonly type: string }>(
  isEvent: FollowedTopic<Event>['isEvent'],
  decoded: Decoded<{ readonly type: string }>,
): decoded is Decoded<Event> {
  return decoded.events.every(({ event }) => isEvent(event));
}

/** Folds the events, up to the first one that does not follow from those before it. */
function brokenIn<Event extends { readonly type: string }>(
  { fold }: FollowedTopic<Event>,
  decoded: Decoded<Event>,
): Poison | undefined {
  try {
    fold(decoded);
    return undefined;
  } catch (error) {
    if (!(error instanceof BrokenChain)) throw error;
    return poisonAt(decoded, error.offset, error.reason);
  }
}
