/**
 * How many deposits wait, for what, and since when: the first thing to look at when somebody's
 * money does not arrive.
 */
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';

export type QueuedDeposits = Pick<Ledger, 'waiting' | 'waitingCount' | 'live'>;

interface Queue {
  readonly status: 'confirmed' | 'mint_requested' | 'needs_manual';
  readonly deposits: number;
  /** Unix milliseconds */
  readonly oldest: number | undefined;
}

export class QueueMetrics {
  /** the times at which held deposits began to wait for a person, in order */
  readonly #held = new Map<string, number>();
  readonly #ledger: () => QueuedDeposits;

  /** `now` in Unix milliseconds. */
  constructor(metrics: Metrics, ledger: () => QueuedDeposits, now: () => number = Date.now) {
    this.#ledger = ledger;
    const queues = (): readonly Queue[] => this.#queues();
    metrics.gauge(
      'treasury_queue_deposits',
      'deposits to be minted, requested, or waiting for a person',
      ['status'],
      function () {
        for (const { status, deposits } of queues()) this.set({ status }, deposits);
      },
    );
    metrics.gauge(
      'treasury_queue_oldest_seconds',
      'age of the oldest of them in its status; 0: there is none',
      ['status'],
      function () {
        for (const { status, oldest } of queues()) {
          const age = oldest === undefined ? 0 : now() - oldest;
          this.set({ status }, Math.max(0, age / 1_000));
        }
      },
    );
  }

  /** An event that counts. */
  applied(event: TreasuryEvent): void {
    if (event.type === 'DepositHeld') this.#held.set(event.deposit_id, event.decided_at);
    if (event.type === 'DepositApproved' || event.type === 'DepositRejected')
      this.#held.delete(event.deposit_id);
  }

  #queues(): readonly Queue[] {
    const { waiting, waitingCount, live } = this.#ledger();
    const [queued] = waiting;
    const [mint] = live.values();
    const [held] = this.#held.values();
    return [
      { status: 'confirmed', deposits: waitingCount, oldest: queued?.since },
      { status: 'mint_requested', deposits: live.size, oldest: mint?.at },
      { status: 'needs_manual', deposits: this.#held.size, oldest: held },
    ];
  }
}
