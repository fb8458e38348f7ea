/** The treasury's metrics. */
import type { TransferRefusal } from '../../projections/deposits/domain/confirmation.ts';
import type { Ledger } from '../../projections/deposits/domain/ledger.ts';
import { depositEventsIn, type TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { partitionKey } from '../runtime/kafka/position.ts';
import type { Metrics } from '../runtime/process/metrics.ts';
import type { AppliedOffset } from './log-follower.ts';

/** The state of the treasury, read at each scrape. */
export interface TreasuryState {
  /** whether the limits in force are those of this process' settings */
  readonly has_own_policy: boolean;
  readonly halted: boolean;
  /** a standby decides nothing, so that its lag says nothing */
  readonly has_lease: boolean;
  /** transfers read and not decided */
  readonly waiting: number;
  /** partitions that are held up */
  readonly held_up: number;
  readonly minting_closed: boolean;
  /** by what chain.blocks is contradicted */
  readonly forged: boolean;
  readonly nodes_disagree: boolean;
  /** of the newest final block that the second node shows, too; -1: none does */
  readonly agreed_height: number;
  /** when the newest snapshot was written, Unix milliseconds; undefined: none, or a standby */
  readonly snapshot_at: number | undefined;
  readonly applied: readonly AppliedOffset[];
  /** by topic, the records read that break a rule of their fields */
  readonly broken: readonly (readonly [topic: string, records: number])[];
}

export type TreasuryMetrics = ReturnType<typeof openTreasuryMetrics>;

export function openTreasuryMetrics(
  metrics: Metrics,
  state: () => TreasuryState,
  ledger: () => QueuedDeposits & Pick<Ledger, 'governance' | 'leftAt'>,
  dust_below: bigint,
) {
  const queue = new QueueMetrics(metrics, ledger, dust_below);
  let counts = newCounts();
  /** when the newest of them was decided, Unix milliseconds */
  const failures = new Map<string, number>();
  metrics.counter(
    'treasury_deposits_confirmed_total',
    'deposits confirmed in the ledger, from its beginning',
    [],
    (counter) => counter.inc(counts.confirmed),
  );
  metrics.counter(
    'treasury_deposits_held_total',
    'times that a deposit was held for a person, from the beginning of the ledger',
    ['reason'],
    (counter) => counts.held.forEach((count, reason) => counter.inc({ reason }, count)),
  );
  metrics.counter(
    'treasury_policies_total',
    'policies set in the ledger, from its beginning',
    [],
    (counter) => counter.inc(counts.policies),
  );
  metrics.counter(
    'treasury_mints_total',
    'mints requested, and their outcomes, from the beginning of the ledger',
    ['event'],
    (counter) => counts.mints.forEach((count, event) => counter.inc({ event }, count)),
  );
  const broadcasts = metrics.counter(
    'treasury_broadcasts_total',
    "mints broadcast by this process, by the node's answer",
    ['answer'],
  );
  const refused = metrics.counter(
    'treasury_transfers_refused_total',
    'transfers read by this process that are no deposits',
    ['reason'],
  );
  // a first refusal is an increase
  for (const reason of ['broken_rule', 'wrong_contract', 'wrong_partition', 'other_address'])
    refused.inc({ reason }, 0);
  const unproven = metrics.counter(
    'treasury_deposits_unproven_total',
    'deposits of the ledger that this process found contradicted, and that are never minted',
  );
  const races = metrics.counter(
    'treasury_races_lost_total',
    'batches without effect: another treasury wrote first',
  );
  const batches = metrics.histogram(
    'treasury_batch_events',
    'events in one append',
    [],
    [1, 2, 5, 10, 50, 100, 500, 1_000, 2_000],
  );
  const lags = new Map<string, { readonly topic: string; partition: number; records: bigint }>();
  metrics.gauge(
    'treasury_lag_records',
    'records not read, or of tron.transfers not decided yet; none of a standby',
    ['topic', 'partition'],
    function () {
      this.reset();
      if (!state().has_lease) return;
      for (const { topic, partition, records } of lags.values())
        this.set({ topic, partition }, Number(records));
    },
  );
  metrics.gauge(
    'treasury_position',
    'first offset not read, or of tron.transfers not decided',
    ['topic', 'partition'],
    function () {
      for (const { topic, partition, next_offset: nextOffset } of state().applied)
        this.set({ topic, partition }, Number(nextOffset));
    },
  );
  metrics.gauge(
    'treasury_decisions_refused',
    'decisions and claims in the ledger without effect: unsigned, or signed with a key that may not make them',
    ['reason'],
    function () {
      for (const [reason, count] of Object.entries(ledger().governance.refused))
        this.set({ reason }, count);
    },
  );
  metrics.gauge(
    'treasury_records_broken',
    'records that break a rule of their fields, and have no effect',
    ['topic'],
    function () {
      for (const [topic, records] of state().broken) this.set({ topic }, records);
    },
  );
  metrics.gauge(
    'treasury_snapshot_age_seconds',
    'since the newest snapshot was written, from which a start goes on; none while there is none',
    [],
    function () {
      const { snapshot_at: snapshotAt } = state();
      if (snapshotAt === undefined) this.reset();
      else this.set((Date.now() - snapshotAt) / 1_000);
    },
  );
  const gauge = (name: string, help: string, value: (now: TreasuryState) => number): void => {
    metrics.gauge(name, help, [], function () {
      this.set(value(state()));
    });
  };
  gauge(
    'treasury_policy_version',
    'version of the limits in force, 0 before the first',
    () => ledger().policy?.version ?? 0,
  );
  gauge('treasury_policy_is_own', '1 while the limits in force are those of the settings', (now) =>
    Number(now.has_own_policy),
  );
  gauge('treasury_halted', '1 while the treasury is halted', (now) => Number(now.halted));
  gauge(
    'treasury_deposits_waiting',
    'deposits that wait to be minted',
    () => ledger().waiting_count,
  );
  gauge(
    'treasury_mints_in_flight',
    'mints in flight: no final block shows their outcome yet',
    () => ledger().live.size,
  );
  gauge('treasury_minting_closed', '1 while nothing is minted: the log says why', (now) =>
    Number(now.minting_closed),
  );
  metrics.gauge(
    'treasury_rolling_cap_used_ratio',
    'part of the rolling cap that mints of the window use; 0 before the first policy',
    [],
    function () {
      const { policy } = ledger();
      if (policy === undefined) return;
      const left = Number(ledger().leftAt(Date.now()));
      this.set(1 - left / Number(policy.rolling_cap));
    },
  );
  metrics.gauge(
    'treasury_mint_failed_age_seconds',
    'since the newest mint that has died or was voided; none: it has read none',
    ['event'],
    function () {
      failures.forEach((at, event) => this.set({ event }, (Date.now() - at) / 1_000));
    },
  );
  metrics.gauge(
    'treasury_chain_contradicted',
    '1 while chain.blocks is contradicted, which halts minting: by the bytes of a transaction of the mint authority, or by the second node',
    ['by'],
    function () {
      const { forged, nodes_disagree } = state();
      this.set({ by: 'bytes' }, Number(forged));
      this.set({ by: 'second_node' }, Number(nodes_disagree));
    },
  );
  gauge(
    'treasury_second_node_height',
    'newest final block that the second node shows, too; -1: none, or no second node is set',
    (now) => now.agreed_height,
  );
  gauge('treasury_transfers_waiting', 'transfers read and not decided', (now) => now.waiting);
  gauge(
    'treasury_partitions_held_up',
    'partitions whose next transfer is to an address of nobody',
    (now) => now.held_up,
  );
  return {
    /** an event that counts */
    /** The counts of the ledger, to be copied at once: it changes with the next record. */
    counted: () => ({ ...counts, queue: queue.state }),
    /** Counts on from there. */
    restore({ queue: queued, ...own }: ReturnType<typeof newCounts> & { queue: QueueState }): void {
      counts = own;
      queue.restore(queued);
    },
    applied(event: TreasuryEvent): void {
      queue.applied(event);
      if (event.type === 'DepositConfirmed') counts.confirmed++;
      if (event.type === 'DepositHeld') countOne(counts.held, event.reason);
      if (event.type === 'PolicySet') counts.policies++;
      const { type } = event;
      if (
        type === 'MintIntended' ||
        type === 'MintCredited' ||
        type === 'MintDead' ||
        type === 'MintVoided'
      )
        countOne(counts.mints, type);
      if (type === 'MintDead' || type === 'MintVoided') failures.set(type, event.decided_at);
    },
    /** `answer`: the node's code */
    broadcast: (answer: string) => broadcasts.inc({ answer }),
    refused: (reason: TransferRefusal) => refused.inc({ reason }),
    unproven: () => unproven.inc(),
    appended: (events: number) => batches.observe(events),
    lostRace: () => races.inc(),
    lag(topic: string, partition: number, records: bigint): void {
      lags.set(partitionKey(topic, partition), { topic, partition, records });
    },
  };
}

function newCounts() {
  return {
    confirmed: 0,
    policies: 0,
    held: new Map<string, number>(),
    mints: new Map<string, number>(),
  };
}

function countOne(counts: Map<string, number>, of: string): void {
  counts.set(of, (counts.get(of) ?? 0) + 1);
}

type QueuedDeposits = Pick<Ledger, 'policy' | 'waiting' | 'waiting_count' | 'live' | 'deposit'>;

interface Queue {
  /** `dust`: waits for a person as `needs_manual` does, and is of less than an amount */
  readonly status: 'confirmed' | 'mint_requested' | 'needs_manual' | 'dust';
  readonly deposits: number;
  /** Unix milliseconds */
  readonly oldest: number | undefined;
  /** micro-USDT; of those that wait for a person */
  readonly amount?: bigint;
}

/** Deposits that wait for a person, since when, and how much arrived for them. */
class Held {
  #deposits = new Map<string, { readonly gross: bigint; readonly since: number }>();
  #amount = 0n;

  get state() {
    return { deposits: this.#deposits, amount: this.#amount };
  }

  restore({ deposits, amount }: Held['state']): void {
    this.#deposits = deposits;
    this.#amount = amount;
  }

  set(id: string, deposit: { readonly gross: bigint; readonly since: number }): void {
    this.delete(id);
    this.#deposits.set(id, deposit);
    this.#amount += deposit.gross;
  }

  delete(id: string): void {
    this.#amount -= this.#deposits.get(id)?.gross ?? 0n;
    this.#deposits.delete(id);
  }

  get queue(): Omit<Queue, 'status'> {
    const [first] = this.#deposits.values();
    return { deposits: this.#deposits.size, oldest: first?.since, amount: this.#amount };
  }
}

type QueueState = QueueMetrics['state'];

/** How many deposits wait, for what, and since when. */
export class QueueMetrics {
  /** deposits that wait for a person, in order, and those of them that are dust */
  readonly #held = new Held();
  readonly #dust = new Held();
  readonly #ledger: () => QueuedDeposits;
  readonly #dustBelow: bigint;

  /** `dust_below`: micro-USDT that arrived; `now`: Unix milliseconds. */
  constructor(
    metrics: Metrics,
    ledger: () => QueuedDeposits,
    dust_below: bigint,
    now: () => number = Date.now,
  ) {
    this.#ledger = ledger;
    this.#dustBelow = dust_below;
    const queues = (): readonly Queue[] => this.#queues();
    metrics.gauge(
      'treasury_queue_deposits',
      'deposits to be minted, requested, or waiting for a person, who looks at dust together',
      ['status'],
      function () {
        for (const { status, deposits } of queues()) this.set({ status }, deposits);
      },
    );
    metrics.gauge(
      'treasury_held_amount',
      'micro-USDT that arrived for those of them that wait for a person',
      ['status'],
      function () {
        for (const { status, amount } of queues())
          if (amount !== undefined) this.set({ status }, Number(amount));
      },
    );
    metrics.gauge(
      'treasury_dust_below',
      'micro-USDT: a deposit of less that waits for a person is dust',
      [],
      function () {
        this.set(Number(dust_below));
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

  get state() {
    return { held: this.#held.state, dust: this.#dust.state };
  }

  restore({ held, dust }: QueueState): void {
    this.#held.restore(held);
    this.#dust.restore(dust);
  }

  /** An event that counts. */
  applied(event: TreasuryEvent): void {
    for (const { type, deposit_id: depositId, decided_at } of depositEventsIn(event)) {
      const deposit = this.#ledger().deposit(depositId);
      if (deposit.status !== 'needs_manual' || deposit.rejected) {
        this.#held.delete(depositId);
        this.#dust.delete(depositId);
      } else if (type === 'DepositHeld') {
        const { gross } = deposit.terms;
        (gross < this.#dustBelow ? this.#dust : this.#held).set(depositId, {
          gross,
          since: decided_at,
        });
      }
    }
  }

  #queues(): readonly Queue[] {
    const { waiting, waiting_count: waitingCount, live } = this.#ledger();
    const [queued] = waiting;
    const [mint] = live.values();
    return [
      { status: 'confirmed', deposits: waitingCount, oldest: queued?.since },
      { status: 'mint_requested', deposits: live.size, oldest: mint?.at },
      { status: 'needs_manual', ...this.#held.queue },
      { status: 'dust', ...this.#dust.queue },
    ];
  }
}
