/** Brokers in memory: the port of the Kafka client over arrays, for one process. */
import type { Topic } from '../../schemas/topics.ts';
import {
  topicMissing,
  type Admin,
  type Appender,
  type Fetcher,
  type Kafka,
  type LogBatch,
  type LogEnd,
  type Share,
} from '../../services/runtime/kafka/port.ts';
import type { LogEntry, LogRecord } from '../../services/runtime/kafka/record.ts';

const TOPIC_ID = '0'.repeat(32);
/** Requests that are answered in one turn of the event loop: more let others run, too. */
const ANSWERS_OF_A_TURN = 32;

class Partition {
  readonly batches: LogBatch[] = [];
  readonly records: LogRecord[] = [];
  /** resolves at the next append */
  grown = Promise.withResolvers<void>();

  get high(): bigint {
    return BigInt(this.records.length);
  }

  append(entries: readonly LogEntry[]): bigint {
    const base_offset = this.high;
    const records = entries.map(({ key, value, headers, timestamp }, at): LogRecord => {
      const offset = base_offset + BigInt(at);
      return { offset, timestamp, key: Buffer.from(key), value, headers };
    });
    this.records.push(...records);
    const last_offset = this.high - 1n;
    this.batches.push({ base_offset, last_offset, leader_epoch: 0, records, is_void: false });
    const { resolve } = this.grown;
    this.grown = Promise.withResolvers();
    resolve();
    return base_offset;
  }
}

export interface MemoryKafkaOptions {
  /** of every topic, 32 hex digits */
  readonly topic_id?: string;
  /** called at each request */
  readonly onRequest?: () => void;
  /** called before and after each append of a client */
  readonly onAppend?: (topic: string, moment: 'before' | 'after') => void;
}

export class MemoryKafka implements Kafka {
  readonly replication_min = 1;
  readonly prefix = '';
  readonly #options: MemoryKafkaOptions;
  readonly #topics: ReadonlyMap<string, readonly Partition[]>;
  #requests = 0;

  constructor(topics: readonly Topic[], options: MemoryKafkaOptions = {}) {
    this.#options = options;
    this.#topics = new Map(
      topics.map(({ name, partitions }) => [
        name,
        Array.from({ length: partitions }, () => new Partition()),
      ]),
    );
  }

  /** Appends at once, and calls no `onAppend`. */
  append(topic: string, partition: number, entries: readonly LogEntry[]): bigint {
    this.#options.onRequest?.();
    return this.#partition(topic, partition).append(entries);
  }

  /** Everything that stands there, in order. */
  records(topic: string, partition: number): readonly LogRecord[] {
    return this.#partition(topic, partition).records;
  }

  admin(): Admin {
    return {
      clusterId: () => Promise.resolve('memory'),
      connect: () => Promise.resolve(),
      brokers: () => Promise.resolve(new Map([[1, 'memory:1']])),
      topicNames: () => Promise.resolve([...this.#topics.keys()]),
      ends: (topic) => this.#ends(topic),
      offsetsAt: () => Promise.resolve(new Map()),
      createTopics: refuse,
      describeTopic: refuse,
      disconnect: () => Promise.resolve(),
    };
  }

  appender(): Appender {
    const { onRequest, onAppend } = this.#options;
    return {
      connect: () => Promise.resolve(),
      disconnect: () => Promise.resolve(),
      append: async (topic, partition, entries) => {
        onRequest?.();
        onAppend?.(topic, 'before');
        const offset = this.#partition(topic, partition).append(entries);
        onAppend?.(topic, 'after');
        const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
        return { offset, bytes };
      },
    };
  }

  fetcher(): Fetcher {
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => undefined);
    return {
      topicId: () => Promise.resolve(this.#options.topic_id ?? TOPIC_ID),
      disconnect: async () => ended.reject(new Error('disconnected')),
      fetch: async ({ topic, partition, offset }) => {
        const log = this.#partition(topic, partition);
        while (offset >= log.high) await Promise.race([log.grown.promise, ended.promise]);
        await this.#requested();
        return log.batches.filter(({ last_offset: last }) => last >= offset);
      },
    };
  }

  share(): Share {
    throw new Error('these brokers have no groups');
  }

  async #requested(): Promise<void> {
    this.#options.onRequest?.();
    this.#requests++;
    if (this.#requests % ANSWERS_OF_A_TURN === 0)
      await new Promise((resolve) => setImmediate(resolve));
  }

  async #ends(topic: string): Promise<readonly LogEnd[]> {
    await this.#requested();
    const partitions = this.#topics.get(topic);
    if (partitions === undefined) throw topicMissing(topic, new Error('unknown'));
    return partitions.map(({ high }, partition) => ({ topic, partition, low: 0n, high }));
  }

  #partition(topic: string, partition: number): Partition {
    const found = this.#topics.get(topic)?.[partition];
    if (found === undefined) throw new Error(`there is no ${topic}/${partition}`);
    return found;
  }
}

function refuse(): never {
  throw new Error('these brokers have the topics that they began with');
}
