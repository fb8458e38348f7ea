import {
  Admin as Client,
  ConfigResourceTypes,
  FetchIsolationLevels,
  type BaseOptions,
  type ClusterTopicMetadata,
} from '@platformatic/kafka';
import {
  errorType,
  topicMissing,
  type Admin,
  type LogEnd,
  type NewTopic,
  type TopicDescription,
} from '../../../services/runtime/kafka/port.ts';
import { typed, type Through } from './typed.ts';

const LATEST = -1n;
const EARLIEST = -2n;

export class PlatformaticAdmin implements Admin {
  readonly #client: Client;

  constructor(options: BaseOptions, through: Through) {
    this.#client = through(new Client(options));
  }

  async clusterId(): Promise<string> {
    return (await typed(this.#client.metadata({ topics: [], forceUpdate: true }))).id;
  }

  async connect(): Promise<void> {
    await this.clusterId();
  }

  async brokers(): Promise<ReadonlyMap<number, string | undefined>> {
    const topics = [...(await this.topicNames())];
    const seen = await typed(this.#client.metadata({ topics, forceUpdate: true }));
    const replicas = [...seen.topics.values()].flatMap(({ partitions }) =>
      partitions.flatMap((each) => each.replicas),
    );
    return new Map([
      ...replicas.map((id) => [id, undefined] as const),
      ...[...seen.brokers].map(([id, { host, port }]) => [id, `${host}:${port}`] as const),
    ]);
  }

  topicNames(): Promise<readonly string[]> {
    return typed(this.#client.listTopics({ includeInternals: true }));
  }

  async ends(topic: string): Promise<readonly LogEnd[]> {
    const { partitionsCount: count } = await this.#topic(topic);
    const [low, high] = await Promise.all([
      this.#offsets(topic, count, EARLIEST),
      this.#offsets(topic, count, LATEST),
    ]);
    return [...high]
      .map(([partition, end]) => ({ topic, partition, low: low.get(partition) ?? 0n, high: end }))
      .toSorted((one, other) => one.partition - other.partition);
  }

  async offsetsAt(topic: string, time: number): Promise<ReadonlyMap<number, bigint>> {
    const { partitionsCount: count } = await this.#topic(topic);
    const [found, high] = await Promise.all([
      this.#offsets(topic, count, BigInt(time)),
      this.#offsets(topic, count, LATEST),
    ]);
    return new Map(
      [...found].map(([partition, offset]) => [
        partition,
        offset >= 0n ? offset : (high.get(partition) ?? 0n),
      ]),
    );
  }

  /** One request for each, as the client takes one configuration for all topics of a request. */
  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    for (const { name, partitions, replicas = -1, config } of topics) {
      const configs = Object.entries(config).map(([entry, value]) => ({ name: entry, value }));
      try {
        await typed(this.#client.createTopics({ topics: [name], partitions, replicas, configs }));
      } catch (error) {
        if (errorType(error) !== 'TOPIC_ALREADY_EXISTS') throw error;
      }
    }
  }

  async describeTopic(topic: string, settings: readonly string[]): Promise<TopicDescription> {
    const { partitions } = await this.#topic(topic);
    const [described] = await typed(
      this.#client.describeConfigs({
        resources: [
          {
            resourceType: ConfigResourceTypes.TOPIC,
            resourceName: topic,
            configurationKeys: [...settings],
          },
        ],
      }),
    );
    return {
      partitions: partitions.map(({ leader, replicas, isr }) => ({
        leader,
        replicas: replicas.length,
        in_sync: isr.length,
      })),
      config: new Map(described?.configs.map(({ name, value }) => [name, value ?? ''])),
    };
  }

  async disconnect(): Promise<void> {
    await this.#client.close();
  }

  async #topic(topic: string): Promise<ClusterTopicMetadata> {
    const { topics } = await typed(
      this.#client.metadata({ topics: [topic], forceUpdate: true }),
    ).catch((error: unknown) => {
      throw errorType(error) === 'UNKNOWN_TOPIC_OR_PARTITION' ? topicMissing(topic, error) : error;
    });
    const found = topics.get(topic);
    if (found === undefined) throw new Error(`no broker described ${topic}`);
    return found;
  }

  async #offsets(topic: string, count: number, timestamp: bigint): Promise<Map<number, bigint>> {
    const partitions = Array.from({ length: count }, (_, partitionIndex) => ({
      partitionIndex,
      timestamp,
    }));
    const [listed] = await typed(
      this.#client.listOffsets({
        topics: [{ name: topic, partitions }],
        isolationLevel: FetchIsolationLevels.READ_COMMITTED,
      }),
    );
    return new Map(listed?.partitions.map((each) => [each.partitionIndex, each.offset]));
  }
}
