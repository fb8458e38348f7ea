/** How many deposits wait, for what, and since when: what a person looks at first when somebody's money does not come. */
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';

const STATUSES = ['confirmed', 'mint_requested', 'needs_manual'] as const;
type Status = (typeof STATUSES)[number];

interface Queue {
  readonly deposits: number;
  /** Unix milliseconds of what has waited longest */
  readonly since: number | undefined;
}

export type Queued = Pick<Ledger, 'waiting' | 'waitingCount' | 'live'>;

export class QueueFigures {
  /** those that wait for a person, since when, in the order in which they began to */
  readonly #held = new Map<string, number>();
  readonly #ledger: () => Queued;

  /** `now` in Unix milliseconds. */
  constructor(metrics: Metrics, ledger: () => Queued, now: () => number = Date.now) {
    this.#ledger = ledger;
    const queues = (): Readonly<Record<Status, Queue>> => this.#queues();
    metrics.gauge(
      'treasury_queue_deposits',
      'deposits on their way: to be minted, requested, or waiting for a person',
      ['status'],
      function () {
        const found = queues();
        for (const status of STATUSES) this.set({ status }, found[status].deposits);
      },
    );
    metrics.gauge(
      'treasury_queue_oldest_seconds',
      'for how long the oldest of them is there; 0: there is none',
      ['status'],
      function () {
        const found = queues();
        for (const status of STATUSES)
          this.set({ status }, secondsSince(found[status].since, now()));
      },
    );
  }

  /** An event that counts. */
  applied(event: TreasuryEvent): void {
    if (event.type === 'DepositHeld') this.#held.set(event.deposit_id, event.decided_at);
    if (event.type === 'DepositApproved' || event.type === 'DepositRejected')
      this.#held.delete(event.deposit_id);
  }

  #queues(): Readonly<Record<Status, Queue>> {
    const { waiting, waitingCount, live } = this.#ledger();
    return {
      confirmed: { deposits: waitingCount, since: oldest(waiting, ({ since }) => since) },
      mint_requested: { deposits: live.size, since: oldest(live.values(), ({ at }) => at) },
      needs_manual: {
        deposits: this.#held.size,
        since: oldest(this.#held.values(), (since) => since),
      },
    };
  }
}

/** They stand in their order: the first is the oldest. */
function oldest<Item>(items: Iterable<Item>, since: (item: Item) => number): number | undefined {
  for (const item of items) return since(item);
  return undefined;
}

function secondsSince(ms: number | undefined, now: number): number {
  return ms === undefined ? 0 : Math.max(0, (now - ms) / 1_000);
}
