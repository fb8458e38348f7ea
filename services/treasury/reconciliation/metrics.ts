/** The metrics of reconciliations. */
import { surplusOf } from '../../../projections/reserve/position.ts';
import { RUN_STATUSES } from '../../../schemas/treasury-api/reconciliation.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { TokenState } from '../../../schemas/trongrid.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';
import { measuredAt } from './newest-run.ts';

/** The amounts of a run. */
const AMOUNTS = [
  'onchain_supply',
  'genesis_allocation',
  'treasury_minted',
  'burned',
  'ledger_liability',
  'custody_reported',
  'held',
  'retained_fees',
  'minting',
  'waiting',
  'uncovered',
  'booked_surplus',
  'refunded',
  'unproven',
  'unminted',
  'unproven_refunds',
  'frozen',
] as const;

/** Read at each scrape. */
export interface ReserveState {
  readonly run: ReserveReconciled | undefined;
  /** by topic, the records that break a rule of their fields */
  readonly broken: readonly (readonly [topic: string, records: number])[];
  readonly is_closed: boolean;
  /** another process makes the runs: what this one knows of the token is old */
  readonly stands_by: boolean;
  /** Unix milliseconds */
  readonly at: number;
}

export type ReserveMetrics = ReturnType<typeof openReserveMetrics>;

export function openReserveMetrics(metrics: Metrics, state: () => ReserveState) {
  const runs = metrics.counter('reserve_runs_total', 'reconciliations made by this process', [
    'status',
  ]);
  const failures = metrics.counter(
    'reserve_runs_failed_total',
    'reconciliations that could not be made',
    ['code'],
  );
  const balances = metrics.gauge(
    'reserve_run_balances',
    'balances to read in the newest run begun',
  );
  const expected = metrics.gauge(
    'reserve_run_expected_seconds',
    'duration of that run at the allowed request rate',
  );
  const lag = metrics.gauge('reserve_lag_records', 'records that reconciling has not read yet', [
    'topic',
    'partition',
  ]);
  metrics.gauge(
    'reserve_newest_run',
    '1 for the status of the newest run of any process',
    ['status'],
    function () {
      for (const status of RUN_STATUSES)
        this.set({ status }, Number(state().run?.status === status));
    },
  );
  metrics.gauge(
    'reserve_newest_run_age_seconds',
    'time since the newest run began; -1: there is none',
    [],
    function () {
      const { run, at } = state();
      this.set(run === undefined ? -1 : (at - measuredAt(run)) / 1_000);
    },
  );
  metrics.gauge(
    'reserve_oldest_reading_age_seconds',
    'age of the oldest reading of a balance that the newest run counted',
    [],
    function () {
      const { run, at } = state();
      this.set(
        run === undefined || run.oldest_reading_at === 0 ? 0 : (at - run.oldest_reading_at) / 1_000,
      );
    },
  );
  metrics.gauge(
    'reserve_amount',
    'amounts of the newest run in CLT base units, which are micro-USDT',
    ['figure'],
    function () {
      const { run } = state();
      if (run === undefined) return;
      for (const figure of AMOUNTS) this.set({ figure }, Number(run[figure] ?? 0n));
      this.set({ figure: 'surplus' }, Number(surplusOf(run)));
    },
  );
  metrics.gauge(
    'reserve_gate_closed',
    '1 while the newest run of anybody or the newest own one forbids minting, or there is no recent own one',
    [],
    function () {
      this.set(Number(state().is_closed));
    },
  );
  metrics.gauge(
    'reserve_records_broken',
    'records of reserve.runs and chain.blocks that break a rule of their fields, and have no effect',
    ['topic'],
    function () {
      for (const [topic, records] of state().broken) this.set({ topic }, records);
    },
  );
  let token: TokenState | undefined;
  const known = (): TokenState | undefined => (state().stands_by ? undefined : token);
  metrics.gauge(
    'reserve_token_paused',
    '1 while nobody can move the token, by the newest run of this process',
    [],
    function () {
      this.set(Number(known()?.paused ?? false));
    },
  );
  metrics.gauge(
    'reserve_token_deprecated',
    '1 once another contract has taken the place of the token, by the newest run of this process',
    [],
    function () {
      this.set(Number(known()?.deprecated ?? false));
    },
  );
  metrics.gauge(
    'reserve_token_fee_basis_points',
    'what the token takes of each transfer, in hundredths of a percent, by the newest run of this process',
    [],
    function () {
      this.set(Number(known()?.fee_basis_points ?? 0n));
    },
  );
  return {
    token(measured: TokenState): void {
      token = measured;
    },
    made: ({ status }: ReserveReconciled) => runs.inc({ status }),
    /** a run begins: balances to read, and the expected duration */
    planned(count: number, expected_ms: number): void {
      balances.set(count);
      expected.set(expected_ms / 1_000);
    },
    failed: (code: string) => failures.inc({ code }),
    lag: (topic: string, partition: number, records: bigint) =>
      lag.set({ topic, partition }, Number(records)),
  };
}
