/** Reconciles on a schedule for the life of the treasury, or once on demand. */
import type { Proofs } from '../../../projections/reserve/position.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { HealthProblem } from '../../runtime/process/health.ts';
import type { Held } from '../../runtime/kafka/lease.ts';
import { KafkaWriter } from '../../runtime/kafka/writer.ts';
import { LogLost } from '../../runtime/kafka/position.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';
import { openTronGrid } from '../../runtime/trongrid/open.ts';
import type { TronGrid } from '../../runtime/trongrid/trongrid.ts';
import { aborted } from '../../runtime/process/retry.ts';
import type { TopicReadings } from '../topic-readings.ts';
import type { MintSigner } from '../minting/mint-signer.ts';
import type { Arrivals } from './arrivals.ts';
import { openReserveMetrics } from './metrics.ts';
import type { Snapshots } from '../../runtime/snapshots/snapshots.ts';
import { READING_ENDED, ReserveLogs, type LogNames } from './logs.ts';
import type { OwnAddresses, Progress } from './measure.ts';
import { mintingForbidden, NewestRun, runNotes } from './newest-run.ts';
import { Reconciler } from './reconciler.ts';
import { refreshRequests, type ReconciliationConfig } from './settings.ts';

/** Two blocks of TRON: longer than the lag between the provider's machines. */
const CONFIRM_MS = 6_000;
const RESTORE =
  'What to do: point APP_KAFKA_BROKERS to the right cluster, or restore the topic from a replica or a backup, then start again; no reconciliation is made meanwhile';

export interface ReconciliationOptions {
  readonly config: ReconciliationConfig;
  readonly kafka: Kafka;
  /** knows at least `LOG_TOPICS` */
  readonly codec: Codec;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly source: string;
  /** the mint authority's key, which signs the runs */
  readonly signer?: MintSigner;
  readonly newest?: NewestRun;
  /** as of `ReserveLogsOptions` */
  readonly readings?: TopicReadings;
  readonly snapshots?: Snapshots;
  readonly arrivals?: Arrivals;
  readonly own_addresses?: OwnAddresses;
  readonly proofs?: Proofs;
  readonly lease?: Held;
  readonly confirm_ms?: number;
  readonly progress?: Progress;
  readonly names?: LogNames;
}

export class Reconciliation {
  /** Milliseconds that this number of provider requests takes at the rates of the settings. */
  readonly expectedMs: (requests: number) => number;
  /** TRON's receipt, at the same rates; undefined: not solidified, or unknown. */
  readonly receipt: TronGrid['receipt'];
  readonly #options: ReconciliationOptions;
  readonly #stopping = new AbortController();
  readonly #logs: ReserveLogs;
  readonly #writer: KafkaWriter;
  readonly #reconciler: Reconciler;
  #halted: string | undefined;
  #bug: { readonly error: unknown } | undefined;

  constructor(options: ReconciliationOptions) {
    this.#options = options;
    const {
      config,
      metrics,
      log,
      newest = new NewestRun(options.signer?.address),
      names,
    } = options;
    const signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    const reserveMetrics = openReserveMetrics(metrics, () => ({
      run: newest.run,
      broken: this.#logs.broken,
      is_closed: this.mintingAllowed() !== undefined,
      stands_by: options.lease?.is_held === false,
      at: Date.now(),
    }));
    this.#logs = new ReserveLogs({
      kafka: options.kafka,
      codec: options.codec,
      readings: options.readings,
      snapshots: options.snapshots,
      log,
      signal,
      newest,
      onLag: (topic, partition, records) => reserveMetrics.lag(topic, partition, records),
      ...(names === undefined ? {} : { names }),
    });
    this.#writer = new KafkaWriter(options.kafka, { log, signal });
    // the treasury has rates of its own: its requests come in bulk and are not urgent
    const rates = {
      requests_per_second: config.reconcile_requests_per_second,
      requests_per_day: config.reconcile_requests_per_day,
    };
    const { provider, bucket } = openTronGrid(config, rates, { signal, onRequest() {} });
    this.expectedMs = (requests) => bucket.expectedMs(requests);
    this.receipt = (txId) => provider.receipt(txId);
    this.#reconciler = new Reconciler({
      codec: options.codec,
      source: options.source,
      signer: options.signer,
      arrivals: options.arrivals,
      own_addresses: options.own_addresses,
      proofs: options.proofs,
      lease: options.lease,
      progress: options.progress,
      log,
      usdt_contract: config.usdt_contract,
      custody_addresses: config.custody_addresses,
      arriving_max_ms: config.arriving_max_ms,
      tolerance: config.reserve_tolerance,
      block_age_max_ms: config.reconcile_age_max_ms,
      every_ms: config.reconcile_every_ms,
      confirm_ms: options.confirm_ms ?? CONFIRM_MS,
      expectedMs: this.expectedMs,
      saved: (requests) => bucket.saved(requests),
      refresh_requests: refreshRequests(config),
      provider,
      logs: this.#logs,
      writer: this.#writer,
      metrics: reserveMetrics,
      signal,
      now: Date.now,
    });
  }

  /** A halt of the readers. A missing run, or a mismatch, is no problem of this process. */
  get problem(): HealthProblem | undefined {
    const halted = this.#halted ?? this.#logs.halted;
    if (halted === undefined) return undefined;
    const message = `reconciling halted: ${halted}`;
    return { status: 'halted', phase: 'reconciling', message };
  }

  /** Texts about the newest run that a person should know. */
  get notes(): readonly string[] {
    const { run } = this.#logs.newest;
    return run === undefined ? [] : runNotes(run, this.#options.config.reserve_tolerance);
  }

  /** Why nothing may be minted now, and what to do. Checked before each intent and broadcast. */
  mintingAllowed(): string | undefined {
    const { problem } = this;
    if (problem !== undefined) return problem.message;
    const ageMax = this.#options.config.reconcile_age_max_ms;
    return mintingForbidden(this.#logs.newest, ageMax, Date.now());
  }

  /** Reconciles on the schedule until the signal is aborted, halted or not. Throws bugs. */
  async run(): Promise<void> {
    const working = this.#reconciler.run().catch((error: unknown) => this.#end(error));
    await this.#whileReading(working, false);
    if (this.#bug !== undefined) throw this.#bug.error;
    await aborted(this.#options.signal);
  }

  /** Makes one run and ends. Throws the reason when there is none. */
  async once(): Promise<ReserveReconciled> {
    let run: ReserveReconciled | undefined;
    const make = async (): Promise<void> => {
      try {
        run = await this.#reconciler.once();
        this.#stopping.abort();
      } catch (error) {
        this.#end(error);
      }
    };
    await this.#whileReading(make(), true);
    if (this.#bug !== undefined) throw this.#bug.error;
    if (run !== undefined) return run;
    throw new Fault(
      'no_reconciliation',
      this.#halted ?? 'stopped before the reconciliation was made',
      { retry: true },
    );
  }

  async #whileReading(working: Promise<void>, isOnce: boolean): Promise<void> {
    const reading = this.#logs.run(isOnce).catch((error: unknown) => this.#end(error));
    await Promise.all([reading, working]);
    await this.#writer.close();
  }

  #end(error: unknown): void {
    // a failure after the end is a consequence of it
    if (this.#stopping.signal.aborted || (error instanceof Fault && this.#options.signal.aborted))
      return;
    // the reading reports its own failure
    if (error instanceof Fault && error.code === READING_ENDED) return;
    if (error instanceof LogLost) this.#halt(`${error.message}. ${RESTORE}`);
    else if (error instanceof Fault) this.#halt(error.message);
    else this.#bug = { error };
    this.#stopping.abort();
  }

  #halt(reason: string): void {
    this.#halted = reason;
    this.#options.log.error({ reason }, 'reconciling halted');
  }
}
