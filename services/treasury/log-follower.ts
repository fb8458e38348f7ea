/**
 * Reading of topics in the background, from the positions of their folds. A topic is read and
 * decoded once for all of its folds. For one that comes later the reading goes back: the others
 * ignore records that they have folded.
 */
import { BrokenChain } from '../../schemas/hash-chain.ts';
import { SparingDecoder, type Codec, type Decoder } from '../runtime/kafka/codec.ts';
import { decode, poisonAt, type Decoded, type Poison } from '../runtime/kafka/decode.ts';
import { readLogEnds, watchLog, type Retrying } from '../runtime/kafka/ends.ts';
import type { Kafka } from '../runtime/kafka/port.ts';
import { partitionKey, type Position, type Positions } from '../runtime/kafka/position.ts';
import { LogReader } from '../runtime/kafka/reader.ts';
import { Skips } from '../runtime/kafka/skips.ts';
import type { LogRecord } from '../runtime/kafka/record.ts';
import { assert, Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import { Rate } from '../runtime/process/rate.ts';
import { aborted } from '../runtime/process/retry.ts';
import type { Snapshots } from '../runtime/snapshots/snapshots.ts';

/** The partition of a topic that has only one. */
export const PARTITION = 0;
const WATCH_MS = 1_000;
const AHEAD_BYTES_MAX = 8 * 1024 * 1024;
const RECORDS_MAX = 500;
const BYTES_MAX = 1024 * 1024;

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
  readonly codec: Codec;
  /** leaves out fields of `sparing` topics; where a fold needs them, an event is read again */
  readonly sparing?: Decoder | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  /** gets each event with the headers of its record */
  readonly onRecord?:
    ((event: { readonly type: string }, headers: LogRecord['headers']) => void) | undefined;
  readonly onLag: (topic: string, partition: number, records: bigint) => void;
  /** receives every failure; the first one ends all reading */
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
  /** of a topic that the sparing decoder knows: whether an event is needed with all its fields */
  readonly needsAll?: (event: Event) => boolean;
  /** gets what else the fold throws, which ends this fold alone; by default it ends all reading */
  readonly onFailure?: (error: unknown) => void;
}

/** A topic that is read. */
interface Feed {
  readonly reader: LogReader;
  readonly folds: Fold[];
  /** records in a second */
  readonly rate: Rate;
}

export class LogFollower {
  /** ends with the caller's signal or with the first failure */
  readonly signal: AbortSignal;
  readonly changes: Changes;
  readonly #options: LogFollowerOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];
  /** by topic */
  readonly #feeds = new Map<string, Feed>();
  /** by `partitionKey` */
  readonly #applied = new Map<string, bigint>();
  /** by `partitionKey`, the records not applied as seen last */
  readonly #behind = new Map<string, bigint>();

  constructor(options: LogFollowerOptions) {
    this.#options = options;
    this.signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    this.changes = new Changes(this.signal);
  }

  /** Watches the ends of these logs for lag and loss. */
  watch(topics: readonly string[], onLag = this.#options.onLag): void {
    const { kafka, log } = this.#options;
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
    });
    this.run(watching);
  }

  /** Reads one topic, all of its partitions, decoded, for this fold too. */
  follow<Event extends { readonly type: string }>(followed: FollowedTopic<Event>): void {
    const { topic } = followed;
    const fold = foldOf(followed, this.#restore(followed));
    const { kept } = followed;
    if (kept !== undefined)
      this.#options.snapshots?.keep(kept.name, () => ({
        topic,
        positions: fold.positions(),
        state: kept.state(),
      }));
    const known = this.#feeds.get(topic);
    if (known !== undefined) {
      known.folds.push(fold);
      this.noteApplied();
      return known.reader.rewind();
    }
    const options = { ...this.#options, signal: this.signal };
    const folds = [fold];
    const reader = new LogReader({
      ...options,
      retrying: (what, attempt) => options.retrying(`${what} (${topic})`, attempt),
      topics: [topic],
      positions: () => Promise.resolve(lowest(folds)),
      ahead_bytes_max: AHEAD_BYTES_MAX,
    });
    const rate = new Rate();
    this.#feeds.set(topic, { reader, folds, rate });
    this.noteApplied();
    const onFolded = (records: number, bytes: number): void => {
      rate.count(records);
      if (folds.some((each) => each.kept !== undefined)) options.snapshots?.folded(bytes);
      this.noteApplied();
      this.changes.notify();
    };
    this.run(readTopic({ topic, reader, folds, onFolded }, options));
  }

  /** The positions that a fold goes on from, once it has its state from there. */
  #restore<Event extends { readonly type: string }>({
    topic,
    kept,
  }: FollowedTopic<Event>): Positions | undefined {
    const { snapshots, log } = this.#options;
    const found = kept && snapshots?.take(kept.name);
    if (found === undefined || kept?.restore(found.state) === true) return found?.positions;
    log.warn({ topic, fold: found.name }, 'a snapshot is of other settings: reading the log again');
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
      const { seconds_left } = this.#feeds.get(topic)?.rate.estimate(left) ?? {};
      if (seconds_left === undefined) isKnown = false;
      else seconds += seconds_left;
    }
    return { read, behind, seconds_left: isKnown && behind > 0n ? seconds : undefined };
  }

  /** Ends all reading when this work fails. */
  run(work: Promise<void>): void {
    this.#running.push(work.catch((error: unknown) => this.fail(error)));
  }

  /** The ends of the records that every fold has applied. */
  get applied(): readonly AppliedOffset[] {
    return [...this.#feeds].flatMap(([topic, { folds }]) => {
      const [first = [], ...others] = folds.map((fold) => fold.ends());
      return first.map((end, partition) => {
        const ends = [end, ...others.map(({ [partition]: other = 0n }) => other)];
        return { topic, partition, next_offset: ends.reduce(least) };
      });
    });
  }

  /** To be called when records are applied otherwise than by their fold. */
  noteApplied(): void {
    for (const { topic, partition, next_offset: next } of this.applied)
      this.#applied.set(partitionKey(topic, partition), next);
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
    this.#options.onFailure(error);
    this.#stopping.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ended();
  }

  /** Resolves when everything that runs has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }
}

/** A fold of a topic, and how far it is. */
interface Fold extends Pick<
  FollowedTopic<{ readonly type: string }>,
  'isEvent' | 'room' | 'kept' | 'needsAll'
> {
  /** of each partition, the first offset not folded: beyond marks of transactions at the end */
  readonly ends: () => readonly bigint[];
  readonly positions: () => Positions;
  /** folds up to the first record that cannot be applied, and returns that */
  readonly take: (decoded: Decoded<{ readonly type: string }>) => Poison | undefined;
  readonly onFailure: ((error: unknown) => void) | undefined;
}

function foldOf<Event extends { readonly type: string }>(
  followed: FollowedTopic<Event>,
  begin: Positions | undefined,
): Fold {
  const { topic, isEvent, room, onFailure, positions, kept, needsAll } = followed;
  // of a topic with one partition
  const at = positions === undefined ? begin?.get(partitionKey(topic, PARTITION)) : undefined;
  let folded = at?.next_offset ?? 0n;
  let last = at?.last_record ?? null;
  const end = (): bigint => followed.ends()[PARTITION] ?? 0n;
  const atEnd = (): Positions =>
    new Map([[partitionKey(topic, PARTITION), { next_offset: end(), last_record: last }]]);
  return {
    isEvent,
    ...(room === undefined ? {} : { room }),
    ...(kept === undefined ? {} : { kept }),
    ...(needsAll && { needsAll: (event) => !isEvent(event) || needsAll(event) }),
    onFailure,
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

/** Where the fold that is behind goes on, in each partition. */
function lowest(folds: readonly Fold[]): Positions {
  const found = new Map<string, Position>();
  for (const [key, position] of folds.flatMap(({ positions }) => [...positions()])) {
    const known = found.get(key);
    if (known === undefined || position.next_offset < known.next_offset) found.set(key, position);
  }
  return found;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
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

interface ReadTopic extends Pick<Feed, 'reader' | 'folds'> {
  readonly topic: string;
  readonly onFolded: (records: number, bytes: number) => void;
}

/** Reads until the abort. Throws `LogLost`, and what a fold throws. */
async function readTopic(read: ReadTopic, options: LogFollowerOptions): Promise<void> {
  const { reader, folds } = read;
  const { signal } = options;
  const skips = new Skips(options);
  // closing the reader ends a pending `take`
  const closed = aborted(signal).then(() => reader.close());
  await Promise.race([reader.start(), closed]);
  while (!signal.aborted) {
    for (const { room } of folds) await room?.();
    await takeChunk(read, skips, options);
  }
  await closed;
}

/** Stays at a record that cannot be applied until a person has it skipped. */
async function takeChunk(
  { topic, reader, folds, onFolded }: ReadTopic,
  skips: Skips,
  options: LogFollowerOptions,
): Promise<void> {
  const chunk = await reader.take(RECORDS_MAX, BYTES_MAX);
  if (chunk === undefined) return;
  const { retrying, onRecord } = options;
  const { partition } = chunk;
  const decoder = decoderFor(folds, options);
  for (let { from, records } = chunk; ;) {
    const rest = { ...chunk, from, records };
    const isEvent = folds[0]?.isEvent ?? isAny;
    const decoded = await retrying(`decoding ${topic}`, () =>
      decode({ name: 'the treasury', isEvent }, decoder, rest),
    );
    if (reader.isStale(chunk)) return;
    if (onRecord !== undefined)
      for (const [at, { event }] of decoded.events.entries())
        onRecord(event, records[at]?.headers ?? {});
    const poison = foldAll(folds, decoded) ?? decoded.poison;
    onFolded(decoded.events.length, chunk.bytes);
    if (poison === undefined) return;
    const { offset, reason, fingerprint } = poison;
    await retrying(`reading ${topic}/${partition}@${offset}`, () =>
      skips.demand({ topic, partition, offset, fingerprint }, reason),
    );
    if (reader.isStale(chunk)) return;
    from = offset + 1n;
    records = records.filter((record) => record.offset > offset);
  }
}

/** Leaves out the fields that no fold needs. */
function decoderFor(
  folds: readonly Fold[],
  { codec, sparing }: Pick<LogFollowerOptions, 'codec' | 'sparing'>,
): Decoder {
  if (sparing === undefined || folds.some(({ needsAll }) => needsAll === undefined)) return codec;
  const isEnough = (event: { readonly type: string }): boolean =>
    !folds.some(({ needsAll }) => needsAll?.(event));
  return new SparingDecoder(sparing, codec, isEnough);
}

/** The first record that a fold cannot apply. */
function foldAll(folds: Fold[], decoded: Decoded<{ readonly type: string }>): Poison | undefined {
  let first: Poison | undefined;
  for (const fold of folds.slice()) {
    try {
      const poison = fold.take(decoded);
      if (poison !== undefined && (first === undefined || poison.offset < first.offset))
        first = poison;
    } catch (error) {
      if (fold.onFailure === undefined) throw error;
      folds.splice(folds.indexOf(fold), 1);
      fold.onFailure(error);
    }
  }
  return first;
}

/** Nobody folds the topic any more. */
function isAny(_event: { readonly type: string }): _event is { readonly type: string } {
  return true;
}
