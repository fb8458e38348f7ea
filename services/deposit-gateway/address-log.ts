/** Appends to `deposit.addresses`. Requests that come during an append share the next one. */
import { randomBytes } from 'node:crypto';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import type { Topic } from '../../schemas/topics.ts';
import { openKafka } from '../runtime/kafka/client.ts';
import { openCodec, type Codec } from '../runtime/kafka/codec.ts';
import { readTopicEnds } from '../runtime/kafka/ends.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import { KafkaWriter, type LogEntry } from '../runtime/kafka/writer.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { HealthProblem } from '../runtime/process/health.ts';
import type { Logger } from '../runtime/process/log.ts';
import { retrying } from '../runtime/process/retry.ts';

const PARTITION = 0;
/** Requests in one append: some 600 bytes each, of the MiB that the topic takes. */
const APPEND_MAX = 1_000;
/** Requests that wait for an append; more are refused. */
const PENDING_MAX = 10_000;
/** A longer append is a health problem. */
const SLOW_MS = 5_000;

export interface AddressLogOptions {
  readonly kafka_brokers: readonly string[];
  readonly registry_url: string;
  readonly topic: Topic;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

interface Pending {
  readonly events: readonly DepositAddressEvent[];
  /** ms of a monotonic clock */
  readonly since: number;
  readonly appended: PromiseWithResolvers<bigint>;
}

export class AddressLog {
  readonly #options: AddressLogOptions;
  readonly #kafka: ReturnType<typeof openKafka>;
  readonly #writer: KafkaWriter;
  readonly #codec: Promise<Codec>;
  #pending: Pending[] = [];
  /** since when the oldest request of the append in flight waits; undefined: none is in flight */
  #inFlightSince: number | undefined;

  /** Starts to open; appends wait until it has. */
  constructor(options: AddressLogOptions) {
    this.#options = options;
    this.#kafka = openKafka({ ...options, client_id: 'deposit-gateway' }, options.log);
    this.#writer = new KafkaWriter(this.#kafka, options);
    this.#codec = this.#open();
    // appends and `opened` reject with it
    this.#codec.catch(() => undefined);
  }

  /** Resolves once events can be appended; rejects if they never can. */
  async opened(): Promise<void> {
    await this.#codec;
  }

  /** An append that takes too long. */
  get problem(): HealthProblem | undefined {
    if (this.#inFlightSince === undefined) return undefined;
    const waited = performance.now() - this.#inFlightSince;
    if (waited < SLOW_MS) return undefined;
    const message = `${this.#options.topic.name} has not been written to for ${Math.round(waited / 1_000)} s: is Kafka up?`;
    return { status: 'waiting', waits_for: 'kafka', message };
  }

  /** Appends these events next to each other; resolves with the first offset. Throws faults. */
  append(events: readonly DepositAddressEvent[]): Promise<bigint> {
    if (this.#pending.length >= PENDING_MAX) {
      const message = `${PENDING_MAX} requests wait to be appended: is Kafka up?`;
      return Promise.reject(new Fault('log_busy', message, { retry: true }));
    }
    const appended = Promise.withResolvers<bigint>();
    this.#pending.push({ events, since: performance.now(), appended });
    if (this.#inFlightSince === undefined) void this.#flush();
    return appended.promise;
  }

  /** The offset of the next record. Throws a fault with retry when the brokers do not answer. */
  async end(): Promise<bigint> {
    const ends = await readTopicEnds(this.#kafka, [this.#options.topic.name]);
    return ends.find(({ partition }) => partition === PARTITION)?.high ?? 0n;
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  async #open(): Promise<Codec> {
    const { registry_url: registryUrl, topic, log, signal } = this.#options;
    await retrying({ what: 'looking for the topic', log, signal }, () =>
      ensureTopics(this.#kafka, [topic]),
    );
    return retrying({ what: 'registering the schemas', log, signal }, () =>
      openCodec(registryUrl, [topic]),
    );
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      this.#inFlightSince = this.#pending[0]?.since;
      await this.#codec.catch(() => undefined);
      const batch = this.#pending.splice(0, APPEND_MAX);
      try {
        const codec = await this.#codec;
        const trace = randomBytes(16).toString('hex');
        const entries = batch.flatMap(({ events }) =>
          events.map((event) => entryOf(codec, event, trace)),
        );
        let offset = await this.#writer.append(this.#options.topic.name, PARTITION, entries);
        for (const { events, appended } of batch) {
          appended.resolve(offset);
          offset += BigInt(events.length);
        }
      } catch (error) {
        for (const { appended } of batch) appended.reject(error);
      }
    }
    this.#inFlightSince = undefined;
  }
}

function entryOf(codec: Codec, event: DepositAddressEvent, trace: string): LogEntry {
  return {
    key: depositAddressEventKey(event),
    value: codec.encode(event),
    headers: {
      event_id: depositAddressEventId(event),
      event_type: event.type,
      source: 'deposit-gateway',
      trace_id: trace,
    },
    timestamp: timeOf(event),
  };
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
