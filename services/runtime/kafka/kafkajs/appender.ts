import kafkajs from 'kafkajs';
import type { Appender } from '../port.ts';
import type { LogEntry } from '../record.ts';

export class KafkajsAppender implements Appender {
  readonly #producer: kafkajs.Producer;

  constructor(kafka: kafkajs.Kafka) {
    this.#producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // every record names its partition; setting the partitioner avoids a warning
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      retry: { initialRetryTime: 50, maxRetryTime: 1_000, retries: 5 },
    });
  }

  connect(): Promise<void> {
    return this.#producer.connect();
  }

  async append(topic: string, partition: number, entries: readonly LogEntry[]): Promise<bigint> {
    const [metadata] = await this.#producer.send({
      topic,
      acks: -1,
      compression: kafkajs.CompressionTypes.None,
      messages: entries.map(({ key, value, headers, timestamp }) => ({
        key,
        value,
        headers: { ...headers },
        timestamp: String(timestamp),
        partition,
      })),
    });
    if (metadata?.baseOffset === undefined) throw new Error('the acknowledgement names no offset');
    return BigInt(metadata.baseOffset);
  }

  disconnect(): Promise<void> {
    return this.#producer.disconnect();
  }
}
