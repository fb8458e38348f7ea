/**
 * Topics as declared: created where they are missing, refused where their settings would lose
 * records or change their order.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Topic } from '../../../schemas/topics.ts';
import { Fault } from '../process/errors.ts';
import { withAdmin } from './client.ts';
import { errorType, type Admin, type Kafka, type TopicDescription } from './port.ts';

const LEADER_TRIES = 100;
const LEADER_EVERY_MS = 50;

/**
 * Creates missing topics. Throws `topic_settings` (no retry) when a topic differs from its
 * declaration.
 */
export async function ensureTopics(kafka: Kafka, topics: readonly Topic[]): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.topicNames());
    const missing = topics.filter(({ name }) => !existing.has(name));
    if (missing.length > 0) await admin.createTopics(missing);
    for (const topic of topics) compareSettings(topic, await describe(admin, topic));
  });
}

function compareSettings(topic: Topic, { partitions, config }: TopicDescription): void {
  if (partitions.length !== topic.partitions) {
    const remedy =
      'point APP_KAFKA_BROKERS to the right cluster, or delete the topic if nothing in it is needed';
    throw settingsFault(
      topic,
      `has ${partitions.length} partitions instead of ${topic.partitions}, so its order would be another; ${remedy}`,
    );
  }
  for (const [name, value] of config) {
    const declared = topic.config[name];
    if (declared !== undefined && declared !== value) {
      const remedy = `kafka-configs.sh --alter --entity-type topics --entity-name ${topic.name} --add-config ${name}=${declared}`;
      throw settingsFault(
        topic,
        `has ${name}=${value} instead of ${declared}; set it with ${remedy}`,
      );
    }
  }
}

/**
 * Waits until all partitions have a leader: a broker does not know at once of a topic that was just
 * created, here or by another process.
 */
async function describe(admin: Admin, { name, config }: Topic): Promise<TopicDescription> {
  for (let tries = 1; ; tries++) {
    try {
      const described = await admin.describeTopic(name, Object.keys(config));
      const { partitions } = described;
      if (partitions.length > 0 && partitions.every(({ leader }) => leader >= 0)) return described;
      if (tries === LEADER_TRIES) throw new Error(`a partition of ${name} has no leader`);
    } catch (error) {
      if (tries === LEADER_TRIES || errorType(error) !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
    }
    await after(LEADER_EVERY_MS);
  }
}

function settingsFault(topic: Topic, what: string): Fault {
  return new Fault('topic_settings', `topic ${topic.name} ${what}`, { retry: false });
}
