/** What the gateway says: events of `deposit.addresses`. What comes while an append is under way goes out together with the next one. */
import { randomBytes } from 'node:crypto';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import type { Topic } from '../../schemas/topics.ts';
import { openCodec, type Codec } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { HealthProblem } from '../runtime/process/health.ts';
import { openKafka, withAdmin } from '../runtime/kafka/client.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import { KafkaWriter, type LogEntry } from '../runtime/kafka/writer.ts';
import type { Logger } from '../runtime/process/log.ts';
import { retrying } from '../runtime/process/retry.ts';

const PARTITION = 0;
/** In one append: some 300 bytes each, of the MiB that the topic takes. */
const APPEND_MAX = 1_000;
/** Waiting to be appended; while the brokers are away, more are refused. */
const PENDING_MAX = 10_000;
/** An append that takes longer is worth telling. */
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
  #oldest: number | undefined;
  #busy = false;

  /** Begins to open; appends wait until it has. */
  constructor(options: AddressLogOptions) {
    this.#options = options;
    this.#kafka = openKafka({ ...options, client_id: 'deposit-gateway' }, options.log);
    this.#writer = new KafkaWriter(this.#kafka, options);
    this.#codec = this.#open();
    // whoever appends, and `opened`, hear of it
    this.#codec.catch(() => undefined);
  }

  /** Resolves once it can be appended to; rejects where that will never be. */
  async opened(): Promise<void> {
    await this.#codec;
  }

  /** Appending takes too long; undefined while it does not. */
  get problem(): HealthProblem | undefined {
    if (this.#oldest === undefined) return undefined;
    const waited = performance.now() - this.#oldest;
    if (waited < SLOW_MS) return undefined;
    const message = `${this.#options.topic.name} has not been written to for ${Math.round(waited / 1_000)} s: is Kafka up?`;
    return { status: 'waiting', waits_for: 'kafka', message };
  }

  /** Appends these events, one after the other; resolves with the offset of the first once the broker has them. Throws faults. */
  append(events: readonly DepositAddressEvent[]): Promise<bigint> {
    if (this.#pending.length >= PENDING_MAX) {
      return Promise.reject(
        new Fault('log_busy', `${PENDING_MAX} requests wait to be appended: is Kafka up?`, {
          retry: true,
        }),
      );
    }
    const pending = { events, since: performance.now(), appended: Promise.withResolvers<bigint>() };
    this.#pending.push(pending);
    if (!this.#busy) void this.#flush();
    return pending.appended.promise;
  }

  /** The offset at which the log goes on. Throws a fault with retry when the brokers do not answer. */
  end(): Promise<bigint> {
    const { topic } = this.#options;
    return withAdmin(this.#kafka, async (admin) => {
      const ends = await admin.fetchTopicOffsets(topic.name);
      return BigInt(ends.find(({ partition }) => partition === PARTITION)?.high ?? '0');
    });
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
    this.#busy = true;
    while (this.#pending.length > 0) {
      this.#oldest = this.#pending[0]?.since;
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
    this.#oldest = undefined;
    this.#busy = false;
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
