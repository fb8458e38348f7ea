/** How far a projection is behind its log, as far as anybody can tell: also of one that waits for its turn, and also while the brokers are silent. */
import type { Checkpoint } from './checkpoint.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';

export interface ProgressOptions {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** how long nothing may be heard of the ends of the log */
  readonly silence_ms: number;
  readonly checkpoints: () => Promise<readonly Checkpoint[]>;
  /** told that a checkpoint stands before what was applied here: Postgres ended without having written the last commits down, rows and all */
  readonly onUndone: () => void;
}

export class Progress {
  /** first offset not applied yet, by `partitionKey` */
  readonly applied = new Map<string, bigint>();
  readonly #options: ProgressOptions;
  readonly #lag;
  /** `applied` when the ends were seen last */
  readonly #seen = new Map<string, bigint | undefined>();
  #heardAt = performance.now();
  #refreshing = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#lag = options.metrics.gauge(
      'projection_lag_records',
      'records of the log not applied yet',
      ['topic', 'partition'],
    );
  }

  /** Told each time the end of a partition was seen, with how many records lie behind what is applied. */
  heard(topic: string, partition: number, records: bigint): void {
    this.#heardAt = performance.now();
    this.#lag.set({ topic, partition }, Number(records));
    const key = partitionKey(topic, partition);
    const applied = this.applied.get(key);
    // nothing was applied here meanwhile: perhaps another process works and this one only waits, or what was applied is not there any more and no record will tell
    if (this.#seen.get(key) === applied) void this.#refresh();
    this.#seen.set(key, applied);
  }

  /** The brokers have said nothing for too long. */
  get silence(): Fault | undefined {
    const ms = performance.now() - this.#heardAt;
    if (ms <= this.#options.silence_ms) return undefined;
    return new Fault(
      'kafka',
      `the Kafka brokers have not told where the log ends for ${Math.round(ms)} ms`,
      { retry: true },
    );
  }

  async #refresh(): Promise<void> {
    if (this.#refreshing) return;
    this.#refreshing = true;
    // what is committed while the answer is under way may be missing in it
    const before = new Map(this.applied);
    try {
      const checkpoints = await this.#options.checkpoints();
      const found = new Map(
        checkpoints.map(({ topic, partition, next_offset: next }) => [
          partitionKey(topic, partition),
          next,
        ]),
      );
      for (const [key, next] of found)
        if (next > (this.applied.get(key) ?? 0n)) this.applied.set(key, next);
      const undone = [...before].filter(([key, applied]) => (found.get(key) ?? 0n) < applied);
      for (const [key, applied] of undone)
        if (this.applied.get(key) === applied) this.applied.set(key, found.get(key) ?? 0n);
      if (undone.length === 0) return;
      this.#options.log.warn(
        { partitions: undone.map(([key]) => key) },
        'Postgres has lost the last commits: they are projected once more',
      );
      this.#options.onUndone();
    } catch (error) {
      // whoever works has the same trouble, and says so
      this.#options.log.debug({ err: error }, 'the checkpoints are not known');
    } finally {
      this.#refreshing = false;
    }
  }
}
