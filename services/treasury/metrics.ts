/** What the treasury shows on /metrics. */
import type { TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import type { TransferRefusal } from '../../projections/deposits/domain/confirmation.ts';
import type { Metrics } from '../runtime/process/metrics.ts';
import { QueueFigures, type Queued } from './ledger/queue-metrics.ts';

/** What is asked at each scrape. */
export interface Now {
  readonly policy_version: number;
  /** whether the limits in force are those of this process' settings */
  readonly has_own_policy: boolean;
  readonly halted: boolean;
  /** transfers read and not decided */
  readonly waiting: number;
  /** partitions that are held up */
  readonly held_up: number;
  /** deposits that wait to be minted, and mints under way */
  readonly unminted: number;
  readonly live: number;
  /** whether nothing is requested or sent at this moment */
  readonly minting_closed: boolean;
  readonly positions: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly next_offset: bigint;
  }[];
}

export class Figures {
  readonly #confirmed;
  readonly #held;
  readonly #policies;
  readonly #refused;
  readonly #races;
  readonly #batches;
  readonly #lag;
  readonly #mints;
  readonly #broadcasts;
  readonly #queue;

  constructor(metrics: Metrics, now: () => Now, ledger: () => Queued) {
    this.#queue = new QueueFigures(metrics, ledger);
    this.#confirmed = metrics.counter(
      'treasury_deposits_confirmed_total',
      'deposits confirmed in the ledger, from its beginning',
    );
    this.#held = metrics.counter(
      'treasury_deposits_held_total',
      'times that a deposit was held for a person, from the beginning',
      ['reason'],
    );
    this.#policies = metrics.counter(
      'treasury_policies_total',
      'policies set in the ledger, from its beginning',
    );
    this.#mints = metrics.counter(
      'treasury_mints_total',
      'mints requested, and how they ended, from the beginning of the ledger',
      ['event'],
    );
    this.#broadcasts = metrics.counter(
      'treasury_broadcasts_total',
      'mints sent by this process, by what the node answered',
      ['answer'],
    );
    this.#refused = metrics.counter(
      'treasury_transfers_refused_total',
      'transfers read by this process that are no deposits',
      ['reason'],
    );
    this.#races = metrics.counter(
      'treasury_lost_races_total',
      'batches without effect: another treasury wrote first',
    );
    this.#batches = metrics.histogram(
      'treasury_batch_events',
      'events in one append',
      [],
      [1, 2, 5, 10, 50, 100, 500, 1_000, 2_000],
    );
    this.#lag = metrics.gauge(
      'treasury_lag_records',
      'records not read, or of tron.transfers not decided yet',
      ['topic', 'partition'],
    );
    metrics.gauge(
      'treasury_position',
      'first offset not read, or of tron.transfers not decided',
      ['topic', 'partition'],
      function () {
        for (const { topic, partition, next_offset: next } of now().positions)
          this.set({ topic, partition }, Number(next));
      },
    );
    const states: readonly (readonly [string, string, () => number])[] = [
      [
        'treasury_policy_version',
        'version of the limits in force, 0 before the first',
        () => now().policy_version,
      ],
      [
        'treasury_policy_is_own',
        '1 while the limits in force are those of the settings',
        () => Number(now().has_own_policy),
      ],
      ['treasury_halted', '1 while the treasury is halted', () => Number(now().halted)],
      ['treasury_deposits_unminted', 'deposits that wait to be minted', () => now().unminted],
      [
        'treasury_mints_live',
        'mints requested of which no final block tells yet',
        () => now().live,
      ],
      [
        'treasury_minting_closed',
        '1 while nothing is minted: see the log and /ready for why',
        () => Number(now().minting_closed),
      ],
      ['treasury_transfers_waiting', 'transfers read and not decided', () => now().waiting],
      [
        'treasury_partitions_held_up',
        'partitions whose next transfer is to an address of nobody',
        () => now().held_up,
      ],
    ];
    for (const [name, help, value] of states) {
      metrics.gauge(name, help, [], function () {
        this.set(value());
      });
    }
  }

  /** An event that counts. */
  applied(event: TreasuryEvent): void {
    this.#queue.applied(event);
    if (event.type === 'DepositConfirmed') this.#confirmed.inc();
    if (event.type === 'DepositHeld') this.#held.inc({ reason: event.reason });
    if (event.type === 'PolicySet') this.#policies.inc();
    if (event.type === 'MintIntended' || event.type === 'MintCredited' || event.type === 'MintDead')
      this.#mints.inc({ event: event.type });
  }

  /** What the node said to a mint: a word of its own. */
  broadcast(answer: string): void {
    this.#broadcasts.inc({ answer });
  }

  refused(reason: TransferRefusal): void {
    this.#refused.inc({ reason });
  }

  appended(events: number): void {
    this.#batches.observe(events);
  }

  lostRace(): void {
    this.#races.inc();
  }

  lag(topic: string, partition: number, records: bigint): void {
    this.#lag.set({ topic, partition }, Number(records));
  }
}
