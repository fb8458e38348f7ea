/** The part of a snapshot that is of the ledger: everything that has seen each of its events. */
import type { KeptFold } from '../log-follower.ts';
import type { TreasuryMetrics } from '../metrics.ts';
import type { LastCheck } from '../minting/last-check.ts';
import type { Books } from './books.ts';
import type { DepositTraces } from './traces.ts';

interface LedgerFolds {
  readonly books: Books;
  readonly last: LastCheck;
  readonly metrics: TreasuryMetrics;
  readonly traces: DepositTraces;
}

interface LedgerState {
  readonly books: Books['state'];
  readonly last: LastCheck['state'];
  readonly counted: ReturnType<TreasuryMetrics['counted']>;
  readonly traces: DepositTraces['state'];
}

export function keptLedger({ books, last, metrics, traces }: LedgerFolds): KeptFold<LedgerState> {
  return {
    name: 'ledger',
    state: () => ({
      books: books.state,
      last: last.state,
      counted: metrics.counted(),
      traces: traces.state,
    }),
    restore(state) {
      books.restore(state.books);
      last.restore(state.last);
      metrics.restore(state.counted);
      traces.restore(state.traces);
      return true;
    },
  };
}
