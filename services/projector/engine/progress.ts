/**
 * How far a projection is behind its log: also for a process that stands by, and while the brokers
 * are silent.
 */
import type { Outcomes } from '../../../projections/contract/projection.ts';
import { offsetsOf, type Checkpoint } from './checkpoint.ts';
import type { Fault } from '../../runtime/process/errors.ts';
import { withAdmin } from '../../runtime/kafka/client.ts';
import { brokersSilent, type Kafka } from '../../runtime/kafka/port.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';

/** An offset of each partition, by `partitionKey`. */
export type Offsets = ReadonlyMap<string, bigint>;

/** Where each partition ends. Throws a fault with retry. */
export function readEnds(kafka: Kafka, topics: readonly string[]): Promise<Offsets> {
  return withAdmin(kafka, async (admin) => {
    const ends = new Map<string, bigint>();
    for (const topic of topics) {
      for (const { partition, high } of await admin.ends(topic))
        ends.set(partitionKey(topic, partition), high);
    }
    return ends;
  });
}

/** Records below `ends` that are not applied. */
export function recordsBehind(ends: Offsets, applied: Offsets): bigint {
  let behind = 0n;
  for (const [key, end] of ends) {
    const left = end - (applied.get(key) ?? 0n);
    if (left > 0n) behind += left;
  }
  return behind;
}

export function recordsIn({ applied, replayed, ignored }: Outcomes): number {
  return applied + replayed + ignored;
}

export interface ProgressOptions {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** how long the brokers may be silent */
  readonly silence_ms: number;
  readonly checkpoints: () => Promise<readonly Checkpoint[]>;
  /** a checkpoint is below what was applied here: Postgres has lost the last commits */
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
  #looked: Fault | undefined;
  #refreshing = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#lag = options.metrics.gauge(
      'projection_lag_records',
      'records of the log not applied yet',
      ['topic', 'partition'],
    );
  }

  /** The end of a partition was read; `lag` in records. */
  heard(topic: string, partition: number, lag: bigint): void {
    this.#heardAt = performance.now();
    this.#lag.set({ topic, partition }, Number(lag));
    const key = partitionKey(topic, partition);
    const applied = this.applied.get(key);
    // nothing was applied here since: another process works, or Postgres has lost commits
    if (this.#seen.get(key) === applied) void this.#refresh();
    this.#seen.set(key, applied);
  }

  /** The brokers were asked for the ends of all partitions; undefined: they answered. */
  looked(fault: Fault | undefined): void {
    this.#looked = fault;
  }

  /** A fault while the brokers have been silent for too long. */
  get silence(): Fault | undefined {
    const ms = performance.now() - this.#heardAt;
    if (ms <= this.#options.silence_ms) return undefined;
    return brokersSilent(ms, this.#looked);
  }

  async #refresh(): Promise<void> {
    if (this.#refreshing) return;
    this.#refreshing = true;
    // the answer may miss commits made while it is in flight
    const before = new Map(this.applied);
    try {
      const found = offsetsOf(await this.#options.checkpoints());
      for (const [key, next] of found)
        if (next > (this.applied.get(key) ?? 0n)) this.applied.set(key, next);
      const undone = [...before].filter(([key, applied]) => (found.get(key) ?? 0n) < applied);
      for (const [key, applied] of undone)
        if (this.applied.get(key) === applied) this.applied.set(key, found.get(key) ?? 0n);
      if (undone.length === 0) return;
      this.#options.log.warn(
        { partitions: undone.map(([key]) => key) },
        'Postgres has lost the last commits: applying them again',
      );
      this.#options.onUndone();
    } catch (error) {
      // the process that works reports the same fault
      this.#options.log.debug({ err: error }, 'the checkpoints cannot be read');
    } finally {
      this.#refreshing = false;
    }
  }
}
