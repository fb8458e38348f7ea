/** Topics as declared: created where they are missing, refused where they would forget or split an order. */
import { setTimeout as after } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import type { Topic } from '../../../schemas/topics.ts';
import { Bug, Fault, messageOf, propertyOf } from '../process/errors.ts';
import { LogLost } from './position.ts';

const KNOWN_TRIES = 100;
const KNOWN_EVERY_MS = 50;

/** Creates missing topics; throws `topic_settings` (no retry) where an existing one differs from its declaration. */
export async function ensureTopics(kafka: Kafka, topics: readonly Topic[]): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const missing = topics.filter(({ name }) => !existing.has(name));
    if (missing.length > 0) {
      await admin.createTopics({
        waitForLeaders: false,
        topics: missing.map(({ name, partitions, config }) => ({
          topic: name,
          numPartitions: partitions,
          replicationFactor: -1,
          configEntries: Object.entries(config).map(([entry, value]) => ({ name: entry, value })),
        })),
      });
    }
    for (const topic of topics) await compare(admin, topic);
  });
}

async function compare(admin: Admin, topic: Topic): Promise<void> {
  const partitions = await countPartitions(admin, topic.name);
  if (partitions !== topic.partitions) {
    const remedy =
      'point APP_KAFKA_BROKERS to the right cluster, or delete the topic if nothing in it is needed';
    throw settingsFault(
      topic,
      `has ${partitions} partitions instead of ${topic.partitions}, so its order would be another; ${remedy}`,
    );
  }
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: topic.name,
        configNames: Object.keys(topic.config),
      },
    ],
  });
  for (const { configName, configValue } of resources[0]?.configEntries ?? []) {
    const declared = topic.config[configName];
    if (declared !== undefined && declared !== configValue) {
      const remedy = `kafka-configs.sh --alter --entity-type topics --entity-name ${topic.name} --add-config ${configName}=${declared}`;
      throw settingsFault(
        topic,
        `has ${configName}=${configValue} instead of ${declared}; set it with ${remedy}`,
      );
    }
  }
}

/** Of a topic whose partitions all have a leader. One just created, here or by another process, is not known at once to the broker that is asked. */
async function countPartitions(admin: Admin, topic: string): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      const partitions = topics[0]?.partitions ?? [];
      if (partitions.length > 0 && partitions.every(({ leader }) => leader >= 0))
        return partitions.length;
      if (tries === KNOWN_TRIES) throw new Error(`a partition of ${topic} has no leader`);
    } catch (error) {
      if (tries === KNOWN_TRIES || propertyOf(error, 'type') !== 'UNKNOWN_TOPIC_OR_PARTITION')
        throw error;
    }
    await after(KNOWN_EVERY_MS);
  }
}

function settingsFault(topic: Topic, what: string): Fault {
  return new Fault('topic_settings', `topic ${topic.name} ${what}`, { retry: false });
}

export interface LogEnd {
  readonly topic: string;
  readonly partition: number;
  readonly low: bigint;
  /** offset of the next record to be written */
  readonly high: bigint;
}

/** Of those of these topics that there are. Throws a fault with retry when the brokers do not answer. */
export function readTopicEnds(kafka: Kafka, topics: readonly string[]): Promise<readonly LogEnd[]> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const ends = await Promise.all(
      topics
        .filter((topic) => existing.has(topic))
        .map(async (topic) =>
          (await admin.fetchTopicOffsets(topic)).map(({ partition, low, high }) => ({
            topic,
            partition,
            low: BigInt(low),
            high: BigInt(high),
          })),
        ),
    );
    return ends.flat();
  });
}

/** Runs with an admin client of its own. */
export async function withAdmin<Result>(
  kafka: Kafka,
  use: (admin: Admin) => Promise<Result>,
): Promise<Result> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await use(admin);
  } catch (cause) {
    throw kafkaFault('the Kafka brokers did not answer', cause);
  } finally {
    await admin.disconnect();
  }
}

/** A kafkajs error as a fault to be retried. Faults, bugs and `LogLost` pass through. */
export function kafkaFault(what: string, cause: unknown): Error {
  if (cause instanceof Fault || cause instanceof Bug || cause instanceof LogLost) return cause;
  return new Fault('kafka', `${what}: ${messageOf(cause)}`, { retry: true, cause });
}
