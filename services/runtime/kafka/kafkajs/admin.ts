import kafkajs from 'kafkajs';
import type { Admin, LogEnd, NewTopic, TopicDescription } from '../port.ts';

export class KafkajsAdmin implements Admin {
  readonly #admin: kafkajs.Admin;

  constructor(admin: kafkajs.Admin) {
    this.#admin = admin;
  }

  async clusterId(): Promise<string> {
    await this.#admin.connect();
    return (await this.#admin.describeCluster()).clusterId;
  }

  async topicNames(): Promise<readonly string[]> {
    await this.#admin.connect();
    return await this.#admin.listTopics();
  }

  async ends(topic: string): Promise<readonly LogEnd[]> {
    await this.#admin.connect();
    const ends = await this.#admin.fetchTopicOffsets(topic);
    return ends
      .map(({ partition, low, high }) => ({
        topic,
        partition,
        low: BigInt(low),
        high: BigInt(high),
      }))
      .toSorted((one, other) => one.partition - other.partition);
  }

  async offsetsAt(topic: string, time: number): Promise<ReadonlyMap<number, bigint>> {
    await this.#admin.connect();
    const offsets = await this.#admin.fetchTopicOffsetsByTimestamp(topic, time);
    return new Map(offsets.map(({ partition, offset }) => [partition, BigInt(offset)]));
  }

  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    await this.#admin.connect();
    const created = topics.map(({ name, partitions, replicas = -1, config }) => ({
      topic: name,
      numPartitions: partitions,
      replicationFactor: replicas,
      configEntries: Object.entries(config).map(([entry, value]) => ({ name: entry, value })),
    }));
    try {
      await this.#admin.createTopics({ waitForLeaders: false, topics: created });
    } catch (error) {
      throw error instanceof kafkajs.KafkaJSAggregateError ? (error.errors[0] ?? error) : error;
    }
  }

  async describeTopic(topic: string, settings: readonly string[]): Promise<TopicDescription> {
    await this.#admin.connect();
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [topic] });
    const { TOPIC } = kafkajs.ConfigResourceTypes;
    const { resources } = await this.#admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: TOPIC, name: topic, configNames: [...settings] }],
    });
    const entries = resources[0]?.configEntries ?? [];
    return {
      partitions: (topics[0]?.partitions ?? []).map(({ leader, replicas, isr }) => ({
        leader,
        replicas: replicas.length,
        in_sync: isr.length,
      })),
      config: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
    };
  }

  async disconnect(): Promise<void> {
    await this.#admin.disconnect();
  }
}
