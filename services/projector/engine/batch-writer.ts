/**
 * Writes batches. Live, a batch is a transaction. New tables are first loaded without indexes and
 * many batches at a time, up to where the log ended when the load began; then the indexes are
 * built; then the tables are live. A rebuild is a load beside the live tables.
 *
 *     Kafka --fetch--> reader --decode--> unfinalized  --fold--> rows  --COPY--> Postgres
 *                      queue              buffer                 dirty --MERGE-> (at COMMIT)
 *                      (32 MiB)           (32 MiB)               rows
 *
 * While Postgres takes the rows of batch n, this process folds batch n + 1, decodes batch n + 2 and
 * fetches what follows.
 *
 * Three things make the load fast:
 * - Batches end where no later record can undo them (`UnfinalizedBuffer`): to undo stored rows
 *   means to scan tables without indexes.
 * - A transaction takes batches for some 10 s (`write-coalescer.ts`). New rows are copied at once.
 *   A row that changes repeatedly is written once, in its newest state, at the end.
 * - Rows are encoded for COPY when the fold adds them (`copy-rows.ts`).
 *
 * Owners of memory:
 * - fetched records: the reader's queue, until a batch takes them;
 * - decoded records: the unfinalized buffer and the look-ahead, until they are folded;
 * - encoded rows: the table writer, which returns their memory once Postgres has taken them;
 * - dirty rows: the coalescer's transaction, then `LastRows`, until the next transaction has
 *   written its own. Both serve the fold with them. Another connection reads all other rows: nobody
 *   changes them while the checkpoint is locked.
 *
 * A kill, of this process or of Postgres, at any point:
 * - within a transaction: nothing of it is stored; the next start reads from the checkpoint again;
 * - at COMMIT: rows and checkpoint are stored together or not at all;
 * - within the index build: each index is there or not; the next start builds the others;
 * - after the last index: the next start finds them all, and marks the tables as indexed.
 * Two projectors of one name take turns at the checkpoint's lock, and one of them builds the
 * indexes.
 */
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { partitionKey } from '../../runtime/kafka/position.ts';
import { withFaults } from '../../runtime/postgres/pool.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { untilAborted } from '../../runtime/process/retry.ts';
import { Rate } from '../../runtime/process/rate.ts';
import { applyBatch, type Applied, type ApplyOutcome, type Conflict } from './apply-batch.ts';
import type { Batch, BatchLookahead, LoadExtent } from './batches.ts';
import { readEnds, recordsBehind, recordsIn, type Offsets } from './progress.ts';
import { buildIndexes, type IndexBuild } from '../tables/index-build.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { isIndexed, type LoadPhase } from '../tables/live-tables.ts';
import type { Rests } from './rests.ts';
import { LastRows, WriteCoalescer } from './write-coalescer.ts';

const POLL_MS = 250;
const REPORT_MS = 5_000;
/**
 * Bytes of a batch while batches are coalesced. Smaller than a fetch: decoded records are folded,
 * and gone, before the garbage collector moves them.
 */
const COALESCED_BYTES_MAX = 2 * 1024 * 1024;
/** With rests: a reader of the live tables waits for no more than such a batch, some 10 ms. */
const PACED_BYTES_MAX = 256 * 1024;

export type LoadStatus =
  /** not known yet */
  | { readonly status: 'starting' }
  | {
      readonly status: 'loading';
      /** of the records below the end of the load */
      readonly records_behind: bigint;
      readonly records_per_second: number | undefined;
      readonly seconds_left: number | undefined;
    }
  | { readonly status: 'building'; readonly what: string };

export interface IndexOptions extends Pick<IndexBuild, 'at_once' | 'warm'> {
  /** called with each step of the build, such as `index 3 of 9 (blocks_hash)` */
  readonly onStep?: (what: string) => void;
}

export interface BatchWriterOptions<Event extends { readonly type: string }> {
  readonly projection: Projection<Event>;
  readonly pool: Pool;
  readonly kafka: Kafka;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly retrying: Retrying;
  /** first offset not applied yet, by `partitionKey`, no matter by which process */
  readonly applied: Offsets;
  readonly indexes?: IndexOptions | undefined;
  /** of a load, taken after each batch of a transaction; none when not given */
  readonly rests?: Rests | undefined;
  /** the reader was rewound since: the batch must not be applied */
  readonly isStale: (batch: Batch<Event>) => boolean;
}

export class BatchWriter<Event extends { readonly type: string }> implements LoadExtent {
  readonly #options: BatchWriterOptions<Event>;
  readonly #rate = new Rate();
  readonly #lastRows = new LastRows();
  #phase: LoadPhase | 'starting' = 'starting';
  #building = 'indexes';
  /** where the load ends */
  #ends: Offsets = new Map();
  /** the caller has given the ends, and wants no indexes */
  #isPartial = false;
  #reporting: NodeJS.Timeout | undefined;

  constructor(options: BatchWriterOptions<Event>) {
    this.#options = options;
  }

  /**
   * Finds out whether the tables have to be loaded, and up to where: to these ends, or to where the
   * log ends now.
   */
  async begin(given?: Offsets): Promise<void> {
    const { projection, pool, kafka, log, signal, retrying } = this.#options;
    this.#isPartial = given !== undefined;
    if (given !== undefined) {
      this.#ends = given;
      this.#phase = 'loading';
      return;
    }
    const indexed = (): Promise<boolean> => withFaults(isIndexed(pool, projection));
    if (await retrying('reading whether the tables have their indexes', indexed)) {
      this.#phase = 'live';
      return;
    }
    this.#ends = await retrying('reading the end of the log', () =>
      readEnds(kafka, projection.topics),
    );
    this.#phase = 'loading';
    const ends = Object.fromEntries(this.#ends);
    log.info({ projection: projection.name, ends }, 'loading without indexes');
    clearInterval(this.#reporting);
    this.#reporting = setInterval(() => this.#report(), REPORT_MS).unref();
    signal.addEventListener('abort', () => clearInterval(this.#reporting), { once: true });
  }

  get is_loading(): boolean {
    return this.#phase !== 'live';
  }

  /** Undefined when live. */
  get status(): LoadStatus | undefined {
    if (this.#phase === 'live') return undefined;
    if (this.#phase === 'starting') return { status: 'starting' };
    if (this.#phase === 'building') return { status: 'building', what: this.#building };
    const behind = recordsBehind(this.#ends, this.#options.applied);
    return { status: 'loading', records_behind: behind, ...this.#rate.estimate(behind) };
  }

  /** The offset at which a load ends in that partition. */
  endOf(topic: string, partition: number): bigint {
    return this.#ends.get(partitionKey(topic, partition)) ?? 0n;
  }

  goesBeyond(topic: string, partition: number, offset: bigint): boolean {
    return this.endOf(topic, partition) > offset + 1n;
  }

  /** Limit of a batch while loading; undefined: that of live ones. */
  get load_bytes_max(): number | undefined {
    if (this.#options.rests !== undefined) return PACED_BYTES_MAX;
    return this.#isCoalesced ? COALESCED_BYTES_MAX : undefined;
  }

  /**
   * The next batch to apply; undefined at the end, and when `isDone`. `loaded` when the load is
   * complete: the indexes are built next. No batch comes at the end of the log to a process whose
   * last COMMIT had no answer, or that waits for its turn: it sees both by the checkpoints.
   */
  async next(
    batches: BatchLookahead<Event>,
    isDone?: () => boolean,
  ): Promise<Batch<Event> | 'loaded' | undefined> {
    const next = await (this.is_loading || isDone !== undefined
      ? this.#peekUnlessOver(batches, isDone)
      : batches.peek());
    if (next === 'done') return undefined;
    if (next !== 'loaded' && next !== undefined) batches.advance();
    return next;
  }

  /**
   * Applies a batch that `next` has returned; while loading, any number of batches after it too.
   */
  async apply(
    batch: Batch<Event>,
    batches: BatchLookahead<Event>,
    clusterId: string,
  ): Promise<Applied | Conflict> {
    const { pool, projection, signal, retrying, isStale, rests } = this.#options;
    for (;;) {
      const loading = this.is_loading;
      const coalescer =
        loading && this.#isCoalesced
          ? new WriteCoalescer({
              projection,
              pool,
              batches,
              load: this,
              isStale,
              rests,
              last: this.#lastRows,
            })
          : undefined;
      const options = {
        pool,
        projection,
        cluster_id: clusterId,
        loading,
        coalescer,
        // a live batch is done in a moment; one of a load would delay the shutdown
        signal: loading ? signal : undefined,
      };
      const attempt = async (): Promise<ApplyOutcome> =>
        // the failed attempt consumed the look-ahead: read again
        coalescer?.has_taken === true ? { outcome: 'conflict' } : applyBatch(options, batch);
      const applied = await retrying('applying a batch', attempt);
      if (applied.outcome === 'not_loading') await this.#follow(applied.phase);
      else if (applied.outcome === 'not_indexed') {
        await this.begin();
        return { outcome: 'conflict' };
      } else {
        if (applied.outcome !== 'applied' || !loading) return applied;
        this.#rate.count(recordsIn(applied.outcomes));
        return { ...applied, announced: [] };
      }
    }
  }

  /** Only one partition: another one would change rows while this one's checkpoint is locked. */
  get #isCoalesced(): boolean {
    const { topics } = this.#options.projection;
    return (
      topics.length === 1 &&
      TOPICS.every(({ name, partitions }) => name !== topics[0] || partitions === 1)
    );
  }

  /** Everything that was in the log when the load began is applied: the indexes are next. */
  get #isLoaded(): boolean {
    const isLoading = this.#phase === 'loading' && !this.#isPartial;
    return isLoading && recordsBehind(this.#ends, this.#options.applied) === 0n;
  }

  async #peekUnlessOver(
    batches: BatchLookahead<Event>,
    isDone: () => boolean = () => false,
  ): Promise<Batch<Event> | 'loaded' | 'done' | undefined> {
    const outcome = (): 'loaded' | 'done' | undefined =>
      isDone() ? 'done' : this.#isLoaded ? 'loaded' : undefined;
    const over = new AbortController();
    const watched = async (): Promise<'loaded' | 'done' | undefined> => {
      while (!over.signal.aborted && outcome() === undefined)
        await untilAborted(POLL_MS, over.signal);
      return outcome();
    };
    try {
      return outcome() ?? (await Promise.race([batches.peek(), watched()]));
    } finally {
      over.abort();
    }
  }

  /** Another process is ahead: it builds the indexes, or has built them. */
  async #follow(phase: Exclude<LoadPhase, 'loading'>): Promise<void> {
    if (phase === 'live') return this.#enterLive();
    const { signal } = this.#options;
    this.#building = 'indexes (another projector is at it)';
    this.#phase = 'building';
    await untilAborted(POLL_MS, signal);
    this.#phase = 'loading';
    if (signal.aborted)
      throw new Fault('stopped', 'stopped while another projector built the indexes', {
        retry: true,
      });
  }

  /** Builds the indexes of loaded tables, which are live afterwards. */
  async buildIndexes(): Promise<void> {
    this.#phase = 'building';
    this.#lastRows.drop();
    const { pool, projection, log, signal, indexes, retrying } = this.#options;
    const { at_once, warm } = indexes ?? {};
    const onStep = (what: string): void => {
      this.#building = what;
      indexes?.onStep?.(what);
    };
    await retrying('building the indexes', () =>
      buildIndexes({ pool, projection, log, signal, at_once, warm, onStep }),
    );
    this.#enterLive();
  }

  #enterLive(): void {
    this.#phase = 'live';
    clearInterval(this.#reporting);
    this.#options.log.info(
      { projection: this.#options.projection.name },
      'loaded and indexed: live',
    );
  }

  #report(): void {
    const { projection, log } = this.#options;
    const status = this.status;
    const behind =
      status?.status === 'loading' ? { records_behind: status.records_behind.toString() } : {};
    log.info({ projection: projection.name, ...status, ...behind }, 'not live yet');
  }
}
