/** The watcher's metrics. */
import type { TransferEvent } from '../../schemas/tron.transfers/events.ts';
import type { Metrics } from '../runtime/process/metrics.ts';
import type { CrossCheckOutcome } from './cross-check.ts';
import type { Outcome } from '../runtime/trongrid/trongrid.ts';

const PASS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export function openWatcherMetrics(metrics: Metrics) {
  const requests = metrics.counter('tron_requests_total', "requests to TRON's provider", [
    'route',
    'outcome',
  ]);
  const observed = metrics.counter(
    'tron_transfers_observed_total',
    'transfers appended to tron.transfers',
  );
  const checks = metrics.counter(
    'tron_addresses_checked_total',
    'addresses in AddressesChecked records',
  );
  const crossChecks = metrics.counter(
    'tron_cross_checks_total',
    'comparisons of an address balance with the log, by outcome',
    ['outcome'],
  );
  const pass = metrics.histogram(
    'tron_pass_seconds',
    'duration of a pass over the due addresses',
    [],
    PASS_SECONDS,
  );
  const addresses = metrics.counter('tron_pass_addresses_total', 'addresses checked by passes');
  const coldAge = metrics.gauge(
    'tron_cold_check_age_seconds',
    'age of the last check of the cold address at the front of the queue; 0: there is none',
  );
  const partitions = metrics.gauge(
    'tron_partitions_assigned',
    'partitions of tron.transfers assigned to this watcher',
  );
  return {
    requested: (route: string, outcome: Outcome) => requests.inc({ route, outcome }),
    appended(events: readonly TransferEvent[]) {
      for (const event of events) {
        if (event.type === 'TransferObserved') observed.inc();
        else checks.inc(event.checked.length);
      }
    },
    crossChecked: (outcome: CrossCheckOutcome) => crossChecks.inc({ outcome }),
    coldAge: (ms: number | undefined) => coldAge.set((ms ?? 0) / 1_000),
    passed(count: number, seconds: number) {
      addresses.inc(count);
      pass.observe(seconds);
    },
    assigned: (count: number) => partitions.set(count),
  };
}
