/**
 * The state of a process' folds, kept in a topic, so that a start reads only the records since. A
 * snapshot counts where it is ours, of this version of the code, and where each log still has the
 * record that it ends with. Else it is thrown away, and the logs are read from their beginning.
 * Nobody has to believe one: the audit reads the logs.
 */
import { setImmediate as immediate } from 'node:timers/promises';
import { DefaultDeserializer, serialize } from 'node:v8';
import type { Topic } from '../../../schemas/topics.ts';
import { disconnect, withAdmin } from '../kafka/client.ts';
import type { Kafka } from '../kafka/port.ts';
import { partitionKey, type Positions } from '../kafka/position.ts';
import { readLogRange } from '../kafka/range.ts';
import { fingerprint } from '../kafka/record.ts';
import { KafkaWriter } from '../kafka/writer.ts';
import { Fault, messageOf } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import { SnapshotLog } from './snapshot-log.ts';

declare module 'node:v8' {
  interface DefaultDeserializer {
    /** A view of the bytes that are read. */
    _readHostObject(): unknown;
  }
}

/** Limit of one fold: nothing else runs while it is copied, about 2 s. */
const FOLD_BYTES_MAX = 128 * 1024 * 1024;
/** A larger one would drive others out of the topic. */
const BYTES_MAX = 384 * 1024 * 1024;
/** Logs are read for so many times the bytes of a snapshot before the next. */
const READ_TIMES = 2;

/** The state of a fold of a topic, and how far it is. */
export interface FoldState {
  readonly topic: string;
  readonly positions: Positions;
  readonly state: unknown;
}

interface Written extends Omit<FoldState, 'state'> {
  readonly name: string;
  /** by `serialize` */
  readonly state: Buffer;
}

interface Contents {
  readonly version: string;
  /** Unix milliseconds */
  readonly written_at: number;
  readonly folds: readonly Written[];
  /** by topic */
  readonly topic_ids: ReadonlyMap<string, string>;
}

export interface SnapshotsOptions {
  readonly kafka: Kafka;
  readonly topic: Topic;
  /** authenticates snapshots */
  readonly key: Buffer;
  readonly log: Logger;
  /** the folds that a snapshot has */
  readonly names: readonly string[];
  /** bytes of records that are folded before one is written, at least */
  readonly bytes_min: number;
  /** all that the states depend on besides the logs: the code, and settings */
  readonly version: string;
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #log: SnapshotLog;
  /** states of the newest snapshot that no fold has asked for, by name */
  readonly #found = new Map<string, Written>();
  /** by name */
  readonly #folds = new Map<string, () => FoldState>();
  /** names of folds that are not kept, for they are too large */
  readonly #large = new Set<string>();
  #paused: Promise<void> | undefined;
  #folded = 0;
  #size = 0;
  #writtenAt: number | undefined;
  #unfit: string | undefined;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.#log = new SnapshotLog(options);
  }

  /** When the newest was written, Unix milliseconds; undefined: there is none that fits. */
  get written_at(): number | undefined {
    return this.#writtenAt;
  }

  /** Why the newest was thrown away. */
  get unfit(): string | undefined {
    return this.#unfit;
  }

  /** Finds the newest and holds it against the logs. Throws a fault with retry. */
  async load(): Promise<void> {
    try {
      const found = await this.#log.newest();
      if (found === undefined) return;
      const why = 'unfit' in found ? found.unfit : await this.#find(found.body);
      if (why !== undefined) this.#throwAway(why);
    } catch (error) {
      if (error instanceof Fault && error.retry) throw error;
      this.#throwAway(`it cannot be read: ${messageOf(error)}`);
    }
  }

  /** While folds are copied: resolves when they may go on. */
  readonly paused = (): Promise<void> | undefined => this.#paused;

  /** Whether the newest has a state of this fold that was not taken yet. */
  has(name: string): boolean {
    return this.#found.has(name);
  }

  /** The state of a fold that fits, once. */
  take(name: string): FoldState | undefined {
    const found = this.#found.get(name);
    this.#found.delete(name);
    return found && { ...found, state: deserialize(found.state, CopyingDeserializer) };
  }

  /** Counts bytes of records that were folded since the last snapshot. */
  folded(bytes: number): void {
    this.#folded += bytes;
  }

  /** Has `kept` in each snapshot: copied at once, between two records. */
  keep(name: string, kept: () => FoldState): void {
    this.#folds.set(name, kept);
  }

  /** Writes no snapshot any more: a start has to find again why the fold has failed. */
  drop(name: string): void {
    this.#folds.delete(name);
  }

  /** Whether it is worth its writing, and all folds are there. */
  get is_due(): boolean {
    const { bytes_min: bytesMin, names } = this.#options;
    return (
      this.#folded >= Math.max(bytesMin, READ_TIMES * this.#size) &&
      names.every((name) => this.#folds.has(name))
    );
  }

  /** Writes what the folds hold at one moment. A failure is logged; the next one is due later. */
  async write(signal: AbortSignal): Promise<void> {
    const { log, kafka, version } = this.#options;
    const begun = performance.now();
    const writer = new KafkaWriter(kafka, { log, signal });
    try {
      const topics = [...this.#folds.values()].map((kept) => kept().topic);
      const topic_ids = await this.#topicIds(topics);
      const written_at = Date.now();
      const folds = await this.#copies();
      const body = serialize({ version, written_at, folds, topic_ids } satisfies Contents);
      this.#size = body.length;
      if (body.length > BYTES_MAX) throw tooLarge(body.length, BYTES_MAX);
      await this.#log.append(body, writer);
      this.#writtenAt = written_at;
      this.#unfit = undefined;
      const ms = Math.round(performance.now() - begun);
      log.info({ bytes: body.length, ms, folds: folds.map(placeOf) }, 'snapshot written');
    } catch (error) {
      // without a snapshot everything goes on, and the next start reads more
      if (!signal.aborted) log.warn({ err: error }, 'no snapshot was written');
    } finally {
      this.#folded = 0;
      await writer.close();
    }
  }

  /** Copies of the folds, taken one after the other while none of them goes on. */
  async #copies(): Promise<readonly Written[]> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#paused = promise;
    try {
      const copies: Written[] = [];
      for (const [name, kept] of this.#folds) {
        if (this.#large.has(name)) continue;
        const { topic, positions, state } = kept();
        const copy = { name, topic, positions, state: serialize(state) };
        if (copy.state.length <= FOLD_BYTES_MAX) copies.push(copy);
        else this.#leaveOut(copy);
        await immediate();
      }
      return copies;
    } finally {
      this.#paused = undefined;
      resolve();
    }
  }

  #leaveOut({ name, state }: Written): void {
    this.#large.add(name);
    const err = tooLarge(state.length, FOLD_BYTES_MAX);
    this.#options.log.warn({ err, fold: name }, 'a fold is left out of snapshots');
  }

  /** Why it does not fit. */
  async #find(body: Buffer): Promise<string | undefined> {
    const contents = deserialize(body);
    if (!isOfVersion(contents, this.#options.version))
      return 'another version of the software wrote it, or one with other settings';
    const { folds, written_at, topic_ids: topicIds } = contents;
    const is = await this.#topicIds([...topicIds.keys()]);
    const other = [...topicIds].find(([topic, id]) => id !== is.get(topic));
    if (other !== undefined) return `${other[0]} was created again since`;
    for (const { topic, positions } of folds) {
      const why = await this.#whyAnotherLog(topic, positions);
      if (why !== undefined) return why;
    }
    for (const fold of folds) this.#found.set(fold.name, fold);
    this.#writtenAt = written_at;
    this.#size = body.length;
    const at = new Date(written_at).toISOString();
    this.#options.log.info({ at, folds: folds.map(placeOf) }, 'going on from a snapshot');
    return undefined;
  }

  async #whyAnotherLog(topic: string, positions: Positions): Promise<string | undefined> {
    const { kafka } = this.#options;
    const ends = await withAdmin(kafka, (admin) => admin.ends(topic));
    for (const { partition, high } of ends) {
      const place = partitionKey(topic, partition);
      const { next_offset: nextOffset = 0n, last_record: lastRecord = null } =
        positions.get(place) ?? {};
      if (high < nextOffset)
        return `${place} ends at ${high}, before the ${nextOffset} records it had`;
      let isSame = lastRecord === null && nextOffset === 0n;
      if (lastRecord !== null)
        await readLogRange(kafka, topic, partition, nextOffset - 1n, nextOffset, (record) => {
          isSame = fingerprint(record).equals(lastRecord);
        });
      if (!isSame) return `${place} has another record at ${nextOffset - 1n} than it had`;
    }
    return undefined;
  }

  async #topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const fetcher = this.#options.kafka.fetcher();
    try {
      const ids = new Map<string, string>();
      for (const topic of new Set(topics)) ids.set(topic, await fetcher.topicId(topic));
      return ids;
    } finally {
      await disconnect(fetcher);
    }
  }

  #throwAway(why: string): void {
    this.#unfit = why;
    this.#options.log.warn(
      { reason: why },
      'a snapshot was thrown away: the logs are read from their beginning',
    );
  }
}

/** Copies Buffers: a view of 20 bytes would keep the whole snapshot in memory. */
class CopyingDeserializer extends DefaultDeserializer {
  override _readHostObject(): unknown {
    const view: unknown = super._readHostObject();
    return Buffer.isBuffer(view) ? Buffer.from(view) : view;
  }
}

function deserialize(bytes: Buffer, Deserializer = DefaultDeserializer): unknown {
  const reading = new Deserializer(bytes);
  reading.readHeader();
  return reading.readValue();
}

/** Whether contents are of this very code; the MAC has shown that a treasury wrote them. */
function isOfVersion(contents: unknown, version: string): contents is Contents {
  return (
    typeof contents === 'object' &&
    contents !== null &&
    'version' in contents &&
    contents.version === version
  );
}

function placeOf({ name, positions }: Written): string {
  const at = [...positions].map(([place, { next_offset: nextOffset }]) => `${place}@${nextOffset}`);
  return `${name}: ${at.join(', ')}`;
}

function tooLarge(bytes: number, most: number): Fault {
  return new Fault(
    'snapshot_too_large',
    `it has ${bytes} bytes, and at most ${most} are kept: a start reads its log from the beginning`,
    { retry: false },
  );
}
