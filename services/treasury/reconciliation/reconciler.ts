/**
 * Makes reconciliations, on a schedule and on demand. A change for the worse in custody is measured
 * a second time, and the second result is published: the provider's machines are not all at the
 * same block. The chain's figures need no second measurement.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { isSupplyExplained, statusOf } from '../../../projections/reserve/position.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import { RUN_RULES } from '../../../schemas/reserve.runs/rules.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import { ALWAYS_HELD, type Held } from '../../runtime/kafka/lease.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { KafkaWriter } from '../../runtime/kafka/writer.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { untilAborted } from '../../runtime/process/retry.ts';
import type { MintSigner } from '../minting/mint-signer.ts';
import { Arrivals } from './arrivals.ts';
import type { ReserveMetrics } from './metrics.ts';
import type { ReserveLogs } from './logs.ts';
import { measure, type Measured, type MeasureOptions, type Progress } from './measure.ts';
import { runForbids } from './newest-run.ts';
import { assertPinned } from './pinned-custody.ts';
import { Readings } from './readings.ts';
import { TokenNotices } from './token-notices.ts';

const PARTITION = 0;
const FAILED_MS_MIN = 1_000;
const FAILED_MS_MAX = 60_000;

export interface ReconcilerOptions extends Omit<
  MeasureOptions,
  'logs' | 'progress' | 'readings' | 'arrivals' | 'onBadAnswer'
> {
  /** where the transfers are kept that are not in the ledger; by default here alone */
  readonly arrivals?: Arrivals | undefined;
  readonly logs: MeasureOptions['logs'] & Pick<ReserveLogs, 'newest' | 'names'>;
  readonly codec: Pick<Codec, 'encode' | 'fingerprintOf'>;
  readonly writer: Pick<KafkaWriter, 'append'>;
  readonly log: Logger;
  readonly metrics: ReserveMetrics;
  readonly signal: AbortSignal;
  /** from an own run to the next */
  readonly every_ms: number;
  /** before the second measurement: by then all machines of the provider agree */
  readonly confirm_ms: number;
  /** milliseconds that this number of provider requests takes */
  readonly expectedMs: (requests: number) => number;
  readonly progress?: Progress | undefined;
  /** by default in real time */
  readonly pause?: typeof untilAborted;
  /** none: the runs open no gate of other processes */
  readonly signer?: Pick<MintSigner, 'signRun'> | undefined;
  /** header `source` of the records */
  readonly source: string;
  /** runs on the schedule are made by its holder; by default this is the only treasury */
  readonly lease?: Held | undefined;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #measuring: MeasureOptions;
  readonly #notices: TokenNotices;
  #failures = 0;
  /** the newest run in the log when this process measured last */
  #answered: ReserveReconciled | undefined;
  #isSlow = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#notices = new TokenNotices(options.log);
    this.#measuring = {
      ...options,
      readings: new Readings(),
      arrivals: options.arrivals ?? new Arrivals(),
      progress: {
        planned: (balances, requests) => this.#planned(balances, requests),
        read: () => options.progress?.read(),
      },
      onBadAnswer: (address, err) =>
        options.log.warn(
          { err, address: toTronAddress(address) },
          'a transfer that arrived may be missing in this run: the next ones search again',
        ),
    };
  }

  /** Makes a run whenever one is due, and retries it, until the abort. */
  async run(): Promise<void> {
    const { logs, lease = ALWAYS_HELD, signal, pause = untilAborted } = this.#options;
    try {
      await logs.catchUp('runs');
      // the ledger is the one that the runs are of
      await logs.catchUp('ledger');
      logs.newest.read();
      while (!signal.aborted) {
        await lease.held();
        const { changed } = logs.newest;
        const wait = this.#wait();
        if (wait > 0) await pause(wait, AbortSignal.any([signal, changed]));
        else await this.#try();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Makes one run, which is in the log and read back when this resolves. Throws faults. */
  async once(): Promise<ReserveReconciled> {
    const { logs } = this.#options;
    await logs.catchUp('ledger');
    assertPinned(logs.ledger.governance.custody, this.#options);
    this.#answered = logs.newest.run;
    const measured = await this.#measured();
    this.#notices.measured(measured);
    this.#options.metrics.token(measured.token);
    const { position, final, ledger_offset, ledger_head, begun_at, oldest_reading_at } = measured;
    const run: ReserveReconciled = {
      type: 'ReserveReconciled',
      run_id: randomUUID(),
      run_at: this.#options.now(),
      begun_at,
      ledger_offset: Number(ledger_offset),
      ledger_head,
      block_height: final.height,
      block_hash: final.hash,
      ...position,
      oldest_reading_at,
      status: statusOf(position, this.#options.tolerance),
    };
    // when it closes the gate, also while the log takes no records
    logs.newest.made(run);
    if (this.#options.lease?.is_held === false)
      throw new Fault('lease_lost', 'another treasury works by now, and makes the next run', {
        retry: true,
      });
    await this.#append(run);
    this.#report(run);
    return run;
  }

  /**
   * Until the newest own run is `every_ms` old; none, or a failure, is made up for at once. A clock
   * that was set back delays the next run by at most `every_ms`.
   */
  #wait(): number {
    const { logs, every_ms: everyMs, now } = this.#options;
    const { own } = logs.newest;
    if (own === undefined || this.#failures > 0 || this.#isContradicted) return 0;
    return Math.min(everyMs, own.run_at + everyMs - now());
  }

  /** Somebody else allows minting by now, and this process has not looked since. */
  get #isContradicted(): boolean {
    const { own, run } = this.#options.logs.newest;
    return run !== this.#answered && runForbids(own) !== undefined && runForbids(run) === undefined;
  }

  async #try(): Promise<void> {
    const { metrics, log, every_ms: everyMs, signal, pause = untilAborted } = this.#options;
    try {
      await this.once();
      this.#failures = 0;
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry || signal.aborted) throw error;
      metrics.failed(error.code);
      log.warn({ err: error }, 'there is no reconciliation this time');
      const wait = Math.min(
        FAILED_MS_MIN * 2 ** Math.min(this.#failures++, 10),
        FAILED_MS_MAX,
        Math.max(everyMs, FAILED_MS_MIN),
      );
      await pause(wait, signal);
    }
  }

  async #measured(): Promise<Measured> {
    const { tolerance, confirm_ms, log, logs, signal, pause = untilAborted } = this.#options;
    const first = await measure(this.#measuring);
    const status = statusOf(first.position, tolerance);
    const { custody_reported, uncovered } = first.position;
    const { own } = logs.newest;
    const isNews =
      (status !== 'ok' && status !== own?.status) ||
      (uncovered > 0n && (own?.uncovered ?? 0n) === 0n);
    if (!isNews || !isSupplyExplained(first.position)) return first;
    log.warn(
      { status, custody_reported, uncovered },
      'custody is not what it should be: measuring again',
    );
    await pause(confirm_ms, signal);
    return measure(this.#measuring);
  }

  /** Warns when a run takes longer than the interval: its figures age, and may close minting. */
  #planned(balances: number, requests: number): void {
    const { every_ms: everyMs, block_age_max_ms: blockAgeMaxMs, log } = this.#options;
    const expected = this.#options.expectedMs(requests);
    this.#options.metrics.planned(balances, expected);
    this.#options.progress?.planned(balances, requests);
    const isSlow = expected > everyMs;
    if (isSlow && !this.#isSlow) {
      const stops =
        blockAgeMaxMs > 0 && everyMs + expected > blockAgeMaxMs
          ? ', and minting stops for the age of the newest run (APP_RECONCILE_AGE_MAX_MS)'
          : '';
      log.warn(
        { balances, requests, expected_ms: Math.round(expected), every_ms: everyMs },
        `a reconciliation takes longer than the time between two${stops}: raise APP_RECONCILE_REQUESTS_PER_SECOND and APP_RECONCILE_REQUESTS_PER_DAY as far as the provider allows, or APP_RECONCILE_EVERY_MS`,
      );
    }
    this.#isSlow = isSlow;
  }

  async #append(run: ReserveReconciled): Promise<void> {
    const { codec, writer, logs, signer, source } = this.#options;
    const { end, head: previous } = logs.newest;
    const linked: ReserveReconciled = { ...run, sequence: Number(end), previous };
    const rule = brokenRule(RUN_RULES, linked);
    if (rule !== undefined)
      throw new Fault(
        'run_out_of_range',
        `a reserve run would have no effect: ${rule}; somebody may have written to the ledger: run \`ops audit\`; it is tried again`,
        { retry: true },
      );
    const signed = signer === undefined ? linked : { ...linked, signature: signer.signRun(linked) };
    const headers = {
      event_id: run.run_id,
      event_type: run.type,
      schema_fingerprint: codec.fingerprintOf(run.type),
      source,
      trace_id: randomBytes(16).toString('hex'),
    };
    await writer.append(logs.names.runs, PARTITION, [
      { key: run.run_id, value: codec.encode(signed), headers, timestamp: run.run_at },
    ]);
    await logs.catchUp('runs');
    logs.newest.read();
  }

  #report(run: ReserveReconciled): void {
    const { log, metrics } = this.#options;
    const { type: _type, block_hash: blockHash, ledger_head: _ledgerHead, ...said } = run;
    metrics.made(run);
    const about = { ...said, block_hash: blockHash.toString('hex') };
    if (run.status === 'mismatch')
      log.error(
        about,
        'the reserve does not match: nothing is minted until a reconciliation matches again',
      );
    else if (run.uncovered > 0n)
      log.error(
        about,
        'custody does not cover the deposits: nothing is minted until a reconciliation covers them',
      );
    else if (run.status === 'ok') log.info(about, 'reconciled');
    else log.warn(about, 'there is more in custody than is explained');
  }
}
