/**
 * When a broker does not answer, all connections are opened anew, which also asks for the present
 * leader: kafkajs would go on sending to a frozen one. The producer and its sequence numbers stay.
 */
import kafkajs from 'kafkajs';
import type { Appended, Appender } from '../port.ts';
import type { LogEntry } from '../record.ts';
import { disconnectNow, producerOf } from './cluster.ts';
import { withSize } from './zstd.ts';

/** Smaller batches gain nothing that a reader or a disk notices. */
const COMPRESSED_BYTES_MIN = 4_096;

export class KafkajsAppender implements Appender {
  readonly #producer: kafkajs.Producer;

  constructor(kafka: kafkajs.Kafka) {
    const { producer, cluster } = producerOf(kafka, {
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // every record names its partition; setting the partitioner avoids a warning
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      // the caller sends a batch again; kafkajs takes no less
      retry: { initialRetryTime: 50, retries: 1 },
    });
    producer.on(producer.events.REQUEST_TIMEOUT, () => {
      // connections that fail to close are gone
      void disconnectNow(cluster).catch(() => undefined);
    });
    this.#producer = producer;
  }

  connect(): Promise<void> {
    return this.#producer.connect();
  }

  async append(topic: string, partition: number, entries: readonly LogEntry[]): Promise<Appended> {
    const plainBytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    const { ZSTD, None } = kafkajs.CompressionTypes;
    const [[metadata], compressedBytes] = await withSize(() =>
      this.#producer.send({
        topic,
        acks: -1,
        compression: plainBytes >= COMPRESSED_BYTES_MIN ? ZSTD : None,
        messages: entries.map(({ key, value, headers, timestamp }) => ({
          key,
          value,
          headers: { ...headers },
          timestamp: String(timestamp),
          partition,
        })),
      }),
    );
    if (metadata?.baseOffset === undefined) throw new Error('the acknowledgement names no offset');
    return { offset: BigInt(metadata.baseOffset), bytes: compressedBytes || plainBytes };
  }

  disconnect(): Promise<void> {
    return this.#producer.disconnect();
  }
}
