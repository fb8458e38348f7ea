/** Follows the three topics and decides, until it is told to stop; halts where a log cannot be right. */
import type { Kafka } from 'kafkajs';
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import { isDepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import { sameLimits, type Network } from '../../schemas/deposit-policy.ts';
import { DEPOSIT_ADDRESSES, TREASURY_LEDGER, TRON_TRANSFERS } from '../../schemas/topics.ts';
import { isTreasuryEvent, type PolicyLimits } from '../../schemas/treasury.ledger/events.ts';
import { isTransferEvent, type TransferEvent } from '../../schemas/tron.transfers/events.ts';
import type { Codec } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import { Activity, type HealthProblem } from '../runtime/process/health.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import { LogLost, partitionKey } from '../runtime/kafka/position.ts';
import { readLogEnds, watchLog } from '../runtime/kafka/ends.ts';
import type { Logger } from '../runtime/process/log.ts';
import type { Metrics } from '../runtime/process/metrics.ts';
import { aborted } from '../runtime/process/retry.ts';
import { Books } from './ledger/books.ts';
import { contradiction, Decider } from './ledger/decider.ts';
import { Figures, type Now } from './metrics.ts';
import { LedgerWriter } from './ledger/ledger-writer.ts';
import { chainTopicOf, Minting, type MintingOptions } from './minting/minting.ts';
import { News } from './news.ts';
import { TopicReader, type TopicReaderOptions } from './ledger/topic-reader.ts';
import { TransferQueue } from './ledger/transfer-queue.ts';

const PARTITION = 0;
/** Of so many deposit addresses it is looked at whether they still are whose they were when the ledger was written: deriving one takes most of a millisecond. */
const OWNERS_CHECKED = 1_000;
/** For how long the brokers may leave open where the logs end. */
const SILENCE_MS = 10_000;
const RESTORE =
  'What to do: point APP_KAFKA_BROKERS to the right cluster, or restore the topic from a replica or a backup, then start the treasury again; nothing is written meanwhile';

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

export interface TreasuryOptions {
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly network: Network;
  readonly limits: PolicyLimits;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  /** other names than the declared ones */
  readonly topics?: TopicNames;
  /** without, transfers become deposits and nothing is minted */
  readonly minting?: MintingOptions;
}

export class Treasury {
  readonly #options: TreasuryOptions;
  readonly #topics: TopicNames;
  readonly #stopping = new AbortController();
  /** the caller's, or our own once there is nothing left to do */
  readonly #signal: AbortSignal;
  readonly #news: News;
  readonly #activity: Activity;
  readonly #figures: Figures;
  readonly #books: Books;
  /** once the ledger says where it begins */
  #queue: TransferQueue | undefined;
  #minting: Minting | undefined;
  readonly #following: Promise<void>[] = [];
  /** as `#places`, by `partitionKey` */
  readonly #applied = new Map<string, bigint>();
  #bug: { readonly error: unknown } | undefined;

  constructor(options: TreasuryOptions) {
    this.#options = options;
    this.#topics = options.topics ?? TOPIC_NAMES;
    this.#signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    this.#activity = new Activity({
      log: options.log,
      signal: this.#signal,
      silence_ms: SILENCE_MS,
      silent: (ms) => ({
        status: 'waiting',
        waits_for: 'kafka',
        message: `waiting: the brokers have not told where the logs end for ${ms} ms`,
      }),
    });
    this.#news = new News(this.#signal);
    this.#figures = new Figures(
      options.metrics,
      () => this.#now(),
      () => this.#books.ledger,
    );
    this.#books = new Books((event) => this.#figures.applied(event));
  }

  /** What is wrong and what to do; undefined when nothing is. */
  get problem(): HealthProblem | undefined {
    return this.#activity.problem ?? this.#heldUp ?? this.#minting?.problem;
  }

  get #heldUp(): HealthProblem | undefined {
    const heldUp = this.#queue?.heldUp ?? [];
    return heldUp.length === 0 ? undefined : { status: 'waiting', message: heldUp.join('; ') };
  }

  /** Runs until the signal is aborted; halted, it waits for that. Throws what nobody foresaw. */
  async run(): Promise<void> {
    const { kafka, log } = this.#options;
    const writer = new KafkaWriter(kafka, { log, signal: this.#signal });
    try {
      await this.#work(writer);
    } catch (error) {
      this.#end(error);
    } finally {
      this.#stopping.abort();
      await Promise.all(this.#following);
      await writer.close();
      this.#activity.enter({ status: 'working', phase: 'stopped', message: 'stopped' });
    }
    if (this.#bug !== undefined) throw this.#bug.error;
    await aborted(this.#options.signal);
  }

  async #work(writer: KafkaWriter): Promise<void> {
    const { ledger: ledger_topic } = this.#topics;
    const own = {
      books: this.#books,
      news: this.#news,
      figures: this.#figures,
      signal: this.#signal,
    };
    const appender = new LedgerWriter({ ...this.#options, ...own, writer, ledger_topic });
    const decider = new Decider({
      ...this.#options,
      ...own,
      appender,
      catchUp: () => this.#catchUp(),
    });
    await this.#readBooks();
    await decider.setPolicy();
    if (this.#signal.aborted) return;
    this.#mint(appender);
    const { queue, reader } = this.#readTransfers();
    this.#activity.enter('deciding');
    this.#options.log.info(
      { deposits: this.#books.ledger.deposits.size, policy: this.#books.ledger.policy?.version },
      'deciding',
    );
    while (!this.#signal.aborted) {
      const { next } = this.#news;
      const decided = await decider.round(queue);
      const minted = (await this.#minting?.round()) ?? false;
      this.#noteApplied();
      // not left to the reader: it may be waiting for a next record, which need not come
      if (queue.reclaim()) reader.rewind();
      if (!decided && !minted) await next;
    }
  }

  async #readBooks(): Promise<void> {
    const { addresses, ledger } = this.#topics;
    const books = this.#books;
    this.#watch();
    this.#activity.enter({
      status: 'working',
      phase: 'loading',
      message: 'reading the ledger and the addresses',
    });
    this.#follow({
      topic: ledger,
      isEvent: isTreasuryEvent,
      positions: () => new Map([[partitionKey(ledger, PARTITION), books.ledgerPosition]]),
      fold: (decoded) => books.foldLedger(decoded),
    });
    this.#follow({
      topic: addresses,
      isEvent: isDepositAddressEvent,
      positions: () => new Map([[partitionKey(addresses, PARTITION), books.addressesPosition]]),
      fold: (decoded) => books.foldAddresses(decoded),
    });
    await this.#catchUp();
    const stranger = this.#signal.aborted ? undefined : books.strangerAmong(OWNERS_CHECKED);
    if (stranger !== undefined) throw contradiction(stranger);
  }

  /** Follows the chain, and mints in the background what the rounds request. */
  #mint(appender: LedgerWriter): void {
    const { minting: options, log } = this.#options;
    if (options === undefined) return;
    const own = {
      books: this.#books,
      news: this.#news,
      figures: this.#figures,
      log,
      signal: this.#signal,
    };
    const minting = new Minting(options, { ...own, appender, catchUp: () => this.#catchUp(true) });
    this.#minting = minting;
    const { topic } = minting;
    this.#follow({
      topic,
      isEvent: isChainEvent,
      positions: () => new Map([[partitionKey(topic, PARTITION), minting.chain.position]]),
      fold: (decoded) => minting.chain.fold(decoded),
    });
    this.#following.push(minting.run().catch((error: unknown) => this.#end(error)));
  }

  #readTransfers(): { readonly queue: TransferQueue; readonly reader: TopicReader<TransferEvent> } {
    const { transfers } = this.#topics;
    const queue = new TransferQueue(transfers, TRON_TRANSFERS.partitions, (partition) =>
      this.#books.furthestIn(partition),
    );
    const reader = this.#follow({
      topic: transfers,
      isEvent: isTransferEvent,
      positions: () => queue.positions,
      room: () => this.#news.until(() => queue.hasRoom),
      fold: (decoded) => queue.put(decoded),
    });
    this.#queue = queue;
    this.#noteApplied();
    return { queue, reader };
  }

  /** Reads a topic in the background, and tells the news. */
  #follow<Event extends { readonly type: string }>(
    how: Pick<TopicReaderOptions<Event>, 'topic' | 'isEvent' | 'positions' | 'room' | 'fold'>,
  ): TopicReader<Event> {
    const { kafka, codec, log } = this.#options;
    const reader = new TopicReader<Event>({
      kafka,
      codec,
      log,
      signal: this.#signal,
      retrying: (what, attempt) => this.#activity.retrying(`${what} (${how.topic})`, attempt),
      ...how,
      fold: (decoded) => {
        how.fold(decoded);
        this.#noteApplied();
        this.#news.tell();
      },
    });
    this.#following.push(reader.run().catch((error: unknown) => this.#end(error)));
    return reader;
  }

  #watch(): void {
    const { kafka, log } = this.#options;
    const watching = watchLog({
      kafka,
      topics: [
        ...Object.values(this.#topics),
        ...(this.#options.minting === undefined ? [] : [chainTopicOf(this.#options.minting)]),
      ],
      log,
      signal: this.#signal,
      every_ms: 1_000,
      applied: this.#applied,
      onLag: (topic, partition, records) => {
        this.#activity.heard();
        this.#figures.lag(topic, partition, records);
      },
      onLost: (lost) => this.#end(lost),
    });
    this.#following.push(watching);
  }

  async #catchUp(withChain = false): Promise<void> {
    const { kafka } = this.#options;
    const { addresses, ledger } = this.#topics;
    const chain = this.#minting;
    const ends = await this.#activity.retrying('looking at the ends of the logs', () =>
      Promise.all([
        readLogEnds(kafka, ledger, PARTITION),
        readLogEnds(kafka, addresses, PARTITION),
        withChain && chain !== undefined ? readLogEnds(kafka, chain.topic, PARTITION) : undefined,
      ]),
    );
    const books = this.#books.ledger;
    await this.#news.until(
      () =>
        books.end >= ends[0].high &&
        books.addresses.end >= ends[1].high &&
        (chain?.chain.sender.end ?? 0n) >= (ends[2]?.high ?? 0n),
    );
  }

  /** What ends one part of the work ends the whole: a log that cannot be right, what no retry can mend, a bug. */
  #end(error: unknown): void {
    // what was being tried again when the signal came ends with its last fault, which is in the log already
    if (error instanceof Fault && this.#signal.aborted) return;
    if (error instanceof LogLost) this.#halt(`${error.message}. ${RESTORE}`);
    else if (error instanceof Fault && !error.retry) this.#halt(error.message);
    else this.#bug ??= { error };
    this.#stopping.abort();
  }

  #halt(reason: string): void {
    if (this.#activity.isHalted) return;
    this.#activity.halt(reason);
    this.#options.log.error({ reason }, 'treasury halted');
  }

  #now(): Now {
    const { policy } = this.#books.ledger;
    return {
      policy_version: policy?.version ?? 0,
      has_own_policy: policy !== undefined && sameLimits(policy, this.#options.limits),
      halted: this.#activity.isHalted,
      waiting: this.#queue?.waiting ?? 0,
      held_up: this.#queue?.heldUp.length ?? 0,
      unminted: this.#books.ledger.waitingCount,
      live: this.#books.ledger.live.size,
      minting_closed: this.#minting?.closed !== undefined,
      positions: this.#places(),
    };
  }

  #noteApplied(): void {
    for (const { topic, partition, next_offset: next } of this.#places())
      this.#applied.set(partitionKey(topic, partition), next);
  }

  /** First offsets not folded, of `tron.transfers` not decided. */
  #places(): Now['positions'] {
    const { addresses, ledger, transfers } = this.#topics;
    const decided = this.#queue?.decided ?? [];
    return [
      { topic: ledger, partition: PARTITION, next_offset: this.#books.ledger.end },
      { topic: addresses, partition: PARTITION, next_offset: this.#books.ledger.addresses.end },
      ...(this.#minting === undefined
        ? []
        : [
            {
              topic: this.#minting.topic,
              partition: PARTITION,
              next_offset: this.#minting.chain.sender.end,
            },
          ]),
      ...decided.map((next_offset, partition) => ({ topic: transfers, partition, next_offset })),
    ];
  }
}
