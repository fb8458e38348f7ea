/** `GET /public/reconciliation`: the newest run in the log. */
import {
  reconciliationJson,
  RUN_STATUSES,
  type Reconciliation,
} from '../../../schemas/reconciliation.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { Route } from '../../runtime/http/handler.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { NewestRun } from './newest-run.ts';

const HEADERS = { 'cache-control': 'public, max-age=1' };

export function reconciliationRoute(newest: Pick<NewestRun, 'run' | 'is_read'>): Route {
  let made: { readonly of: ReserveReconciled | undefined; readonly body: string } | undefined;
  return {
    method: 'get',
    path: '/public/reconciliation',
    handle() {
      // "never" must not be published before the log is read
      if (!newest.is_read)
        throw new Fault('starting', 'the reconciliations are not read yet', { retry: true });
      const { run } = newest;
      if (made === undefined || made.of !== run)
        made = { of: run, body: reconciliationJson(published(run)) };
      return { status: 200, body: made.body, headers: HEADERS };
    },
  };
}

function published(run: ReserveReconciled | undefined): Reconciliation {
  if (run === undefined) return { last_run: null };
  const {
    onchain_supply,
    genesis_allocation,
    treasury_minted,
    ledger_liability,
    custody_reported,
  } = run;
  return {
    last_run: {
      run_at: new Date(run.run_at).toISOString(),
      onchain_supply,
      genesis_allocation,
      treasury_minted,
      ledger_liability,
      custody_reported,
      // an unknown status is not relied on
      status: RUN_STATUSES.find((status) => status === run.status) ?? 'mismatch',
    },
  };
}
