/** The treasury as its process runs it: minting, and reserve runs on their schedule. */
import { NETWORK_LIMITS, type PolicyLimits } from '../../../schemas/deposit-policy.ts';
import { TREASURY_SNAPSHOTS } from '../../../schemas/topics.ts';
import type { Codec } from '../../../services/runtime/kafka/codec.ts';
import type { Kafka } from '../../../services/runtime/kafka/port.ts';
import { LogLost } from '../../../services/runtime/kafka/position.ts';
import { KafkaWriter } from '../../../services/runtime/kafka/writer.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { Activity } from '../../../services/runtime/process/health.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { Snapshots } from '../../../services/runtime/snapshots/snapshots.ts';
import {
  READING_ENDED,
  ReserveLogs,
  type ReserveLogsOptions,
} from '../../../services/treasury/reconciliation/logs.ts';
import type { MintingOptions } from '../../../services/treasury/minting/options.ts';
import { MintSigner } from '../../../services/treasury/minting/mint-signer.ts';
import {
  mintingForbidden,
  NewestRun,
} from '../../../services/treasury/reconciliation/newest-run.ts';
import { Arrivals } from '../../../services/treasury/reconciliation/arrivals.ts';
import {
  Reconciler,
  type ReconcilerOptions,
} from '../../../services/treasury/reconciliation/reconciler.ts';
import { SNAPSHOT_NAMES } from '../../../services/treasury/log-follower.ts';
import { Treasury } from '../../../services/treasury/treasury.ts';
import { TopicReadings } from '../../../services/treasury/topic-readings.ts';
import { depositKey } from '../../support/deposit-log.ts';
import { silentLog } from '../../support/kafka.ts';
import { CHAIN_ID, MINT_KEY, type SimulatedNode } from './clt.ts';
import { CUSTODY, USDT_CONTRACT, type SimulatedTron } from './tron.ts';
import { proofsOf, RESERVE_METRICS } from './version.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const USD = 1_000_000n;
/** From an own run to the next, and the age from which on a run opens no gate. */
export const RUN_EVERY_MS = MINUTE_MS;
export const RUN_AGE_MAX_MS = 60 * MINUTE_MS;
/** A mint in no block, and a transfer that TRON does not know, for this long need a person. */
export const LATE_MS = 10 * MINUTE_MS;

/** Room for every deposit of a sequence: one that waits for the rolling cap is no finding. */
export const LIMITS: PolicyLimits = {
  ...NETWORK_LIMITS.testnet,
  rolling_cap: 1_000_000n * USD,
};

/** Where the processes work. */
export interface Surroundings {
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly node: SimulatedNode;
  readonly second_node: MintingOptions['second_node'];
  readonly tron: SimulatedTron;
  readonly operators: readonly Buffer[];
  readonly two_above: bigint;
}

/** Reserve runs as `Reconciliation` makes them, whose provider is not asked over HTTP. */
class Reserve {
  readonly arrivals = new Arrivals();
  readonly #logs: ReserveLogs;
  readonly #writer: KafkaWriter;
  readonly #reconciler: Reconciler;
  readonly #newest: NewestRun;
  readonly #outside: AbortSignal;
  readonly #stopping = new AbortController();
  #halted: string | undefined;
  #bug: { readonly error: unknown } | undefined;

  constructor(
    { kafka, codec, tron }: Surroundings,
    options: Pick<ReconcilerOptions, 'own_addresses' | 'signer'> &
      Partial<ReconcilerOptions> &
      Pick<ReserveLogsOptions, 'newest' | 'signal' | 'readings' | 'snapshots'>,
  ) {
    const log = silentLog();
    this.#outside = options.signal;
    const signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    this.#newest = options.newest;
    this.#logs = new ReserveLogs({ ...options, kafka, codec, log, signal, onLag: () => undefined });
    this.#writer = new KafkaWriter(kafka, { log, signal });
    this.#reconciler = new Reconciler({
      ...options,
      codec,
      log,
      signal,
      logs: this.#logs,
      writer: this.#writer,
      metrics: RESERVE_METRICS,
      provider: tron.provider,
      arrivals: this.arrivals,
      saved: () => Promise.resolve(),
      expectedMs: () => 0,
      refresh_requests: 10,
      usdt_contract: USDT_CONTRACT,
      custody_addresses: [CUSTODY],
      tolerance: USD,
      block_age_max_ms: RUN_AGE_MAX_MS,
      arriving_max_ms: DAY_MS,
      every_ms: RUN_EVERY_MS,
      confirm_ms: 6_000,
      source: 'treasury',
      now: Date.now,
    });
  }

  get problem(): string | undefined {
    return this.#halted === undefined ? undefined : `reconciling halted: ${this.#halted}`;
  }

  allowed(): string | undefined {
    return this.problem ?? mintingForbidden(this.#newest, RUN_AGE_MAX_MS, Date.now());
  }

  /** Throws bugs. */
  async run(): Promise<void> {
    const working = this.#reconciler.run().catch((error: unknown) => this.#end(error));
    const reading = this.#logs.run().catch((error: unknown) => this.#end(error));
    await Promise.all([reading, working]);
    await this.#writer.close();
    if (this.#bug !== undefined) throw this.#bug.error;
  }

  #end(error: unknown): void {
    const isOver = this.#stopping.signal.aborted;
    if (isOver || (error instanceof Fault && this.#outside.aborted)) return;
    if (error instanceof Fault && error.code === READING_ENDED) return;
    if (error instanceof LogLost || error instanceof Fault) this.#halted = error.message;
    else this.#bug = { error };
    this.#stopping.abort();
  }
}

export class TreasuryProcess {
  readonly newest: NewestRun;
  /** Unix milliseconds */
  readonly started_at = Date.now();
  readonly #treasury: Treasury;
  readonly #reserve: Reserve;
  readonly #metrics = new Metrics('treasury', { of_process: false });
  readonly #stop = new AbortController();
  readonly #ended: Promise<unknown>;
  /** the error that ended the process by itself */
  bug: { readonly error: unknown } | undefined;

  constructor(surroundings: Surroundings) {
    const { kafka, codec, node, second_node, tron, operators, two_above } = surroundings;
    const { signal } = this.#stop;
    const signer = new MintSigner(MINT_KEY, CHAIN_ID);
    const log = silentLog();
    // each time that it has nothing to do it writes one, from which a restart goes on
    const snapshots = new Snapshots({
      kafka,
      topic: TREASURY_SNAPSHOTS,
      names: SNAPSHOT_NAMES,
      key: signer.derived('treasury.snapshots'),
      bytes_min: 1,
      version: 'of this model',
      log,
    });
    const activity = new Activity({ log, signal });
    activity.enter('reading');
    const readings = new TopicReadings({
      kafka,
      codec,
      log,
      signal,
      retrying: (what, attempt) => activity.retrying(what, attempt),
      paused: snapshots.paused,
    });
    this.newest = new NewestRun(signer.address);
    const { provider } = tron;
    const minting = {
      signer,
      node,
      second_node,
      chain_id: CHAIN_ID,
      receipt: provider.receipt,
      allowed: () => this.#reserve.allowed(),
      every_ms: 10_000,
      again_ms: 5_000,
      late_ms: LATE_MS,
      clock_apart_max_ms: 0,
    };
    this.#treasury = new Treasury({
      kafka,
      codec,
      metrics: this.#metrics,
      log: silentLog(),
      signal,
      network: 'testnet',
      limits: LIMITS,
      usdt_contract: USDT_CONTRACT,
      operators,
      two_operators_above: two_above,
      custody_addresses: [CUSTODY],
      deposit_key: depositKey(),
      minting,
      readings: { readings, activity },
      snapshots,
    });
    this.#reserve = new Reserve(surroundings, {
      newest: this.newest,
      own_addresses: this.#treasury.own_addresses,
      ...proofsOf(this.#treasury),
      signer,
      signal,
      readings,
      snapshots,
    });
    this.#ended = snapshots
      .load()
      .then(() => Promise.all([this.#treasury.run(), this.#reserve.run()]))
      .catch((error: unknown) => {
        this.bug = { error };
      });
  }

  /** The transfers that it tells the watcher of. */
  get found(): Arrivals['found'] {
    return this.#reserve.arrivals.found;
  }

  /** Why it is not ready, as operators see it. */
  get problem(): string | undefined {
    return this.#treasury.problem?.message ?? this.#reserve.problem;
  }

  /** Whether a person has to do something before anything is minted. */
  get isHalted(): boolean {
    return this.#treasury.problem?.status === 'halted' || this.bug !== undefined;
  }

  /** Why the reserve forbids minting now. */
  get forbidden(): string | undefined {
    return this.#reserve.allowed();
  }

  /** Whether its metrics say that nothing is minted now. */
  async isClosed(): Promise<boolean> {
    const metric = this.#metrics.registry.getSingleMetric('treasury_minting_closed');
    const { values } = (await metric?.get()) ?? { values: [] };
    return values.some(({ value }) => value === 1);
  }

  /** Resolves when it has ended. */
  stop(): Promise<unknown> {
    this.#stop.abort();
    return this.#ended;
  }
}
