/**
 * Topics as declared: created where they are missing, refused where their settings would lose
 * records or change their order.
 */
import { setTimeout as after } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import type { Topic } from '../../../schemas/topics.ts';
import { Fault, propertyOf } from '../process/errors.ts';
import { withAdmin } from './client.ts';

const LEADER_TRIES = 100;
const LEADER_EVERY_MS = 50;

/**
 * Creates missing topics. Throws `topic_settings` (no retry) when a topic differs from its
 * declaration.
 */
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
    for (const topic of topics) await compareSettings(admin, topic);
  });
}

async function compareSettings(admin: Admin, topic: Topic): Promise<void> {
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

/**
 * Waits until all partitions have a leader: a broker does not know at once of a topic that was just
 * created, here or by another process.
 */
async function countPartitions(admin: Admin, topic: string): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      const partitions = topics[0]?.partitions ?? [];
      if (partitions.length > 0 && partitions.every(({ leader }) => leader >= 0))
        return partitions.length;
      if (tries === LEADER_TRIES) throw new Error(`a partition of ${topic} has no leader`);
    } catch (error) {
      if (tries === LEADER_TRIES || propertyOf(error, 'type') !== 'UNKNOWN_TOPIC_OR_PARTITION')
        throw error;
    }
    await after(LEADER_EVERY_MS);
  }
}

function settingsFault(topic: Topic, what: string): Fault {
  return new Fault('topic_settings', `topic ${topic.name} ${what}`, { retry: false });
}
