/**
 * Appends to `deposit.addresses`. Requests that come during an append share the next one.
 *
 * An event names the offset that it is written for, and a request the next derivation index and its
 * address; both count only where they are right. The gateway learns them from the read model, once
 * that has folded the whole log. Where another gateway still wrote first, the events have no effect
 * and are written again.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { addressBook } from '../../projections/deposits/queries.ts';
import { bytesKey } from '../../schemas/address.ts';
import type { DepositKey } from '../../schemas/deposit-address.ts';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import { hashOfValue, headAfter, NO_RECORDS } from '../../schemas/hash-chain.ts';
import type { Topic } from '../../schemas/topics.ts';
import type { KafkaOptions } from '../runtime/process/kafka-settings.ts';
import { disconnect, openKafka } from '../runtime/kafka/client.ts';
import { openCodec, type Codec } from '../runtime/kafka/codec.ts';
import { readTopicEnds } from '../runtime/kafka/ends.ts';
import type { RegistrySettings } from '../runtime/kafka/schema-registry.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import type { Admin } from '../runtime/kafka/port.ts';
import type { LogEntry } from '../runtime/kafka/record.ts';
import { KafkaWriter } from '../runtime/kafka/writer.ts';
import { byteaBytes } from '../runtime/postgres/cells.ts';
import type { Reader } from '../runtime/postgres/pool.ts';
import { Fault } from '../runtime/process/errors.ts';
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
/** Requests that wait for an append; more are refused. */
const PENDING_MAX = 10_000;
/** A longer append is a health problem. */
const SLOW_MS = 5_000;
/** The read model is read this often while it is behind. */
const POLL_MS = 20;
/** The loser of a race pauses, so that two gateways do not fill the log with void records. */
const YIELD_MS_MIN = 20;
const YIELD_MS_MAX = 200;

/** `deposit.addresses` as far as the read model has folded it. */
export interface FoldedBook {
  /** the offset behind the last record folded */
  readonly end: bigint;
  /** the hash of the last record of the chain (LOG-8) */
  readonly head: Buffer;
  /** SHA-256 of the key that addresses are derived from; undefined: none is pinned */
  readonly fingerprint: Buffer | undefined;
  /** their number, which is the next derivation index */
  readonly addresses: number;
  /** those of the accounts asked for that have an address, as `bytesKey` gives them */
  readonly known: ReadonlySet<string>;
}

export async function readBook(
  reader: Reader,
  accounts: readonly Buffer[] = [],
): Promise<FoldedBook> {
  const rows = await reader.rows(addressBook(accounts));
  const [[end, head, fingerprint, addresses] = []] = rows;
  return {
    end: BigInt(end ?? '0'),
    head: typeof head === 'string' ? byteaBytes(head) : NO_RECORDS,
    fingerprint: typeof fingerprint === 'string' ? byteaBytes(fingerprint) : undefined,
    addresses: Number(addresses ?? '0'),
    known: new Set(
      rows.flatMap(([, , , , account]) =>
        typeof account === 'string' ? [bytesKey(byteaBytes(account))] : [],
      ),
    ),
  };
}

/** The events that are new to the book, each for its place behind it. */
export function written(
  events: readonly DepositAddressEvent[],
  { end, fingerprint, addresses, known }: FoldedBook,
  key: DepositKey,
): readonly DepositAddressEvent[] {
  const placed: DepositAddressEvent[] = [];
  const requested = new Set<string>();
  for (const event of events) {
    const sequence = Number(end) + placed.length;
    switch (event.type) {
      case 'SchemePinned':
        if (fingerprint === undefined) placed.push({ ...event, sequence });
        break;
      case 'AddressRequested': {
        const account = bytesKey(event.clt_address);
        if (known.has(account) || requested.has(account)) break;
        const derivation_index = addresses + requested.size;
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

export interface AddressLogOptions extends RegistrySettings, KafkaOptions {
  readonly kafka_brokers: readonly string[];
  readonly topic: Topic;
  readonly reader: Reader;
  /** derives the addresses */
  readonly key: DepositKey;
  readonly log: Logger;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  readonly signal: AbortSignal;
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
  /** the offset behind the last record that this gateway knows of */
  #end = 0n;
  /** why the codec is not open yet */
  #fault: Fault | undefined;
  /** how far the read model is, while an append waits for it */
  #folded: bigint | undefined;

  /** Starts to open; appends wait until it has. */
  constructor(options: AddressLogOptions) {
    this.#options = options;
    this.#kafka = openKafka({ ...options, client_id: 'deposit-gateway' }, options.log);
    this.#writer = new KafkaWriter(this.#kafka, options);
    this.#admin = this.#kafka.admin();
    this.#codec = this.#open();
    // appends and `opened` reject with it
    this.#codec.catch(() => undefined);
  }

  /** Resolves once events can be appended; rejects if they never can. */
  async opened(): Promise<void> {
    await this.#codec;
  }

  /** An append that takes too long, or a registry that no append can use. */
  get problem(): HealthProblem | undefined {
    if (this.#fault?.code === 'another_registry') return waitingFor(this.#fault);
    if (this.#inFlightSince === undefined) return undefined;
    const waited = performance.now() - this.#inFlightSince;
    if (waited < SLOW_MS) return undefined;
    const { name } = this.#options.topic;
    const message = `${name} has not been written to for ${Math.round(waited / 1_000)} s`;
    return this.#folded === undefined
      ? { status: 'waiting', waits_for: 'kafka', message: `${message}: is Kafka up?` }
      : {
          status: 'waiting',
          waits_for: 'projection:deposits',
          message: `${message}: ${name} is folded up to ${this.#folded} of ${this.#end} records: see /ready of projector deposits`,
        };
  }

  /** The offset behind the last record that this gateway knows of; 0 before it is opened. */
  get end(): bigint {
    return this.#end;
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
    const { topic, log, signal } = this.#options;
    this.#end = await retrying({ what: 'looking for the topic', log, signal }, async () => {
      await ensureTopics(this.#kafka, [topic]);
      const ends = await readTopicEnds(this.#kafka, [topic.name]);
      return ends.find(({ partition }) => partition === PARTITION)?.high ?? 0n;
    });
    const onFault = (fault: Fault | undefined): void => void (this.#fault = fault);
    return retrying({ what: 'registering the schemas', log, signal, onFault }, () =>
      openCodec({ ...this.#options, kafka: this.#kafka }, [topic]),
    );
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
    const accounts = events.flatMap((event) =>
      event.type === 'AddressRequested' ? [event.clt_address] : [],
    );
    for (;;) {
      const book = await this.#book(accounts);
      if (await this.#isBehind(book)) {
        await this.#yield();
        continue;
      }
      const placed = written(events, book, key);
      if (placed.length === 0) return;
      const entries = linkedEntries(codec, placed, book.head, trace, span);
      const offset = await this.#writer.append(topic.name, PARTITION, entries);
      this.#end = offset + BigInt(placed.length);
      if (offset === book.end) return;
      if (offset < book.end)
        throw new Fault(
          'log_lost',
          `${topic.name} ended at ${offset}, before the ${book.end} records that the read model has folded: see /status of projector deposits`,
          { retry: false },
        );
      log.info(
        { expected: book.end, got: offset, events: placed.length },
        'another gateway wrote first: writing again',
      );
      await this.#yield();
    }
  }

  #yield(): Promise<void> {
    return untilAborted(randomInt(YIELD_MS_MIN, YIELD_MS_MAX), this.#options.signal);
  }

  /** Whether another gateway has written what is not folded yet: an append would have no effect. */
  async #isBehind({ end }: FoldedBook): Promise<boolean> {
    // without an answer the append finds out
    const ends = await this.#admin.ends(this.#options.topic.name).catch(() => []);
    this.#end = ends.reduce((most, { high }) => (high > most ? high : most), this.#end);
    return this.#end > end;
  }

  /** The book once the read model has folded what this gateway knows of the log. */
  async #book(accounts: readonly Buffer[]): Promise<FoldedBook> {
    const { reader, signal } = this.#options;
    try {
      for (;;) {
        const book = await readBook(reader, accounts);
        if (book.end >= this.#end) return book;
        this.#folded = book.end;
        await untilAborted(POLL_MS, signal);
        if (signal.aborted)
          throw new Fault('append_unknown', 'stopped before the read model was up to date', {
            retry: true,
          });
      }
    } finally {
      this.#folded = undefined;
    }
  }
}

/** Each names the hash of the record before it; the first one `head`. */
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
