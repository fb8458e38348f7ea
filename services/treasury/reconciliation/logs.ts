/** The logs behind a reconciliation, read independently of the minter's. */
import type { Kafka } from 'kafkajs';
import { isChainEvent, type ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { isReserveEvent } from '../../../schemas/reserve.runs/events.ts';
import { CHAIN_BLOCKS, RESERVE_RUNS, TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { isTreasuryEvent, type TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { Receipts } from '../../../projections/reserve/position.ts';
import { ChainSupply } from '../../../projections/reserve/supply.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { retrying } from '../../runtime/process/retry.ts';
import { LogFollower } from '../log-follower.ts';
import type { NewestRun } from './newest-run.ts';

export const READING_ENDED = 'reading_ended';

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
  readonly onLag: (topic: string, partition: number, records: bigint) => void;
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
  #failure: { readonly error: unknown } | undefined;

  constructor(options: ReserveLogsOptions) {
    this.newest = options.newest;
    this.names = options.names ?? LOG_NAMES;
    const { log } = options;
    this.#follower = new LogFollower({
      ...options,
      retrying: (what, attempt) => retrying({ what, log, signal: this.#follower.signal }, attempt),
      onFailure: (error) => {
        this.#failure ??= { error };
      },
    });
  }

  /** Reads until the abort. Throws `LogLost` or a fault without retry for an impossible log. */
  async run(): Promise<void> {
    const { chain, ledger, runs } = this.names;
    const { newest } = this;
    const follower = this.#follower;
    follower.watch([chain, ledger, runs]);
    follower.follow({
      topic: chain,
      isEvent: isChainEvent,
      ends: () => [this.supply.end],
      fold: (decoded) => this.#foldChain(decoded),
    });
    follower.follow({
      topic: ledger,
      isEvent: isTreasuryEvent,
      ends: () => [this.ledger.end],
      fold: (decoded) => this.#foldLedger(decoded),
    });
    follower.follow({
      topic: runs,
      isEvent: isReserveEvent,
      ends: () => [newest.end],
      fold: (decoded) => newest.fold(decoded),
    });
    await follower.ended();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Resolves once this log is folded to its end. Throws `READING_ENDED` when it will not be. */
  async catchUp(which: keyof LogNames): Promise<void> {
    const topic = this.names[which];
    await this.#follower.catchUp([topic]);
    if (this.#follower.signal.aborted)
      throw new Fault(READING_ENDED, `${topic} was not read to its end: the reading has ended`, {
        retry: false,
      });
  }

  #foldLedger({ events }: Decoded<TreasuryEvent>): void {
    for (const { event, offset } of events) {
      const counts = this.ledger.apply(event, offset) === 'applied';
      if (counts && event.type === 'DepositConfirmed') this.receipts.add(event, offset);
    }
  }

  #foldChain({ events }: Decoded<ChainEvent>): void {
    for (const { event, offset } of events) {
      const verdict = this.supply.apply(event, offset);
      if (typeof verdict !== 'object') continue;
      const remedy =
        'What to do: restore the topic, then start the treasury again; no reconciliation is made meanwhile';
      throw new Fault(
        'log_damaged',
        `${this.names.chain} is damaged: ${verdict.broken}. ${remedy}`,
        { retry: false },
      );
    }
  }
}
