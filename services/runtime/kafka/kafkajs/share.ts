import type kafkajs from 'kafkajs';
import type { Share, ShareOptions } from '../port.ts';

export class KafkajsShare implements Share {
  readonly #options: ShareOptions;
  readonly #consumer: kafkajs.Consumer;

  constructor(kafka: kafkajs.Kafka, options: ShareOptions) {
    this.#options = options;
    const { group_id: groupId, session_ms: session } = options;
    this.#consumer = kafka.consumer({
      groupId,
      sessionTimeout: session,
      rebalanceTimeout: session,
      heartbeatInterval: session / 6,
      maxWaitTimeInMs: Math.floor(session / 12),
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 },
    });
  }

  async join(): Promise<void> {
    const { topics, onAssigned, onHeld, onLeft } = this.#options;
    const consumer = this.#consumer;
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      const assigned = Object.entries(payload.memberAssignment);
      // the consumer only holds partitions; it fetches no records
      consumer.pause(assigned.map(([topic, partitions]) => ({ topic, partitions })));
      onAssigned(new Map(assigned));
    });
    consumer.on(consumer.events.HEARTBEAT, () => onHeld?.());
    // nobody else gets our partitions before we have joined again
    for (const event of [consumer.events.REBALANCING, consumer.events.STOP] as const)
      consumer.on(event, () => onAssigned(undefined));
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) onLeft(payload.error);
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: false });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: () => Promise.resolve(),
    });
  }

  commit(topic: string, partition: number, nextOffset: bigint): Promise<void> {
    return this.#consumer.commitOffsets([{ topic, partition, offset: nextOffset.toString() }]);
  }

  disconnect(): Promise<void> {
    return this.#consumer.disconnect();
  }
}
