/** What is shown of reconciliations on /metrics. */
import { RUN_STATUSES } from '../../../schemas/reconciliation.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';

/** What of a run is an amount. */
const AMOUNTS = [
  'onchain_supply',
  'genesis_allocation',
  'treasury_minted',
  'burned',
  'ledger_liability',
  'custody_reported',
  'held',
  'retained_fees',
] as const;

/** What is asked at each scrape. */
export interface ReserveNow {
  readonly run: ReserveReconciled | undefined;
  /** whether nothing may be minted */
  readonly is_closed: boolean;
  /** Unix milliseconds */
  readonly at: number;
}

export interface ReserveFigures {
  /** this process made a run */
  made(run: ReserveReconciled): void;
  /** a run of so many balances begins, which is expected to take so long */
  planned(balances: number, expected_ms: number): void;
  failed(code: string): void;
  lag(topic: string, partition: number, records: bigint): void;
}

export function openReserveFigures(metrics: Metrics, now: () => ReserveNow): ReserveFigures {
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
    'balances that a run has to read, as of the last one begun',
  );
  const expected = metrics.gauge(
    'reserve_run_expected_seconds',
    'how long that takes at the rate allowed',
  );
  const lag = metrics.gauge('reserve_lag_records', 'records that reconciling has not read yet', [
    'topic',
    'partition',
  ]);
  metrics.gauge(
    'reserve_newest_run',
    '1 at the status of the newest run, whoever made it',
    ['status'],
    function () {
      for (const status of RUN_STATUSES) this.set({ status }, Number(now().run?.status === status));
    },
  );
  metrics.gauge(
    'reserve_newest_run_age_seconds',
    'since the newest run; -1: there is none',
    [],
    function () {
      const { run, at } = now();
      this.set(run === undefined ? -1 : (at - run.run_at) / 1_000);
    },
  );
  metrics.gauge(
    'reserve_amount',
    'figures of the newest run in CLT base units, which are micro-USDT',
    ['figure'],
    function () {
      const { run } = now();
      if (run !== undefined)
        for (const figure of AMOUNTS) this.set({ figure }, Number(run[figure]));
    },
  );
  metrics.gauge(
    'reserve_minting_closed',
    '1 while nothing may be minted for what the newest run says, or for its age',
    [],
    function () {
      this.set(Number(now().is_closed));
    },
  );
  return {
    made: ({ status }) => runs.inc({ status }),
    planned(count, ms) {
      balances.set(count);
      expected.set(ms / 1_000);
    },
    failed: (code) => failures.inc({ code }),
    lag: (topic, partition, records) => lag.set({ topic, partition }, Number(records)),
  };
}
