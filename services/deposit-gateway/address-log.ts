/**
 * Appends to `deposit.addresses`. Requests that come during an append share the next one.
 *
 * The gateway folds the whole topic in memory, and learns from nothing else whose address is which:
 * the password of the database must not be enough to change that. At the start it reads the topic
 * from offset 0, later only what other gateways have appended.
 *
 * An event names the offset that it is written for, and a request the next derivation index and
 * its address; both count only where they are right. Where another gateway wrote first, the events
 * have no effect and are written again.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AddressBook } from '../../projections/deposits/domain/address-book.ts';
import { bytesKey } from '../../schemas/address.ts';
import type { DepositKey } from '../../schemas/deposit-address.ts';
import {
  depositAddressEventId,
  depositAddressEventKey,
  isDepositAddressEvent,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { hashOfValue, headAfter } from '../../schemas/hash-chain.ts';
import type { Topic } from '../../schemas/topics.ts';
import type { KafkaSettings } from '../runtime/kafka/port.ts';
import { disconnect, openKafka } from '../runtime/kafka/client.ts';
import { openCodec, undecodable, type Codec } from '../runtime/kafka/codec.ts';
import type { RegistrySettings } from '../runtime/kafka/schema-registry.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import { brokersSilent, kafkaFault, type Admin } from '../runtime/kafka/port.ts';
import { LogLost } from '../runtime/kafka/position.ts';
import { readLogEvents } from '../runtime/kafka/log-events.ts';
import type { LogEntry } from '../runtime/kafka/record.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import { restartWith } from '../runtime/process/config.ts';
import { Fault, messageOf } from '../runtime/process/errors.ts';
import { waitingFor, type HealthProblem } from '../runtime/process/health.ts';
import type { Logger } from '../runtime/process/log.ts';
import { retrying, untilAborted } from '../runtime/process/retry.ts';
import {
  NO_SPAN,
  NO_TRACING,
  type Span,
  type Traced,
  type Tracing,
} from '../runtime/process/tracing.ts';

const PARTITION = 0;
/** Requests in one append: each new address takes 0.6 ms, in which nothing else is served. */
const APPEND_MAX = 50;
/** Accounts of which is remembered when they opened their panel. */
const PANELS_MAX = 100_000;
/** Requests that wait for an append; more are refused. */
const PENDING_MAX = 10_000;
/** A longer append is a health problem. */
const SLOW_MS = 5_000;
/** Records are folded so many bytes at a time: a millisecond for each 100 records. */
const FETCH_BYTES = 256 * 1024;
/** A record or the log that a person has to mend. */
const DAMAGED: ReadonlySet<string> = new Set(['log_damaged', 'unreadable_record']);
/** The loser of a race pauses, so that two gateways do not fill the log with void records. */
const YIELD_MS_MIN = 20;
const YIELD_MS_MAX = 200;

/** An account's address, and its derivation index. */
export interface Owned {
  readonly deposit_address: Buffer;
  readonly derivation_index: number;
}

/** The events that are new to the book, each for its place from offset `end` on. */
export function written(
  events: readonly DepositAddressEvent[],
  book: Pick<AddressBook, 'scheme' | 'size' | 'indexOf'>,
  end: bigint,
  key: DepositKey,
): readonly DepositAddressEvent[] {
  const placed: DepositAddressEvent[] = [];
  const requested = new Set<string>();
  for (const event of events) {
    const sequence = Number(end) + placed.length;
    switch (event.type) {
      case 'SchemePinned':
        if (book.scheme === undefined) placed.push({ ...event, sequence });
        break;
      case 'AddressRequested': {
        const account = bytesKey(event.clt_address);
        if (book.indexOf(event.clt_address) !== undefined || requested.has(account)) break;
        const derivation_index = book.size + requested.size;
        const deposit_address = key.addressAt(derivation_index);
        requested.add(account);
        placed.push({ ...event, sequence, derivation_index, deposit_address });
        break;
      }
      case 'PanelOpened':
        placed.push({ ...event, sequence });
    }
  }
  return placed;
}

export interface AddressLogOptions {
  readonly servers: KafkaSettings & RegistrySettings;
  readonly topic: Topic;
  /** derives the addresses */
  readonly key: DepositKey;
  readonly log: Logger;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  readonly signal: AbortSignal;
  /** with the offset behind the last record that is folded, as projections count it */
  readonly onFolded?: ((end: bigint) => void) | undefined;
}

/** Traced: by the request that appends. */
interface Pending extends Traced {
  readonly events: readonly DepositAddressEvent[];
  /** ms of a monotonic clock */
  readonly since: number;
  readonly appended: PromiseWithResolvers<void>;
}

export class AddressLog {
  readonly #options: AddressLogOptions;
  readonly #kafka: ReturnType<typeof openKafka>;
  readonly #writer: KafkaWriter;
  readonly #codec: Promise<Codec>;
  readonly #admin: Admin;
  #pending: Pending[] = [];
  /** since when the oldest request of the append in flight waits; undefined: none is in flight */
  #inFlightSince: number | undefined;
  readonly #book = new AddressBook();
  readonly #openedAt = new LRUCache<string, number>({ max: PANELS_MAX });
  /** the first offset that is not read yet; marks of transactions take offsets, too */
  #next = 0n;
  /** the offset behind the last record that this gateway knows of */
  #end = 0n;
  /** whether the log was read to its end, or to its first damaged record */
  #isOpen = false;
  #reading: Promise<void> | undefined;
  /** why the log is not read or cannot be written to at the moment */
  #fault: Fault | undefined;

  /** Starts to open; appends wait until it has. */
  constructor(options: AddressLogOptions) {
    this.#options = options;
    this.#kafka = openKafka(options.servers, 'deposit-gateway', options.log);
    this.#writer = new KafkaWriter(this.#kafka, options);
    this.#admin = this.#kafka.admin();
    this.#codec = this.#open();
    // appends and `opened` reject with it
    this.#codec.catch(() => undefined);
  }

  /**
   * Resolves once the log is read to its end, or to a damaged record, and the schemas are
   * registered; rejects if never.
   */
  async opened(): Promise<void> {
    await this.#codec;
  }

  /** A log that is not read yet or cannot be read, or an append that takes too long. */
  get problem(): HealthProblem | undefined {
    const { name } = this.#options.topic;
    if (this.#fault !== undefined && (!this.#isOpen || isDamaged(this.#fault)))
      return waitingFor(this.#fault);
    if (!this.#isOpen)
      return {
        status: 'working',
        phase: 'opening',
        message: `${name} is read up to ${this.#next} of ${this.#end} records`,
      };
    if (this.#inFlightSince === undefined) return undefined;
    const waited = performance.now() - this.#inFlightSince;
    if (waited < SLOW_MS) return undefined;
    return waitingFor(brokersSilent(waited, this.#fault ?? this.#writer.fault));
  }

  /** SHA-256 of the key that addresses are derived from; undefined: none is pinned. */
  get fingerprint(): Buffer | undefined {
    return this.#book.scheme?.fingerprint;
  }

  /** The first offset that is not read yet. */
  get end(): bigint {
    return this.#next;
  }

  /** The hash of the last record read (LOG-8). */
  get head(): Buffer {
    return this.#book.head;
  }

  /** When the account last opened its panel, if that is among the newest openings; Unix ms. */
  openedAt(account: Buffer): number | undefined {
    return this.#openedAt.get(bytesKey(account));
  }

  /** The address that the log gives this account, as far as it is read: it never changes. */
  ownedBy(account: Buffer): Owned | undefined {
    const derivation_index = this.#book.indexOf(account);
    const deposit_address = this.#book.addressOf(account);
    return derivation_index === undefined || deposit_address === undefined
      ? undefined
      : { deposit_address, derivation_index };
  }

  /** Reads the log to its present end; concurrent calls share a read. Throws faults. */
  async catchUp(): Promise<void> {
    const codec = await this.#codec;
    // the end that it read to may be older than this call
    await this.#reading;
    this.#reading ??= this.#read(codec).finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  /** Resolves once these events, without their places, count. Throws faults. */
  append(events: readonly DepositAddressEvent[]): Promise<void> {
    if (this.#pending.length >= PENDING_MAX) {
      const message = `${PENDING_MAX} requests wait to be appended: is Kafka up?`;
      return Promise.reject(new Fault('log_busy', message, { retry: true }));
    }
    const { tracing = NO_TRACING } = this.#options;
    const headers = { ...tracing.current.headers };
    const appended = Promise.withResolvers<void>();
    this.#pending.push({ events, headers, since: performance.now(), appended });
    if (this.#inFlightSince === undefined) void this.#flush();
    return appended.promise;
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await disconnect(this.#admin);
  }

  async #open(): Promise<Codec> {
    const { servers, topic, log } = this.#options;
    await this.#retrying('looking for the topic', () => ensureTopics(this.#kafka, [topic]));
    const codec = await this.#retrying('registering the schemas', () =>
      openCodec(servers, { kafka: this.#kafka, log }, [topic]),
    );
    await this.#retrying(`reading ${topic.name}`, () =>
      this.#read(codec).catch((error: unknown) => {
        if (!isDamaged(error)) throw error;
        // addresses of earlier records are shown, and the log is looked at again until it is mended
        this.append([]).catch(() => undefined);
      }),
    );
    this.#isOpen = true;
    return codec;
  }

  #retrying<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const onFault = (fault: Fault | undefined): void => void (this.#fault = fault);
    const { log, signal } = this.#options;
    return retrying({ what, log, signal, onFault }, attempt);
  }

  /** Folds what the log has more than the book. Throws faults; what is folded stays. */
  async #read(codec: Codec): Promise<void> {
    const { name } = this.#options.topic;
    try {
      const ends = await this.#admin.ends(name);
      const high = ends.find(({ partition }) => partition === PARTITION)?.high ?? 0n;
      if (high > this.#end) this.#end = high;
      const range = { topic: name, partition: PARTITION, from: this.#next, to: this.#end };
      await readLogEvents(
        { kafka: this.#kafka, codec },
        { ...range, bytes_max: FETCH_BYTES },
        (event, { offset, value }) => this.#fold(event, offset, value),
        ({ offset }) => (this.#next = offset + 1n),
      );
      if (range.to > this.#next) this.#next = range.to;
      this.#options.onFolded?.(this.#book.end);
    } catch (error) {
      if (isDamaged(error)) throw error;
      if (!(error instanceof LogLost) && (!(error instanceof Fault) || error.retry))
        throw kafkaFault(`${name} was not read`, error);
      throw new Fault(
        'log_damaged',
        `${name} cannot be read on from offset ${this.#next}: ${messageOf(error)}. What to do: restore the topic from that offset on (docs/operations/backup.md); addresses of earlier records are shown, and the gateway goes on by itself once it can read on`,
        // it looks again
        { retry: true, cause: error },
      );
    }
  }

  #fold(event: { readonly type: string }, offset: bigint, value: Buffer | null): void {
    if (!isDepositAddressEvent(event))
      throw undecodable(`${event.type} is no event of ${this.#options.topic.name}`);
    const outcome = this.#book.apply(event, offset, hashOfValue(value));
    if (offset >= this.#next) this.#next = offset + 1n;
    if (event.type === 'PanelOpened' && outcome === 'applied')
      this.#openedAt.set(bytesKey(event.clt_address), event.opened_at);
  }

  async #flush(): Promise<void> {
    const { tracing = NO_TRACING } = this.#options;
    while (this.#pending.length > 0) {
      this.#inFlightSince = this.#pending[0]?.since;
      await this.#codec.catch(() => undefined);
      const batch = this.#pending.splice(0, APPEND_MAX);
      const events = batch.flatMap((each) => each.events);
      const span = tracing.continued('append', batch);
      try {
        await span.run(() => this.#append(events, span));
        span.end();
        for (const { appended } of batch) appended.resolve();
      } catch (error) {
        span.end(error);
        for (const { appended } of batch) appended.reject(error);
      }
    }
    this.#inFlightSince = undefined;
  }

  async #append(events: readonly DepositAddressEvent[], span: Span): Promise<void> {
    const { topic, key, log } = this.#options;
    const codec = await this.#codec;
    const trace = randomBytes(16).toString('hex');
    for (;;) {
      await this.#retrying(`reading ${topic.name}`, () => this.#read(codec));
      const end = this.#next;
      const placed = written(events, this.#book, end, key);
      if (placed.length === 0) return;
      const entries = linkedEntries(codec, placed, this.#book.head, trace, span);
      const offset = await this.#writer.append(topic.name, PARTITION, entries);
      if (offset < end)
        throw new Fault(
          'log_lost',
          `${topic.name} ended at ${offset}, before the ${end} records that this gateway has read. What to do: correct APP_KAFKA_BROKERS (${restartWith('deposit-gateway', 'APP_KAFKA_BROKERS=HOST:PORT')}), or restore the topic, then npx ops restart deposit-gateway`,
          { retry: false },
        );
      if (offset === end) {
        for (const [at, { value }] of entries.entries())
          this.#fold(codec.decode(value), offset + BigInt(at), value);
        this.#options.onFolded?.(this.#book.end);
        return;
      }
      this.#end = offset + BigInt(placed.length);
      log.info(
        { expected: end, got: offset, events: placed.length },
        'another gateway wrote first: writing again',
      );
      await untilAborted(randomInt(YIELD_MS_MIN, YIELD_MS_MAX), this.#options.signal);
    }
  }
}

function isDamaged(error: unknown): boolean {
  return error instanceof Fault && DAMAGED.has(error.code);
}

/** Entries that each name the hash of the record before them; the first one `head`. */
export function linkedEntries(
  codec: Pick<Codec, 'encode' | 'fingerprintOf'>,
  events: readonly DepositAddressEvent[],
  head: Buffer,
  trace_id: string,
  span: Span = NO_SPAN,
): readonly LogEntry[] {
  let previous = head;
  return events.map((event) => {
    const linked: DepositAddressEvent = { ...event, previous };
    const value = codec.encode(linked);
    previous = headAfter(previous, hashOfValue(value));
    return {
      key: depositAddressEventKey(event),
      value,
      headers: {
        event_id: depositAddressEventId(event),
        event_type: event.type,
        schema_fingerprint: codec.fingerprintOf(event.type),
        source: 'deposit-gateway',
        trace_id,
        ...span.headers,
      },
      timestamp: timeOf(event),
    };
  });
}

function timeOf(event: DepositAddressEvent): number {
  switch (event.type) {
    case 'SchemePinned':
      return event.pinned_at;
    case 'AddressRequested':
      return event.requested_at;
    case 'PanelOpened':
      return event.opened_at;
  }
}
