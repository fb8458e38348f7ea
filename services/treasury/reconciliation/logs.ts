/**
 * The logs that a reconciliation is made from, read by itself: what the minter has in memory is not taken for granted. `catchUp` says that everything is folded which
 * stood in a log when it was called.
 */
import type { Kafka } from 'kafkajs';
import { isChainEvent, type ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { isReserveEvent } from '../../../schemas/reserve.runs/events.ts';
import { CHAIN_BLOCKS, RESERVE_RUNS, TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { isTreasuryEvent, type TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { Receipts } from '../../../projections/reserve/receipts.ts';
import { ChainSupply } from '../../../projections/reserve/supply.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { partitionKey, type Position } from '../../runtime/kafka/position.ts';
import { readLogEnds, watchLog } from '../../runtime/kafka/ends.ts';
import type { Logger } from '../../runtime/process/log.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';
import { retrying } from '../../runtime/process/retry.ts';
import { News } from '../news.ts';
import { TopicReader } from '../ledger/topic-reader.ts';
import type { NewestRun } from './newest-run.ts';

const PARTITION = 0;
const WATCH_MS = 1_000;
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
/** Their declarations: for whoever makes sure that they are there, and opens the codec. */
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
  readonly #options: ReserveLogsOptions;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  readonly #news: News;
  readonly #applied = new Map<string, bigint>();
  #lastOfLedger: Buffer | null = null;
  #lastOfChain: Buffer | null = null;
  #failed: { readonly error: unknown } | undefined;

  constructor(options: ReserveLogsOptions) {
    this.#options = options;
    this.newest = options.newest;
    this.names = options.names ?? LOG_NAMES;
    this.#signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    this.#news = new News(this.#signal);
  }

  /** Reads until the signal is aborted. Throws `LogLost` or a fault without retry for a log that cannot be right. */
  async run(): Promise<void> {
    const { kafka, log, newest, onLag } = this.#options;
    const { chain, ledger, runs } = this.names;
    const watching = watchLog({
      kafka,
      topics: [chain, ledger, runs],
      log,
      signal: this.#signal,
      every_ms: WATCH_MS,
      applied: this.#applied,
      onLag,
      onLost: (lost) => this.#fail(lost),
    });
    await Promise.all([
      watching,
      this.#follow(
        chain,
        isChainEvent,
        () => ({ next_offset: this.supply.end, last_record: this.#lastOfChain }),
        (decoded) => this.#foldChain(decoded),
      ),
      this.#follow(
        ledger,
        isTreasuryEvent,
        () => ({ next_offset: this.ledger.end, last_record: this.#lastOfLedger }),
        (decoded) => this.#foldLedger(decoded),
      ),
      this.#follow(
        runs,
        isReserveEvent,
        () => newest.position,
        (decoded) => newest.fold(decoded),
      ),
    ]);
    if (this.#failed !== undefined) throw this.#failed.error;
  }

  /** Resolves once everything is folded that stands in this log now. Throws `READING_ENDED` when that will not be any more. */
  async catchUp(which: keyof LogNames): Promise<void> {
    const { kafka, log } = this.#options;
    const topic = this.names[which];
    const patient = { what: `looking at the end of ${topic}`, log, signal: this.#signal };
    const { high } = await retrying(patient, () => readLogEnds(kafka, topic, PARTITION));
    await this.#news.until(() => this.#end(which) >= high);
    if (this.#signal.aborted)
      throw new Fault(READING_ENDED, `${topic} was not read to its end: the reading has ended`, {
        retry: false,
      });
  }

  #end(which: keyof LogNames): bigint {
    return { chain: this.supply, ledger: this.ledger, runs: this.newest }[which].end;
  }

  async #follow<Event extends { readonly type: string }>(
    topic: string,
    isEvent: (event: { readonly type: string }) => event is Event,
    position: () => Position,
    fold: (decoded: Decoded<Event>) => void,
  ): Promise<void> {
    const { kafka, codec, log } = this.#options;
    const signal = this.#signal;
    const reader = new TopicReader<Event>({
      kafka,
      codec,
      log,
      signal,
      retrying: (what, attempt) => retrying({ what: `${what} (${topic})`, log, signal }, attempt),
      topic,
      isEvent,
      positions: () => new Map([[partitionKey(topic, PARTITION), position()]]),
      fold: (decoded) => {
        fold(decoded);
        this.#applied.set(partitionKey(topic, PARTITION), position().next_offset);
        this.#news.tell();
      },
    });
    try {
      await reader.run();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** What ends the reading of one ends that of all. */
  #fail(error: unknown): void {
    // what was being tried again when the signal came ends with its last fault, which is in the log already
    if (error instanceof Fault && this.#signal.aborted) return;
    this.#failed ??= { error };
    this.#stopping.abort();
  }

  #foldLedger({ events, fingerprints }: Decoded<TreasuryEvent>): void {
    for (const { event, offset } of events) {
      const counts = this.ledger.apply(event, offset) === 'applied';
      if (counts && event.type === 'DepositConfirmed') this.receipts.add(event, offset);
    }
    this.#lastOfLedger = fingerprints.at(-1) ?? this.#lastOfLedger;
  }

  #foldChain({ events, fingerprints }: Decoded<ChainEvent>): void {
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
    this.#lastOfChain = fingerprints.at(-1) ?? this.#lastOfChain;
  }
}
