/** The logs behind a reconciliation, folded apart from the minter's. */
import { isChainEvent, type ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { HEADER_RULES } from '../../../schemas/chain.blocks/rules.ts';
import { BrokenChain } from '../../../schemas/hash-chain.ts';
import { isReserveEvent } from '../../../schemas/reserve.runs/events.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import { CHAIN_BLOCKS, RESERVE_RUNS, TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { isTreasuryEvent, type TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { Receipts } from '../../../projections/reserve/position.ts';
import { ChainSupply } from '../../../projections/reserve/supply.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { Activity, needsPerson } from '../../runtime/process/health.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { CONFIRMATIONS, endLost } from '../../runtime/kafka/position.ts';
import { untilAborted } from '../../runtime/process/retry.ts';
import { LogFollower, PARTITION, type KeptFold } from '../log-follower.ts';
import { TopicReadings } from '../topic-readings.ts';
import type { NewestRun } from './newest-run.ts';
import { PublishedHeads } from './published-heads.ts';
import type { Snapshots } from '../../runtime/snapshots/snapshots.ts';

export const READING_ENDED = 'reading_ended';
const LOOK_AGAIN_MS = 500;

export interface LogNames {
  readonly chain: string;
  readonly ledger: string;
  readonly runs: string;
}

export const LOG_NAMES: LogNames = {
  chain: CHAIN_BLOCKS.name,
  ledger: TREASURY_LEDGER.name,
  runs: RESERVE_RUNS.name,
};
export const LOG_TOPICS = [CHAIN_BLOCKS, TREASURY_LEDGER, RESERVE_RUNS];

export interface ReserveLogsOptions {
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly newest: NewestRun;
  /** reads the topics, for others too; by default for this alone */
  readonly readings?: TopicReadings | undefined;
  readonly onLag: (topic: string, partition: number, records: bigint) => void;
  readonly snapshots?: Snapshots | undefined;
  /** other names than the declared ones */
  readonly names?: LogNames;
}

export class ReserveLogs {
  readonly ledger = new Ledger();
  readonly receipts = new Receipts();
  readonly supply = new ChainSupply();
  readonly newest: NewestRun;
  readonly names: LogNames;
  readonly #follower: LogFollower;
  readonly #snapshots: Snapshots | undefined;
  readonly #heads: PublishedHeads;
  readonly #activity: Activity;
  #isOnce = false;
  #failure: { readonly error: unknown } | undefined;
  /** events of the chain that break a rule of their fields */
  #brokenOfChain = 0;

  constructor(options: ReserveLogsOptions) {
    this.newest = options.newest;
    this.#snapshots = options.snapshots;
    this.names = options.names ?? LOG_NAMES;
    this.#heads = new PublishedHeads(this.names.ledger);
    this.#activity = new Activity(options);
    this.#activity.enter('reading');
    const retrying: Retrying = (what, attempt) =>
      this.#activity.retrying(what, () => attempt().catch((error: unknown) => this.#thrown(error)));
    const { kafka, codec, log, signal, onLag, snapshots } = options;
    this.#follower = new LogFollower({
      kafka,
      log,
      signal,
      snapshots,
      readings: options.readings ?? new TopicReadings({ kafka, codec, log, signal, retrying }),
      retrying,
      onLag,
      onFailure: (error) => (this.#failure ??= { error }),
    });
  }

  /** Why reading does not go on before a person has acted. */
  get halted(): string | undefined {
    return this.#activity.is_halted ? this.#activity.problem?.message : undefined;
  }

  /** One run on demand waits for no person. */
  #thrown(error: unknown): never {
    if (!this.#isOnce || !(error instanceof Fault) || !needsPerson(error)) throw error;
    throw new Fault(error.code, error.message, { retry: false, cause: error });
  }

  /**
   * Reads until the abort. Throws `LogLost` or a fault without retry for an impossible log; with
   * `isOnce` also where a person has to act first.
   */
  async run(isOnce = false): Promise<void> {
    this.#isOnce = isOnce;
    const { chain, ledger, runs } = this.names;
    const { newest } = this;
    const follower = this.#follower;
    follower.watch([runs, chain, ledger]);
    follower.follow({
      topic: runs,
      isEvent: isReserveEvent,
      ends: () => [newest.end],
      fold: (decoded) => {
        newest.fold(decoded);
        for (const { event } of decoded.events) this.#heads.published(event);
      },
      kept: {
        name: 'runs',
        state: () => ({ newest: newest.state, heads: this.#heads.state }),
        restore: ({ newest: run, heads }) => {
          // the heads are compared with the ledger as it is read: with both from here on, or all
          if (this.#snapshots?.has('reserve') !== true) return false;
          newest.restore(run);
          this.#heads.restore(heads);
          return true;
        },
      } satisfies KeptFold<{ newest: NewestRun['state']; heads: PublishedHeads['state'] }>,
    });
    // then the ledger is held against all of them as it is read
    await follower.catchUp([runs]);
    follower.follow({
      topic: chain,
      isEvent: isChainEvent,
      ends: () => [this.supply.end],
      fold: (decoded) => this.#foldChain(decoded),
      kept: {
        name: 'supply',
        state: () => ({ supply: this.supply.state, broken: this.#brokenOfChain }),
        restore: ({ supply, broken }) => {
          this.supply.restore(supply);
          this.#brokenOfChain = broken;
          return true;
        },
      } satisfies KeptFold<{ supply: ChainSupply['state']; broken: number }>,
    });
    follower.follow({
      topic: ledger,
      isEvent: isTreasuryEvent,
      ends: () => [this.ledger.end],
      fold: (decoded) => this.#foldLedger(decoded),
      kept: {
        name: 'reserve',
        state: () => ({ ledger: this.ledger.state, receipts: this.receipts.state }),
        restore: (state) => {
          this.ledger.restore(state.ledger);
          this.receipts.restore(state.receipts);
          return true;
        },
      } satisfies KeptFold<{ ledger: Ledger['state']; receipts: Receipts['state'] }>,
    });
    await follower.ended();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /**
   * Resolves once this log is folded to its end. Throws `READING_ENDED` when it will not be, and
   * `LogLost` for a ledger that ends before the position of a run.
   */
  async catchUp(which: keyof LogNames): Promise<void> {
    const topic = this.names[which];
    const { signal } = this.#follower;
    const wanted = which === 'ledger' ? this.#heads.furthest : 0n;
    for (let looks = 1; ; looks++) {
      await this.#follower.catchUp([topic]);
      if (signal.aborted)
        throw new Fault(READING_ENDED, `${topic} was not read to its end: the reading has ended`, {
          retry: false,
        });
      if (this.ledger.end >= wanted) return;
      if (looks === CONFIRMATIONS) throw endLost(topic, PARTITION, this.ledger.end, wanted);
      await untilAborted(LOOK_AGAIN_MS, signal);
    }
  }

  /** By topic, the records that break a rule of their fields; the treasury counts the others. */
  get broken(): readonly (readonly [topic: string, records: number])[] {
    return [
      [this.names.runs, this.newest.broken],
      [this.names.chain, this.#brokenOfChain],
    ];
  }

  #foldLedger({ events }: Decoded<TreasuryEvent>): void {
    for (const { event, offset, value_hash: valueHash } of events) {
      const counts = this.ledger.apply(event, offset, valueHash) === 'applied';
      this.#heads.folded(this.ledger);
      if (!counts || event.type !== 'DepositConfirmed') continue;
      // a forged time would make the provider seem behind for ever
      const block_timestamp = Math.min(event.block_timestamp, Date.now());
      this.receipts.add({ ...event, block_timestamp }, offset);
    }
  }

  #foldChain({ events }: Decoded<ChainEvent>): void {
    for (const { event, offset } of events) {
      const verdict = this.supply.apply(event, offset);
      if (verdict === 'ignored' && brokenRule(HEADER_RULES, event) !== undefined)
        this.#brokenOfChain++;
      if (typeof verdict === 'object') throw new BrokenChain(offset, verdict.broken);
    }
  }
}
