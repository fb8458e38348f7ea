/** Follows the topics of deposits, decides and mints; halts at an impossible log. */
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import { isDepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import { sameLimits, type Network, type PolicyLimits } from '../../schemas/deposit-policy.ts';
import type { Governed } from '../../projections/deposits/domain/governing.ts';
import { DEPOSIT_ADDRESSES, TREASURY_LEDGER, TRON_TRANSFERS } from '../../schemas/topics.ts';
import { isTreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { isTransferEvent } from '../../schemas/tron.transfers/events.ts';
import type { Codec } from '../runtime/kafka/codec.ts';
import type { Retrying } from '../runtime/kafka/ends.ts';
import { brokersSilent, type Kafka } from '../runtime/kafka/port.ts';
import { ALWAYS_HELD, type Held } from '../runtime/kafka/lease.ts';
import { LogLost } from '../runtime/kafka/position.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import { restartWith } from '../runtime/process/config.ts';
import { Fault } from '../runtime/process/errors.ts';
import {
  Activity,
  waitingFor,
  type HealthProblem,
  type Remarks,
} from '../runtime/process/health.ts';
import type { Logger } from '../runtime/process/log.ts';
import type { Metrics } from '../runtime/process/metrics.ts';
import { NO_TRACING, type Tracing } from '../runtime/process/tracing.ts';
import { aborted } from '../runtime/process/retry.ts';
import { Books } from './ledger/books.ts';
import { contradiction, Decider } from './ledger/decider.ts';
import {
  ledgerWriter,
  type Append,
  type Receiving,
  type TreasuryContext,
} from './ledger/ledger-writer.ts';
import { keptLedger } from './ledger/kept-ledger.ts';
import { capNotes } from './ledger/cap-notes.ts';
import { governedBy, otherInForce, putInForce } from './ledger/opening.ts';
import { TransferLog } from './ledger/transfer-log.ts';
import { DepositTraces } from './ledger/traces.ts';
import { loadingProblem } from './loading.ts';
import { TransferQueue } from './ledger/transfer-queue.ts';
import { keptOf, LogFollower } from './log-follower.ts';
import { openTreasuryMetrics, type TreasuryState } from './metrics.ts';
import { LastCheck } from './minting/last-check.ts';
import { Minting } from './minting/minting.ts';
import { chainTopicOf, type MintingOptions } from './minting/options.ts';
import { BELIEVED, type Proofs } from '../../projections/reserve/position.ts';
import type { OwnAddresses } from './reconciliation/measure.ts';
import { TopicReadings, type SharedReadings } from './topic-readings.ts';
import type { Snapshots } from '../runtime/snapshots/snapshots.ts';

/** Deposit addresses whose owners are checked at the start, which takes almost 1 ms each. */
const OWNERS_CHECKED = 1_000;
/** How long the brokers may be silent about the ends of the logs. */
const SILENCE_MS = 10_000;
const TAKING_OVER: HealthProblem = {
  status: 'working',
  phase: 'taking_over',
  message: 'comparing the settings with the ledger',
};
const RESTORE = `What to do: point APP_KAFKA_BROKERS to the right cluster (${restartWith('treasury', 'APP_KAFKA_BROKERS=HOST:PORT')}), or restore the topic from a replica or a backup (chain.blocks: the chain-ingester writes it again), then npx ops restart treasury; nothing is written meanwhile`;

export interface TopicNames {
  readonly addresses: string;
  readonly transfers: string;
  readonly ledger: string;
}

const TOPIC_NAMES: TopicNames = {
  addresses: DEPOSIT_ADDRESSES.name,
  transfers: TRON_TRANSFERS.name,
  ledger: TREASURY_LEDGER.name,
};

export interface TreasuryOptions extends Receiving {
  readonly kafka: Kafka;
  readonly codec: Codec;
  /** reads the topics, for others too; by default for this treasury alone */
  readonly readings?: SharedReadings;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  readonly signal: AbortSignal;
  readonly network: Network;
  readonly limits: PolicyLimits;
  /** addresses of the operators' keys; when empty, decisions count without signatures */
  readonly operators?: readonly Buffer[];
  /** micro-USDT: a credit above it, and what loosens, needs two operators; 0: nothing does */
  readonly two_operators_above?: bigint;
  /** micro-USDT: deposits of less are counted apart; 0: none is */
  readonly dust_below?: bigint;
  /** other names than the declared ones */
  readonly topics?: TopicNames;
  /** when missing, transfers become deposits and nothing is minted */
  readonly minting?: MintingOptions;
  /** by default this is the only treasury */
  readonly lease?: Held;
  /** by default each start reads the logs from their beginning */
  readonly snapshots?: Snapshots;
}

export class Treasury {
  readonly #options: TreasuryOptions;
  readonly #topics: TopicNames;
  readonly #follower: LogFollower;
  readonly #activity: Activity;
  readonly #books: Books;
  readonly #context: TreasuryContext;
  readonly #transfers: TransferLog;
  readonly #last = new LastCheck();
  /** undefined until the ledger is read */
  #queue: TransferQueue | undefined;
  #minting: Minting | undefined;
  #bug: { readonly error: unknown } | undefined;
  /** everything that mints depend on was read once */
  #isRead = false;
  /** in which the settings were compared with the ledger */
  #term = 0;
  /** records that break a rule, when the ledger was read to its end first */
  #brokenBefore = 0;

  constructor(options: TreasuryOptions) {
    const { kafka, codec, log, lease = ALWAYS_HELD, tracing = NO_TRACING } = options;
    const traces = new DepositTraces(tracing);
    this.#options = options;
    this.#topics = options.topics ?? TOPIC_NAMES;
    const retrying: Retrying = (what, attempt) => this.#activity.retrying(what, attempt);
    this.#follower = new LogFollower({
      kafka,
      log,
      signal: options.signal,
      snapshots: options.snapshots,
      readings:
        options.readings?.readings ??
        new TopicReadings({ kafka, codec, log, signal: options.signal, retrying }),
      retrying,
      onRecord: (event, headers) => traces.note(event, headers),
      onLag: (topic, partition, records) => {
        this.#activity.heard();
        metrics.lag(topic, partition, records);
      },
      onFailure: (error) => this.#failed(error),
    });
    const { signal, changes } = this.#follower;
    this.#activity = new Activity({
      log,
      signal,
      silence_ms: SILENCE_MS,
      silent: (ms) => waitingFor(brokersSilent(ms, this.#follower.looked)),
    });
    const metrics = openTreasuryMetrics(
      options.metrics,
      () => this.#state(),
      () => this.#books.ledger,
      options.dust_below ?? 0n,
    );
    this.#books = new Books(options.deposit_key, (event) => {
      this.#last.apply(event);
      metrics.applied(event);
    });
    this.#transfers = new TransferLog({ kafka, codec, topic: this.#topics.transfers });
    this.#context = { books: this.#books, changes, metrics, traces, lease, log, signal };
  }

  /** A standby follows the logs, so that it can take over at once, and does nothing else. */
  get #works(): boolean {
    const { lease } = this.#context;
    return lease.is_held && lease.term === this.#term && !this.#isHalted;
  }

  get #isHalted(): boolean {
    return this.#activity.is_halted || this.#options.readings?.activity.is_halted === true;
  }

  /** Why the treasury is not ready, and what to do. */
  get problem(): HealthProblem | undefined {
    const held = this.#activity.problem ?? this.#options.readings?.activity.problem;
    if (held !== undefined && held.status !== 'working') return held;
    const problem = this.#loading ?? this.#otherInForce;
    if (problem !== undefined || !this.#context.lease.is_held) return problem;
    return this.#works ? (this.#heldUp ?? this.#minting?.problem) : TAKING_OVER;
  }

  /** Alarms and notes of a treasury that is ready. */
  get remarks(): Remarks {
    const closed = this.#works ? this.#minting?.closed : undefined;
    const { now = Date.now } = this.#options.minting ?? {};
    const broken = this.#brokenSinceStart;
    return {
      alarms: closed === undefined ? [] : [`minting is closed: ${closed}`],
      notes: [
        ...(this.#works ? capNotes(this.#books.ledger, now()) : []),
        ...(broken === 0
          ? []
          : [
              `records that break a rule of their fields, and have no effect, since the start: ${broken}. What to do: find out who writes to the log; \`ops audit\` names them`,
            ]),
      ],
    };
  }

  get #brokenSinceStart(): number {
    return this.#broken.reduce((sum, [, count]) => sum + count, 0) - this.#brokenBefore;
  }

  /** By topic, the records read that break a rule of their fields. */
  get #broken(): readonly (readonly [topic: string, records: number])[] {
    const { ledger } = this.#books;
    return [
      [TREASURY_LEDGER.name, ledger.broken.length],
      [DEPOSIT_ADDRESSES.name, ledger.addresses.broken],
    ];
  }

  get #loading(): HealthProblem | undefined {
    if (this.#isRead) return undefined;
    const { ledger, addresses } = this.#topics;
    const reading = this.#follower.reading([ledger, addresses, ...this.#chainTopics]);
    return loadingProblem(reading, this.#options.snapshots?.unfit);
  }

  /** The topics of minting; none where nothing is minted. */
  get #chainTopics(): readonly string[] {
    const { minting } = this.#options;
    return minting === undefined ? [] : [chainTopicOf(minting)];
  }

  get #otherInForce(): HealthProblem | undefined {
    const why = this.#minting && this.#whyOtherInForce();
    if (why === undefined) return undefined;
    return { status: 'halted', phase: 'minting', message: `minting halted: ${why}` };
  }

  /** Why nothing is minted while operators have put other settings in force than ours. */
  #whyOtherInForce(): string | undefined {
    const { network } = this.#options;
    return otherInForce(this.#books.ledger, { network, governed: this.#governed });
  }

  get #heldUp(): HealthProblem | undefined {
    const heldUp = this.#queue?.held_up ?? [];
    return heldUp.length === 0 ? undefined : { status: 'waiting', message: heldUp.join('; ') };
  }

  /** For reserve runs: what this treasury has proven. Before it mints, the ledger is believed. */
  get proofs(): Proofs {
    return this.#minting?.proofs ?? BELIEVED;
  }

  /** For reserve runs. A halted treasury, which mints nothing, knows no newer addresses. */
  get own_addresses(): OwnAddresses {
    const { signal } = this.#follower;
    return {
      catchUp: () => this.#follower.catchUp([this.#topics.addresses]),
      has: ({ address, owners }) => signal.aborted || this.#books.isOurs(address, owners),
    };
  }

  /** Runs until the signal is aborted, halted or not. Throws bugs. */
  async run(): Promise<void> {
    const { kafka, log } = this.#options;
    const writer = new KafkaWriter(kafka, { log, signal: this.#follower.signal });
    void this.#wakeAtLease();
    try {
      await this.#work(writer);
    } catch (error) {
      this.#follower.fail(error);
    } finally {
      await this.#follower.stop();
      await writer.close();
      this.#activity.enter({ status: 'working', phase: 'stopped', message: 'stopped' });
    }
    if (this.#bug !== undefined) throw this.#bug.error;
    await aborted(this.#options.signal);
  }

  async #work(writer: KafkaWriter): Promise<void> {
    const { books, signal, changes, metrics, lease, log } = this.#context;
    const { codec, minting, network, limits } = this.#options;
    const append = ledgerWriter(this.#context, codec, writer, this.#topics.ledger, minting?.signer);
    const catchUp = (): Promise<void> => this.#catchUp();
    const decider = new Decider({
      books,
      changes,
      metrics,
      log,
      signal,
      receiving: this.#options,
      append,
      catchUp,
    });
    await this.#readBooks();
    if (signal.aborted) return;
    this.#mint(append);
    this.#follower.run(this.#catchUp(...this.#chainTopics).then(() => void (this.#isRead = true)));
    const queue = await this.#readTransfers(decider);
    this.#activity.enter('deciding');
    const { deposits, policy } = this.#books.ledger;
    this.#options.log.info({ deposits: deposits.size, policy: policy?.version }, 'deciding');
    while (!signal.aborted) {
      const { next: change } = changes;
      if (this.#isHalted) {
        // at a record that a person has to skip: the records after it are not known
        this.#context.lease.yield();
        await change;
        continue;
      }
      if (!this.#works) {
        await this.#standBy(decider, queue);
        const { term } = this.#context.lease;
        const governed = this.#governed;
        const opening = { books, lease, log, signal, network, limits, governed, append, catchUp };
        const inForce = this.#activity.retrying('opening', () => putInForce(opening));
        if (await inForce) this.#term = term;
        changes.notify();
        continue;
      }
      const { next } = changes;
      const acted = await this.#activity.retrying('deciding', async () => {
        if (!this.#works) return true;
        const decided = await decider.round(queue);
        return ((await this.#minting?.round()) ?? false) || decided;
      });
      if (this.#otherInForce !== undefined || this.#minting?.is_halted === true)
        this.#context.lease.yield();
      this.#follower.noteApplied();
      if (!acted) await next;
    }
  }

  /** Until the lease is held, or the treasury stops. */
  async #standBy(decider: Decider, queue: TransferQueue): Promise<void> {
    const { changes, lease, signal } = this.#context;
    while (!lease.is_held && !signal.aborted) {
      const { next } = changes;
      await decider.follow(queue);
      await next;
    }
  }

  /** The lease may be lost and gained again while no record comes. */
  async #wakeAtLease(): Promise<void> {
    const { changes, lease } = this.#context;
    for (;;) {
      await lease.changed;
      changes.notify();
    }
  }

  get #governed(): Governed | undefined {
    return this.#options.minting && governedBy(this.#options);
  }

  async #readBooks(): Promise<void> {
    const { addresses, ledger } = this.#topics;
    const { books, metrics, traces } = this.#context;
    this.#follower.watch([...Object.values(this.#topics), ...this.#chainTopics]);
    this.#activity.enter(loadingProblem());
    this.#follower.follow({
      topic: ledger,
      isEvent: isTreasuryEvent,
      ends: () => [books.ledger.end],
      fold: (decoded) => books.foldLedger(decoded),
      kept: keptLedger({ books, last: this.#last, metrics, traces }),
    });
    this.#follower.follow({
      topic: addresses,
      isEvent: isDepositAddressEvent,
      ends: () => [books.ledger.addresses.end],
      fold: (decoded) => books.foldAddresses(decoded),
      kept: keptOf('addresses', books.ledger.addresses),
    });
    await this.#catchUp();
    this.#brokenBefore = this.#broken.reduce((sum, [, count]) => sum + count, 0);
    if (this.#context.signal.aborted) return;
    const stranger = books.strangerAmong(OWNERS_CHECKED);
    if (stranger !== undefined) throw contradiction(stranger);
  }

  /** Follows the chain, and broadcasts in the background the mints that the rounds request. */
  #mint(append: Append): void {
    const { minting: options } = this.#options;
    if (options === undefined) return;
    const allowed = (): string | undefined =>
      this.#works ? (this.#whyOtherInForce() ?? options.allowed()) : 'another instance works';
    const minting = new Minting(options, {
      treasury: this.#context,
      receiving: this.#options,
      network: this.#options.network,
      limits: this.#options.limits,
      last: this.#last,
      transfers: this.#transfers,
      allowed,
      append,
      catchUp: () => this.#catchUp(minting.topic),
    });
    this.#minting = minting;
    const { topic, chain } = minting;
    this.#follower.follow({
      topic,
      isEvent: isChainEvent,
      ends: () => [chain.end],
      fold: (decoded) => chain.fold(decoded),
      kept: keptOf('mints', chain),
    });
    this.#follower.run(minting.run());
    this.#follower.run(this.#keepSnapshots(minting));
  }

  /** Writes snapshots while nothing else is to be done. */
  async #keepSnapshots(minting: Minting): Promise<void> {
    const { signal, changes } = this.#context;
    const { snapshots } = this.#options;
    while (!signal.aborted) {
      const { next } = changes;
      if (this.#works && minting.is_caught_up && snapshots?.is_due === true)
        await snapshots.write(signal);
      await next;
    }
  }

  /**
   * From offset 0, and not from the newest deposit: a stranger may have confirmed a transfer before
   * those in front of it were decided.
   */
  async #readTransfers(decider: Decider): Promise<TransferQueue> {
    const { transfers } = this.#topics;
    const { partitions } = TRON_TRANSFERS;
    const newest = Array.from({ length: partitions }, (_, at) => this.#books.newestIn(at));
    const found = await this.#activity.retrying('looking where transfers were decided', () =>
      this.#transfers.newestDecided(newest),
    );
    if ('lost' in found) throw found.lost;
    const queue = new TransferQueue(transfers, found.decided);
    this.#follower.follow({
      topic: transfers,
      isEvent: isTransferEvent,
      ends: () => queue.decided,
      positions: () => queue.positions,
      room: () => this.#context.changes.until(() => queue.has_room),
      fold: (decoded) => {
        queue.put(decoded);
        decider.skipDecided(queue);
      },
      kept: keptOf('transfers', queue),
    });
    this.#queue = queue;
    this.#follower.noteApplied();
    return queue;
  }

  /** Resolves once the ledger, the addresses and these logs are read to their ends. */
  #catchUp(...more: readonly string[]): Promise<void> {
    const { addresses, ledger } = this.#topics;
    return this.#follower.catchUp([ledger, addresses, ...more]);
  }

  /** An impossible log and a fault without retry halt the treasury; any other error is a bug. */
  #failed(error: unknown): void {
    if (error instanceof LogLost) this.#halt(`${error.message}. ${RESTORE}`);
    else if (error instanceof Fault && !error.retry) this.#halt(error.message);
    else this.#bug ??= { error };
  }

  #halt(reason: string): void {
    if (this.#activity.is_halted) return;
    this.#activity.halt(reason);
    this.#options.log.error({ reason }, 'treasury halted');
    this.#context.lease.yield();
  }

  #state(): TreasuryState {
    const { policy } = this.#books.ledger;
    return {
      has_own_policy: policy !== undefined && sameLimits(policy, this.#options.limits),
      halted: this.#isHalted,
      has_lease: this.#context.lease.is_held,
      waiting: this.#queue?.waiting ?? 0,
      held_up: this.#queue?.held_up.length ?? 0,
      minting_closed: this.#works && this.#minting?.closed !== undefined,
      forged: this.#minting?.chain.forged !== undefined,
      nodes_disagree: this.#minting?.second?.disagrees ?? false,
      agreed_height: this.#minting?.second?.agreed_height ?? -1,
      snapshot_at: this.#works ? this.#options.snapshots?.written_at : undefined,
      applied: this.#follower.applied,
      broken: this.#broken,
    };
  }
}
