/**
 * When a batch is not acknowledged in time, all connections are closed, which fails what is in
 * flight and asks for the present leader: kafkajs would go on sending to a frozen one, and can wait
 * for ever when a connection breaks. The producer and its sequence numbers stay.
 */
import kafkajs from 'kafkajs';
import { errorType, NO_TOPIC, topicMissing, type Appended, type Appender } from '../port.ts';
import type { LogEntry } from '../record.ts';
import { disconnectNow, producerOf, type Cluster } from './cluster.ts';
import { withSize } from './zstd.ts';

/** Smaller batches gain nothing that a reader or a disk notices. */
const COMPRESSED_BYTES_MIN = 4_096;

export class KafkajsAppender implements Appender {
  readonly #producer: kafkajs.Producer;
  readonly #cluster: Cluster;
  readonly #answerMs: number;
  readonly #compressedMin: number;

  /** `answer_ms`: until connections are closed; `compressed_min`: bytes of a batch */
  constructor(kafka: kafkajs.Kafka, answer_ms: number, compressed_min = COMPRESSED_BYTES_MIN) {
    const { producer, cluster } = producerOf(kafka, {
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // every record names its partition; setting the partitioner avoids a warning
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      // the caller sends a batch again; kafkajs takes no less
      retry: { initialRetryTime: 50, retries: 1 },
    });
    this.#producer = producer;
    this.#cluster = cluster;
    this.#answerMs = answer_ms;
    this.#compressedMin = compressed_min;
  }

  connect(): Promise<void> {
    return this.#producer.connect();
  }

  async append(topic: string, partition: number, entries: readonly LogEntry[]): Promise<Appended> {
    const plainBytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    const { ZSTD, None } = kafkajs.CompressionTypes;
    const [[metadata], compressedBytes] = await withSize(() =>
      this.#send({
        topic,
        acks: -1,
        compression: plainBytes >= this.#compressedMin ? ZSTD : None,
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

  async #send(record: kafkajs.ProducerRecord): Promise<readonly kafkajs.RecordMetadata[]> {
    const late = setInterval(() => {
      // connections that fail to close are gone
      void disconnectNow(this.#cluster).catch(() => undefined);
    }, this.#answerMs);
    try {
      return await this.#producer.send(record);
    } catch (error) {
      throw errorType(error) === NO_TOPIC ? topicMissing(record.topic, error) : error;
    } finally {
      clearInterval(late);
    }
  }

  disconnect(): Promise<void> {
    return this.#producer.disconnect();
  }
}
