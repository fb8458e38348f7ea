/**
 * The state of a process' folds, kept in a topic, so that a start reads only the records since. A
 * snapshot counts where it is ours, of this version of the code, and where each log still has the
 * record that it ends with. Else it is thrown away, and the logs are read from their beginning.
 * Nobody has to believe one: the audit reads the logs.
 */
import { deserialize, serialize } from 'node:v8';
import type { Topic } from '../../../schemas/topics.ts';
import { disconnect, withAdmin } from '../kafka/client.ts';
import type { Kafka } from '../kafka/port.ts';
import { LogLost, partitionKey, type Positions } from '../kafka/position.ts';
import { readLogRange } from '../kafka/range.ts';
import { fingerprint } from '../kafka/record.ts';
import { KafkaWriter } from '../kafka/writer.ts';
import { Fault } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import { SnapshotLog } from './snapshot-log.ts';

/** A larger one would drive itself out of its topic. */
const BYTES_MAX = 256 * 1024 * 1024;
/** Logs are read for so many times the bytes of a snapshot before the next. */
const READ_TIMES = 2;

/** The state of a fold of a topic, and how far it is. */
export interface Kept {
  readonly topic: string;
  readonly positions: Positions;
  readonly state: unknown;
}

interface Named extends Kept {
  readonly name: string;
}

interface Contents {
  readonly version: string;
  /** Unix milliseconds */
  readonly written_at: number;
  readonly folds: readonly Named[];
  /** by topic */
  readonly topic_ids: ReadonlyMap<string, string>;
}

export interface SnapshotsOptions {
  readonly kafka: Kafka;
  readonly topic: Topic;
  /** authenticates snapshots */
  readonly key: Buffer;
  readonly log: Logger;
  readonly signal: AbortSignal;
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
  /** those of the newest snapshot that no fold has asked for, by name */
  readonly #found = new Map<string, Named>();
  /** by name */
  readonly #folds = new Map<string, () => Kept>();
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

  /** Finds the newest and holds it against the logs. A start does without one in any case. */
  async load(): Promise<void> {
    const { log } = this.#options;
    try {
      const found = await this.#log.newest();
      if (found === undefined) return;
      const why = 'unfit' in found ? found.unfit : await this.#take(found.body);
      if (why !== undefined) this.#throwAway(why);
    } catch (error) {
      if (!(error instanceof Fault) && !(error instanceof LogLost)) throw error;
      log.warn({ err: error }, 'no snapshot can be read: the logs are read from their beginning');
    }
  }

  /** The state of a fold that fits, once. */
  take(name: string): Named | undefined {
    const found = this.#found.get(name);
    this.#found.delete(name);
    return found;
  }

  /** So many bytes of records were folded. */
  folded(bytes: number): void {
    this.#folded += bytes;
  }

  /** Has `kept` in each snapshot: copied at once, between two records. */
  keep(name: string, kept: () => Kept): void {
    this.#folds.set(name, kept);
  }

  /** Whether it is worth its writing, and all folds are there. */
  get isDue(): boolean {
    const { bytes_min: least, names } = this.#options;
    return (
      this.#folded >= Math.max(least, READ_TIMES * this.#size) &&
      names.every((name) => this.#folds.has(name))
    );
  }

  /** Writes what the folds hold at one moment. A failure is logged; the next one is due later. */
  async write(): Promise<void> {
    const { log, signal, kafka } = this.#options;
    const begun = performance.now();
    const writer = new KafkaWriter(kafka, { log, signal });
    try {
      const topic_ids = await this.#topicIds(this.#kept().map(({ topic }) => topic));
      const written_at = Date.now();
      const folds = this.#kept();
      const { version } = this.#options;
      const body = serialize({ version, written_at, folds, topic_ids } satisfies Contents);
      this.#folded = 0;
      this.#size = body.length;
      if (body.length > BYTES_MAX)
        throw new Fault(
          'snapshot_too_large',
          `it has ${body.length} bytes, and at most ${BYTES_MAX} are kept: starts read the logs from their beginning`,
          { retry: false },
        );
      await this.#log.append(body, writer);
      this.#writtenAt = written_at;
      this.#unfit = undefined;
      const ms = Math.round(performance.now() - begun);
      log.info({ bytes: body.length, ms, folds: folds.map(placeOf) }, 'snapshot written');
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.#folded = 0;
      if (!signal.aborted) log.warn({ err: error }, 'no snapshot was written');
    } finally {
      await writer.close();
    }
  }

  /** Why it does not fit. */
  async #take(body: Buffer): Promise<string | undefined> {
    const contents: unknown = deserialize(body);
    if (!isOfVersion(contents, this.#options.version))
      return 'another version of the software wrote it, or one with other settings';
    const { folds, written_at, topic_ids: was } = contents;
    const is = await this.#topicIds([...was.keys()]);
    const other = [...was].find(([topic, id]) => id !== is.get(topic));
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
      const { next_offset: next = 0n, last_record: last = null } = positions.get(place) ?? {};
      if (high < next) return `${place} ends at ${high}, before the ${next} records it had`;
      let isSame = last === null;
      if (last !== null)
        await readLogRange(kafka, topic, partition, next - 1n, next, (record) => {
          isSame = fingerprint(record).equals(last);
        });
      if (!isSame) return `${place} has another record at ${next - 1n} than it had`;
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

  #kept(): readonly Named[] {
    return [...this.#folds].map(([name, kept]) => Object.assign({ name }, kept()));
  }

  #throwAway(why: string): void {
    this.#unfit = why;
    this.#options.log.warn(
      { reason: why },
      'a snapshot was thrown away: the logs are read from their beginning',
    );
  }
}

/** Its MAC shows that a treasury wrote it, and the version that it was one of this very code. */
function isOfVersion(contents: unknown, version: string): contents is Contents {
  return (
    typeof contents === 'object' &&
    contents !== null &&
    'version' in contents &&
    contents.version === version
  );
}

function placeOf({ name, positions }: Named): string {
  const at = [...positions].map(([place, { next_offset: next }]) => `${place}@${next}`);
  return `${name}: ${at.join(', ')}`;
}
