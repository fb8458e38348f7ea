/**
 * One partition, read from an offset. Batches have to be contiguous: what stands between two
 * records was lost, unless it is the mark of a transaction or an aborted one, which take offsets
 * and have no effect. The record before the position has to be the one that was read there: it is
 * compared at the beginning, and again whenever another leader has written what comes next, because
 * an unclean election can replace the end of a log by other records.
 */
import { hole, recreated, replaced } from './position.ts';
import { errorType, type Fetcher, type LogBatch } from './port.ts';
import { fingerprint, type LogRecord } from './record.ts';

export interface PartitionLogOptions {
  readonly fetcher: Fetcher;
  readonly topic: string;
  /** the topic is fetched by its id: one that was created again would go unnoticed */
  readonly topic_id: string;
  readonly partition: number;
  /** first offset to be read */
  readonly next_offset: bigint;
  /** fingerprint of the record before it; null: any */
  readonly last_record: Buffer | null;
  readonly bytes_max: number;
  readonly wait_ms: number;
  /** offsets may have no record, and the record before may be any */
  readonly lenient?: boolean;
}

export class PartitionLog {
  readonly #options: PartitionLogOptions;
  #next: bigint;
  /** the record before `next`; its fingerprint where only that is known */
  #last: Buffer | LogRecord | null;
  /** the leader that wrote it */
  #epoch: number | undefined;
  /** the offset of the record to be compared first */
  #compare: bigint | undefined;
  /** the leader of what comes next: for it that record was compared, or is about to be */
  #successor: number | undefined;

  constructor(options: PartitionLogOptions) {
    this.#options = options;
    this.#next = options.next_offset;
    this.#last = options.last_record;
    if (options.last_record !== null) this.#compareBefore(this.#next);
  }

  /** first offset not read yet */
  get next(): bigint {
    return this.#next;
  }

  /**
   * The next records; none when there were none for a while. One call at a time. Throws `LogLost`,
   * and errors of the client.
   */
  async read(): Promise<readonly LogRecord[]> {
    for (;;) {
      const records = this.#accept(await this.#fetch());
      if (records !== undefined) return records;
    }
  }

  async #fetch(): Promise<readonly LogBatch[]> {
    const { fetcher, topic, topic_id: topicId, partition, bytes_max, wait_ms } = this.#options;
    const offset = this.#compare ?? this.#next;
    try {
      return await fetcher.fetch({
        topic,
        topic_id: topicId,
        partition,
        offset,
        bytes_max,
        wait_ms,
      });
    } catch (error) {
      if (errorType(error) !== 'UNKNOWN_TOPIC_ID') throw error;
      const is = await fetcher.topicId(topic);
      throw is === topicId ? error : replaced(topic, partition, topicId, is);
    }
  }

  #compareBefore(offset: bigint): void {
    this.#compare = offset > 0n ? offset - 1n : undefined;
  }

  /** The records of the batches; undefined: the record before them has to be compared first. */
  #accept(batches: readonly LogBatch[]): readonly LogRecord[] | undefined {
    const { lenient = false } = this.#options;
    const records: LogRecord[] = [];
    // one answer is one state of the log: only its first batch may not fit
    for (const [at, batch] of batches.entries()) {
      if (at === 0 && this.#compare !== undefined) {
        if (!this.#isCompared(batch, this.#compare)) return undefined;
      } else if (at === 0 && !lenient && this.#isOfAnotherLeader(batch)) {
        // the record before may come alone, without this batch
        this.#successor = batch.leader_epoch;
        this.#compareBefore(this.#next);
        return undefined;
      }
      if (batch.last_offset >= this.#next) this.#take(batch, records);
      this.#epoch = batch.leader_epoch;
    }
    return records;
  }

  #isOfAnotherLeader({ leader_epoch: leaderEpoch }: LogBatch): boolean {
    const isKnown =
      this.#epoch === undefined || leaderEpoch === this.#epoch || leaderEpoch === this.#successor;
    return this.#next > 0n && !isKnown;
  }

  /** Compares the record at this offset. False: there is none, one further back is the last. */
  #isCompared(batch: LogBatch, offset: bigint): boolean {
    const { topic, partition } = this.#options;
    if (batch.is_void) {
      this.#compareBefore(batch.base_offset);
      return this.#compare === undefined;
    }
    const record = batch.records.find((each) => each.offset === offset);
    if (record === undefined) throw hole(topic, partition, offset, batch.base_offset);
    if (!isSame(this.#last, record)) throw recreated(topic, partition, offset);
    this.#compare = undefined;
    return true;
  }

  #take(batch: LogBatch, records: LogRecord[]): void {
    this.#expect(batch.base_offset);
    for (const record of batch.records) {
      if (record.offset < this.#next) continue;
      this.#expect(record.offset);
      records.push(record);
      this.#next = record.offset + 1n;
      this.#last = record;
    }
    if (!batch.is_void) this.#expect(batch.last_offset + 1n);
    this.#next = batch.last_offset + 1n;
  }

  #expect(offset: bigint): void {
    const { topic, partition, lenient = false } = this.#options;
    if (offset > this.#next && !lenient) throw hole(topic, partition, this.#next, offset);
  }
}

function isSame(last: Buffer | LogRecord | null, record: LogRecord): boolean {
  if (last === null) return true;
  return (Buffer.isBuffer(last) ? last : fingerprint(last)).equals(fingerprint(record));
}
