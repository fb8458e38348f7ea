/** Reading of topics in the background, from the positions of their folds. */
import { BrokenChain } from '../../schemas/hash-chain.ts';
import type { Codec } from '../runtime/kafka/codec.ts';
import { decode, poisonAt, type Decoded, type Poison } from '../runtime/kafka/decode.ts';
import { readLogEnds, watchLog, type Retrying } from '../runtime/kafka/ends.ts';
import type { Kafka } from '../runtime/kafka/port.ts';
import { partitionKey, type Positions } from '../runtime/kafka/position.ts';
import { LogReader } from '../runtime/kafka/reader.ts';
import { Skips } from '../runtime/kafka/skips.ts';
import type { LogRecord } from '../runtime/kafka/record.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import { aborted } from '../runtime/process/retry.ts';

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

export interface LogFollowerOptions {
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  /** gets each event with the headers of its record */
  readonly onRecord?:
    ((event: { readonly type: string }, headers: LogRecord['headers']) => void) | undefined;
  readonly onLag: (topic: string, partition: number, records: bigint) => void;
  /** receives every failure; the first one ends all reading */
  readonly onFailure: (error: unknown) => void;
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
  /** takes records of one partition, in order, without a gap; may throw `BrokenChain` */
  readonly fold: (decoded: Decoded<Event>) => void;
}

export class LogFollower {
  /** ends with the caller's signal or with the first failure */
  readonly signal: AbortSignal;
  readonly changes: Changes;
  readonly #options: LogFollowerOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];
  /** by topic */
  readonly #ends = new Map<string, () => readonly bigint[]>();
  /** by topic of one partition, where its fold goes on: beyond marks of transactions at the end */
  readonly #folded = new Map<string, bigint>();
  /** by `partitionKey` */
  readonly #applied = new Map<string, bigint>();

  constructor(options: LogFollowerOptions) {
    this.#options = options;
    this.signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    this.changes = new Changes(this.signal);
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
      onLag,
      onLost: (lost) => this.fail(lost),
    });
    this.run(watching);
  }

  /**
   * Reads one topic, all of its partitions, decoded.
   */
  follow<Event extends { readonly type: string }>(topic: FollowedTopic<Event>): void {
    const { topic: name, ends } = topic;
    const options = { ...this.#options, signal: this.signal };
    let last: Buffer | null = null;
    const fold = (decoded: Decoded<Event>): Poison | undefined => {
      const broken = brokenIn(topic, decoded);
      const next = broken?.offset ?? decoded.next;
      if (topic.positions === undefined) this.#folded.set(name, next);
      const folded = decoded.events.filter(({ offset }) => offset < next).length;
      last = decoded.fingerprints[folded - 1] ?? last;
      this.noteApplied();
      this.changes.notify();
      return broken ?? decoded.poison;
    };
    const atEnd = (): Positions =>
      new Map([
        [partitionKey(name, PARTITION), { next_offset: ends()[0] ?? 0n, last_record: last }],
      ]);
    const positions = topic.positions ?? atEnd;
    this.#ends.set(name, ends);
    const reader = new LogReader({
      ...options,
      retrying: (what, attempt) => options.retrying(`${what} (${name})`, attempt),
      topics: [name],
      positions: () => Promise.resolve(positions()),
      ahead_bytes_max: AHEAD_BYTES_MAX,
    });
    this.run(readTopic(reader, { ...topic, fold }, options));
  }

  /** Ends all reading when this work fails. */
  run(work: Promise<void>): void {
    this.#running.push(work.catch((error: unknown) => this.fail(error)));
  }

  /** The ends of the applied records. */
  get applied(): readonly AppliedOffset[] {
    return [...this.#ends].flatMap(([topic, ends]) =>
      ends().map((end, partition) => {
        const folded = this.#folded.get(topic) ?? 0n;
        return { topic, partition, next_offset: folded > end ? folded : end };
      }),
    );
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

interface ReadTopic<Event extends { readonly type: string }> extends Pick<
  FollowedTopic<Event>,
  'topic' | 'isEvent' | 'room'
> {
  /** folds up to the first record that cannot be applied, and returns that */
  readonly fold: (decoded: Decoded<Event>) => Poison | undefined;
}

/** Reads until the abort. Throws `LogLost`, and what the fold throws. */
async function readTopic<Event extends { readonly type: string }>(
  reader: LogReader,
  topic: ReadTopic<Event>,
  options: LogFollowerOptions,
): Promise<void> {
  const { signal } = options;
  const skips = new Skips(options);
  // closing the reader ends a pending `take`
  const closed = aborted(signal).then(() => reader.close());
  await Promise.race([reader.start(), closed]);
  while (!signal.aborted) {
    await topic.room?.();
    await takeChunk(reader, topic, skips, options);
  }
  await closed;
}

/** Stays at a record that cannot be applied until a person has it skipped. */
async function takeChunk<Event extends { readonly type: string }>(
  reader: LogReader,
  { topic, isEvent, fold }: ReadTopic<Event>,
  skips: Skips,
  { codec, retrying, onRecord }: LogFollowerOptions,
): Promise<void> {
  const chunk = await reader.take(RECORDS_MAX, BYTES_MAX);
  if (chunk === undefined) return;
  const { partition } = chunk;
  for (let { from, records } = chunk; ;) {
    const rest = { ...chunk, from, records };
    const decoded = await retrying(`decoding ${topic}`, () =>
      decode({ name: 'the treasury', isEvent }, codec, rest),
    );
    if (reader.isStale(chunk)) return;
    if (onRecord !== undefined)
      for (const [at, { event }] of decoded.events.entries())
        onRecord(event, records[at]?.headers ?? {});
    const poison = fold(decoded);
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
