/** What a runner counts of its projection. */
import type { Outcomes } from '../../../projections/contract/projection.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';

const RECORDS = [1, 2, 5, 10, 50, 100, 500, 1_000, 5_000, 20_000, 100_000];

/** `isHalted` is asked at each scrape. */
export function projectionFigures(metrics: Metrics, isHalted: () => boolean) {
  metrics.gauge('projection_halted', '1 while the projection is halted', [], function () {
    this.set(Number(isHalted()));
  });
  const records = metrics.counter(
    'projection_records_total',
    'records of the log by what they did',
    ['outcome'],
  );
  return {
    records,
    /** Counts the records of one transaction; gives how many there were. */
    count(outcomes: Outcomes): number {
      for (const [outcome, count] of Object.entries(outcomes)) records.inc({ outcome }, count);
      return outcomes.applied + outcomes.replayed + outcomes.ignored;
    },
    rows: metrics.counter('projection_rows_total', 'rows written or deleted'),
    batch: metrics.histogram('projection_batch_seconds', 'one transaction'),
    batchRecords: metrics.histogram(
      'projection_batch_records',
      'records in one transaction',
      [],
      RECORDS,
    ),
    conflicts: metrics.counter(
      'projection_conflicts_total',
      'batches that another projector had applied',
    ),
  };
}
