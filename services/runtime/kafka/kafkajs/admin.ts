import kafkajs from 'kafkajs';
import { setTimeout as after } from 'node:timers/promises';
import { Fault } from '../../process/errors.ts';
import {
  errorType,
  NO_TOPIC,
  topicMissing,
  type Admin,
  type LogEnd,
  type NewTopic,
  type TopicDescription,
} from '../port.ts';

/** kafkajs tries again for less than that, but can wait for ever when a connection breaks. */
const ANSWER_MS = 20_000;

/** Errors of a broker that leads a partition no more, or does not know yet that it does. */
const LEADER_CHANGES: ReadonlySet<string | undefined> = new Set([
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
]);
const TRIES = 5;
/** Each of these takes `ANSWER_MS`. */
const UNANSWERED_TRIES = 3;
const BACK_OFF_MS = 100;

export class KafkajsAdmin implements Admin {
  readonly #open: () => kafkajs.Admin;
  #admin: kafkajs.Admin;
  #isClosed = false;

  constructor(open: () => kafkajs.Admin) {
    this.#open = open;
    this.#admin = open();
  }

  async clusterId(): Promise<string> {
    return (await this.#ask((admin) => admin.describeCluster())).clusterId;
  }

  connect(): Promise<void> {
    return this.#ask(() => Promise.resolve());
  }

  async brokers(): Promise<ReadonlyMap<number, string | undefined>> {
    const { brokers } = await this.#ask((admin) => admin.describeCluster());
    const { topics } = await this.#ask((admin) => admin.fetchTopicMetadata());
    const replicas = topics.flatMap(({ partitions }) =>
      partitions.flatMap((each) => each.replicas),
    );
    return new Map([
      ...replicas.map((id) => [id, undefined] as const),
      ...brokers.map(({ nodeId, host, port }) => [nodeId, `${host}:${port}`] as const),
    ]);
  }

  topicNames(): Promise<readonly string[]> {
    return this.#ask((admin) => admin.listTopics());
  }

  async ends(topic: string): Promise<readonly LogEnd[]> {
    const ends = await this.#askLeaders((admin) => admin.fetchTopicOffsets(topic), topic);
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
    const offsets = await this.#askLeaders(
      (admin) => admin.fetchTopicOffsetsByTimestamp(topic, time),
      topic,
    );
    return new Map(offsets.map(({ partition, offset }) => [partition, BigInt(offset)]));
  }

  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    const created = topics.map(({ name, partitions, replicas = -1, config }) => ({
      topic: name,
      numPartitions: partitions,
      replicationFactor: replicas,
      configEntries: Object.entries(config).map(([entry, value]) => ({ name: entry, value })),
    }));
    const names = topics.map(({ name }) => name).join(', ');
    await this.#ask(async (admin) => {
      try {
        await admin.createTopics({ waitForLeaders: false, topics: created });
      } catch (error) {
        throw error instanceof kafkajs.KafkaJSAggregateError ? (error.errors[0] ?? error) : error;
      }
    }, `Create, or Describe where they exist, for the topics ${names}`);
  }

  async describeTopic(topic: string, settings: readonly string[]): Promise<TopicDescription> {
    const { topics } = await this.#ask(
      (admin) => admin.fetchTopicMetadata({ topics: [topic] }),
      describing(topic),
      topic,
    );
    const { TOPIC } = kafkajs.ConfigResourceTypes;
    const { resources } = await this.#ask(
      (admin) =>
        admin.describeConfigs({
          includeSynonyms: false,
          resources: [{ type: TOPIC, name: topic, configNames: [...settings] }],
        }),
      `DescribeConfigs for the topic ${topic}`,
    );
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
    this.#isClosed = true;
    await this.#admin.disconnect();
  }

  /**
   * After a change of the leader kafkajs gives up, and keeps what it knew for minutes. It also asks
   * for all topics that it was asked for before, and fails where any of them is deleted. Another
   * client takes the place of this one, and asks for the present leader of this topic.
   */
  async #askLeaders<Answer>(
    question: (admin: kafkajs.Admin) => Promise<Answer>,
    topic: string,
  ): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const asked = this.#admin;
      try {
        return await this.#ask(question, describing(topic));
      } catch (error) {
        const type = errorType(error);
        if (type === NO_TOPIC && !(await this.topicNames()).includes(topic))
          throw topicMissing(topic, error);
        const isReplaced = asked !== this.#admin;
        const mayHelp = isReplaced || type === NO_TOPIC || LEADER_CHANGES.has(type);
        const most = isUnanswered(error) ? UNANSWERED_TRIES : TRIES;
        if (tries >= most || this.#isClosed || !mayHelp) throw error;
        if (!isReplaced) this.#replace();
        await after(BACK_OFF_MS * 2 ** (tries - 1));
        if (this.#isClosed) throw error;
      }
    }
  }

  #replace(): void {
    const stale = this.#admin;
    this.#admin = this.#open();
    // its connections are gone when they fail to close
    stale.disconnect().catch(() => undefined);
  }

  /** `right`: the one that the question needs, by Kafka's name; `topic`: the one asked about. */
  async #ask<Answer>(
    question: (admin: kafkajs.Admin) => Promise<Answer>,
    right = 'Describe for the cluster',
    topic?: string,
  ): Promise<Answer> {
    const waiting = new AbortController();
    const asked = this.#admin;
    const answered = asked.connect().then(() => question(asked));
    const late = after(ANSWER_MS, undefined, { signal: waiting.signal, ref: false }).then(() => {
      throw new kafkajs.KafkaJSRequestTimeoutError(`no answer within ${ANSWER_MS} ms`);
    });
    try {
      return await Promise.race([answered, late]);
    } catch (cause) {
      if (isUnanswered(cause) && asked === this.#admin && !this.#isClosed) this.#replace();
      const type = errorType(cause);
      if (type?.endsWith('_AUTHORIZATION_FAILED') === true)
        throw new Fault(
          'kafka',
          `the Kafka brokers refuse this account (${type}): it lacks the right ${right}; as the administrator create the topics and grant the rights with the commands that infra/kafka/commands.ts prints`,
          { retry: true, cause },
        );
      if (type === NO_TOPIC && topic !== undefined) throw topicMissing(topic, cause);
      // kafkajs reads in the answer that no broker gave
      throw cause instanceof TypeError ? new Error('no broker answered', { cause }) : cause;
    } finally {
      waiting.abort();
      late.catch(() => undefined);
    }
  }
}

/**
 * Whether a broker took the question and did not answer. kafkajs keeps a connection to a frozen
 * broker, and may ask that one alone for as long as the connection is open.
 */
function isUnanswered(error: unknown): boolean {
  if (error instanceof kafkajs.KafkaJSRequestTimeoutError) return true;
  return error instanceof Error && isUnanswered(error.cause);
}

function describing(topic: string): string {
  return `Describe for the topic ${topic}`;
}
